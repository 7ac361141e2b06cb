"""Routes for those who run the server: is it alive, is it ready, what does it count."""

from __future__ import annotations

from importlib.metadata import version
from typing import Any

from fastapi import APIRouter, Request, Response

from workflows.server.faults import NotFoundError
from workflows.server.host import JSON, ServerHost
from workflows.server.observability.metrics import CONTENT_TYPE
from workflows.server.response_json import to_json

_TAG = "server"


def health_router(host: ServerHost) -> APIRouter:
    """The routes over one host."""
    router = APIRouter(tags=[_TAG])

    @router.head("/healthz", include_in_schema=False)
    @router.get("/healthz")
    async def healthz() -> Response:
        """Whether the process answers at all."""
        return _answer({"status": "ok"})

    @router.head("/readyz", include_in_schema=False)
    @router.get("/readyz")
    async def readyz() -> Response:
        """Whether requests should be sent here: 503 before the models named for it are loaded,
        while the server is being stopped, and when every worker is held by a run that was given up.
        """
        reason = host.not_ready
        if host.admission.draining:
            reason = "the server is being stopped"
        elif host.admission.is_stuck:
            reason = "every worker is inside a run that was given up"
        if reason is None:
            return _answer({"status": "ready"})
        return _answer({"status": "not ready", "reason": reason}, 503)

    @router.get("/metrics")
    async def metrics(request: Request) -> Response:
        """Counters and histograms in the text format of Prometheus."""
        if not host.settings.metrics:
            raise NotFoundError("Metrics are turned off on this server.")
        host.authorise(request)
        return Response(host.metrics.text(), media_type=CONTENT_TYPE)

    @router.get("/info")
    async def info() -> Response:
        """Name and version of the server."""
        return _answer({"name": "weftlens", "version": version("weftlens"), "uuid": host.identity})

    return router


def _answer(value: dict[str, Any], status: int = 200) -> Response:
    return Response(to_json(value), status, media_type=JSON)
