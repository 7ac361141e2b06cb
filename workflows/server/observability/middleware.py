"""`RequestObserver`: the outermost ASGI layer. Gives every request its id, turns errors that nobody
handled into answers, writes the access log and counts.
"""

from __future__ import annotations

import logging
import traceback
from collections.abc import Awaitable, Callable, MutableMapping
from typing import TYPE_CHECKING, Any

import orjson

from execution_engine.executor.secrets import Secrets
from workflows.server.errors import ErrorAnswer, error_answer
from workflows.server.faults import (
    ClientGoneError,
    NotBuiltError,
    RequestFault,
    ShuttingDownError,
)
from workflows.server.observability.json_log import FIELDS
from workflows.server.observability.records import SCOPE_KEY, RequestRecord, new_record
from workflows.server.observability.route_templates import RouteTemplates

if TYPE_CHECKING:
    from workflows.server.host import ServerHost

Scope = MutableMapping[str, Any]
Message = MutableMapping[str, Any]
Receive = Callable[[], Awaitable[Message]]
Send = Callable[[Message], Awaitable[None]]
App = Callable[[Scope, Receive, Send], Awaitable[None]]

_LOG = logging.getLogger("weftlens.server")
_ACCESS_LOG = logging.getLogger("weftlens.access")
# Probes come every few seconds and say nothing.
_QUIET_PATHS = frozenset({"/healthz", "/readyz", "/metrics"})


class RequestObserver:
    """Wraps the whole application.

    Args:
        app: what handles the requests.
        host: metrics and settings.
        routes: which route a request counts under.
    """

    def __init__(self, app: App, host: ServerHost, routes: RouteTemplates) -> None:
        self._app = app
        self._host = host
        self._routes = routes

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Handles one connection of any kind."""
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        record = scope[SCOPE_KEY] = new_record(scope)
        identity = (b"x-request-id", record.request_id.encode("ascii"))
        status = 0
        sent = 0

        async def observed_send(message: Message) -> None:
            nonlocal status, sent
            if message["type"] == "http.response.start":
                status = message["status"]
                message["headers"] = [*message.get("headers", ()), identity]
                if self._host.admission.draining:
                    message["headers"].append((b"connection", b"close"))
            else:
                sent += len(message.get("body", b""))
            await send(message)

        try:
            await self._app(scope, receive, observed_send)
        except ClientGoneError as gone:
            record.error_type = type(gone).__name__
            status = status or gone.status
        except Exception as error:
            answer = self.answer_to(error, record)
            if status:  # too late for another answer: the connection breaks off
                raise
            await _send_answer(answer, observed_send)
        finally:
            self._note(scope, record, status, sent)

    def answer_to(self, error: Exception, record: RequestRecord) -> ErrorAnswer:
        """The answer for an error; those that are not the client's doing are logged."""
        settings = self._host.settings
        answer = error_answer(
            error,
            record.request_id,
            secrets=record.secrets,
            hidden_paths=self._host.hidden_paths,
            expose_tracebacks=settings.expose_tracebacks,
        )
        record.error_type = answer.body["error_type"]
        if answer.status >= 500 and not isinstance(error, NotBuiltError):
            secrets = Secrets(record.secrets)
            fields = {"request_id": record.request_id, "error_type": type(error).__name__}
            # What the server refuses by itself has no more to tell than its message.
            if not isinstance(error, RequestFault) or error.__cause__ is not None:
                text = "".join(traceback.format_exception(error))
                fields["traceback"] = secrets.in_text(text)
            level = logging.INFO if isinstance(error, ShuttingDownError) else logging.ERROR
            _LOG.log(level, secrets.in_text(f"request failed: {error}"), extra={FIELDS: fields})
        return answer

    def _note(self, scope: Scope, record: RequestRecord, status: int, sent: int) -> None:
        # A template has few values, a path has many.
        route = self._routes.template_of(scope)
        status = status or 499
        metrics = self._host.metrics
        metrics.requests.labels(scope["method"], route, str(status)).inc()
        metrics.request_seconds.labels(route).observe(record.age)
        times = record.times
        if times.queued is not None:
            metrics.queue_seconds.observe(times.queued)
        if not _ACCESS_LOG.isEnabledFor(logging.INFO) or scope["path"] in _QUIET_PATHS:
            return
        fields: dict[str, Any] = {
            "request_id": record.request_id,
            "client": record.client,
            "method": scope["method"],
            "path": scope["path"],  # never the query, which may hold a key
            "status": status,
            "bytes": sent,
            "ms": round(record.age * 1000, 2),
        }
        if times.queued is not None:
            fields["queue_ms"] = round(times.queued * 1000, 2)
        if times.worked is not None:
            fields["work_ms"] = round(times.worked * 1000, 2)
        if record.workflow is not None:
            fields["workflow"] = record.workflow
        if record.error_type is not None:
            fields["error"] = record.error_type
        _ACCESS_LOG.info("request", extra={FIELDS: fields})


async def _send_answer(answer: ErrorAnswer, send: Send) -> None:
    body = orjson.dumps(answer.body)
    headers = {
        "content-type": "application/json",
        "content-length": str(len(body)),
        **{name.lower(): value for name, value in answer.headers.items()},
    }
    await send(
        {
            "type": "http.response.start",
            "status": answer.status,
            "headers": [(name.encode(), value.encode()) for name, value in headers.items()],
        }
    )
    await send({"type": "http.response.body", "body": body})
