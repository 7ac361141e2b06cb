"""`create_app`: puts session, limits, routes and layers together into one ASGI application. What
any of them does lies in its own module.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from importlib.metadata import version

from fastapi import FastAPI, Request, Response
from fastapi.exceptions import RequestValidationError
from starlette.exceptions import HTTPException

from workflows.server.admission import Admission
from workflows.server.bodies import validation_faults
from workflows.server.errors import error_answer
from workflows.server.faults import InvalidRequestError
from workflows.server.host import JSON, ServerHost
from workflows.server.observability.metrics import ServerMetrics
from workflows.server.observability.middleware import RequestObserver
from workflows.server.observability.records import record_of
from workflows.server.observability.route_templates import RouteTemplates
from workflows.server.response_json import to_json
from workflows.server.routes.check import check_router
from workflows.server.routes.health import health_router
from workflows.server.routes.introspection import introspection_router
from workflows.server.routes.models import legacy_models_router, models_router
from workflows.server.routes.pipelines import make_manager, pipelines_router
from workflows.server.routes.workflows import workflows_router
from workflows.server.security import install_security
from workflows.server.settings import ServerSettings
from workflows.session import Session

_NOT_FOUND = "There is no route {method} {path}; GET /openapi.json lists the routes."
_NOT_ALLOWED = "The route {path} takes no {method}; it takes {allowed}."


def create_app(
    session: Session, settings: ServerSettings, *, close_session: bool = False
) -> FastAPI:
    """The application.

    Its workers end, and the session is closed where that is asked for, when its lifespan ends.
    `app.state.host` is the `ServerHost` behind the routes.

    Args:
        session: blocks, plans and models; made with `settings.session_settings()`.
        settings: limits of the server.
        close_session: whether the session ends with the application.

    Raises:
        WorkflowEnvironmentConfigurationError: the settings or the session permit what a server must
            not, or a file they name cannot be used.
    """
    workers, places = concurrency(settings)
    admission = Admission(workers, settings.max_queue, settings.max_queued_bytes, places)
    host = ServerHost(session, settings, admission, ServerMetrics(admission, session))
    session.observe_models(host.metrics.note_model_call)
    pipelines = make_manager(session, settings)

    @asynccontextmanager
    async def lifespan(app: FastAPI) -> AsyncIterator[None]:
        warming = asyncio.create_task(asyncio.to_thread(host.warm_up))
        try:
            yield
        finally:
            await admission.drain(settings.shutdown_timeout)
            await warming
            await asyncio.to_thread(pipelines.close)
            await asyncio.to_thread(_close, host, close_session)

    app = FastAPI(
        title="weftlens",
        version=version("weftlens"),
        description="Runs vision workflows and single models.",
        lifespan=lifespan,
    )
    app.state.host = host
    host.security = install_security(app, session, settings)
    routers = [
        health_router(host),
        workflows_router(host),
        check_router(host),
        introspection_router(host),
        pipelines_router(host, pipelines),
        models_router(host),
        legacy_models_router(host),  # last: its path fits many
    ]
    # Last of the layers, so that it is the outermost.
    app.add_middleware(RequestObserver, host=host, routes=RouteTemplates(routers))
    _answer_framework_errors(app)
    for router in routers:
        app.include_router(router)
    return app


def concurrency(settings: ServerSettings) -> tuple[int, int]:
    """Number of worker threads, and how many of them compute at the same time; the others wait for
    batches of models.
    """
    from inference_models.backends.threads import available_cores

    if settings.max_concurrency is not None:
        return settings.max_concurrency, settings.max_concurrency
    cores = available_cores()
    return cores + settings.dynamic_batch_size if settings.dynamic_batching else cores, cores


def _close(host: ServerHost, close_session: bool) -> None:
    host.admission.close()
    if close_session:
        host.session.close()


def _answer_framework_errors(app: FastAPI) -> None:
    """Gives what the framework refuses by itself the form of all other errors."""

    @app.exception_handler(HTTPException)
    async def on_http_error(request: Request, error: HTTPException) -> Response:
        method, path = request.method, request.url.path
        allowed = (error.headers or {}).get("Allow", "")
        message, name = str(error.detail), "HTTPException"
        if error.status_code == 404:
            message, name = _NOT_FOUND.format(method=method, path=path), "NotFoundError"
        elif error.status_code == 405:
            message = _NOT_ALLOWED.format(method=method, path=path, allowed=allowed or "another")
            name = "MethodNotAllowedError"
        record = record_of(request.scope)
        record.error_type = name
        answer = error_answer(InvalidRequestError(message), record.request_id)
        content = to_json(answer.body | {"error_type": name, "context": "request | routing"})
        return Response(content, error.status_code, error.headers, media_type=JSON)

    @app.exception_handler(RequestValidationError)
    async def on_validation_error(request: Request, error: RequestValidationError) -> Response:
        raise InvalidRequestError(f"The request is wrong: {validation_faults(error.errors())}.")
