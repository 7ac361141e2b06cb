"""The route that says what a workflow needs and this server lacks, before any image is sent."""

from __future__ import annotations

from typing import Any

from fastapi import APIRouter, Request, Response

from workflows.remote.check import find_missing
from workflows.server.host import ServerHost
from workflows.server.openapi import takes
from workflows.server.request_bodies import CheckSpecification
from workflows.server.response_json import to_json


def check_router(host: ServerHost) -> APIRouter:
    """The route over one host."""
    router = APIRouter(tags=["workflows"])

    @router.post("/workflows/definition/check", openapi_extra=takes(CheckSpecification))
    async def check(request: Request) -> Response:
        """Name the blocks, versions and models that a workflow needs and that are not here."""
        body = await host.body(request, CheckSpecification)
        host.authorise(request)
        return await host.answer(request, lambda job: to_json(_missing(host, body)))

    return router


def _missing(host: ServerHost, body: CheckSpecification) -> dict[str, Any]:
    from inference_models.errors import InferenceModelsError

    def has_model(model_id: str) -> bool:
        try:
            host.session.model_manager.describe(model_id)
        except InferenceModelsError:
            return False
        return True

    return {
        "missing": find_missing(
            body.specification,
            body.inputs,
            host.session.registry,
            has_model,
            lambda: host.session.model_manager.available_models(),
        )
    }
