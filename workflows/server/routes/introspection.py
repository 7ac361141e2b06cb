"""Routes that say what workflows can be made of, and whether one is right. Their answers change
only with the installation, so each is made once.
"""

from __future__ import annotations

import gzip
import threading
from collections.abc import Callable
from typing import Any

from fastapi import APIRouter, Request, Response
from pydantic import ValidationError

from execution_engine.engine import ExecutionEngine
from execution_engine.errors import (
    Problem,
    UnknownManifestType,
    WorkflowExecutionEngineVersionError,
    WorkflowSyntaxError,
)
from workflows.server.bodies import read_json, validation_faults
from workflows.server.faults import InvalidRequestError, NotBuiltError
from workflows.server.host import JSON, Job, ServerHost
from workflows.server.observability.records import record_of
from workflows.server.openapi import errors, takes
from workflows.server.request_bodies import DescribeBlocks
from workflows.server.response_json import to_json

_TAG = "blocks"
_WORTH_PACKING = 1024
_Key = tuple[str, bool, str | None]


class _Answers:
    """Answers that stay the same, plain and packed."""

    def __init__(self) -> None:
        self._kept: dict[_Key, tuple[bytes, bytes]] = {}
        self._lock = threading.Lock()

    def get(self, key: _Key, make: Callable[[], Any], packed: bool) -> bytes:
        """The answer of a key, made at the first call."""
        with self._lock:
            if key not in self._kept:
                plain = to_json(make())
                self._kept[key] = (plain, gzip.compress(plain, mtime=0))
            return self._kept[key][packed]


def introspection_router(host: ServerHost) -> APIRouter:
    """The routes over one host."""
    router = APIRouter(tags=[_TAG])
    answers = _Answers()
    registry = host.session.registry

    async def constant(request: Request, key: _Key, make: Callable[[], Any]) -> Response:
        packed = "gzip" in request.headers.get("accept-encoding", "")
        response = await host.answer(request, lambda job: answers.get(key, make, packed))
        response.headers["Vary"] = "Accept-Encoding"
        if packed:
            response.headers["Content-Encoding"] = "gzip"
        return response

    async def blocks(request: Request, air_gapped: bool, version: str | None) -> Response:
        def make() -> Any:
            from workflows.server.block_descriptions import describe_blocks

            return describe_blocks(registry, air_gapped=air_gapped, engine_version=version)

        return await constant(request, ("blocks", air_gapped, version), make)

    @router.get("/workflows/execution_engine/versions")
    async def versions(request: Request) -> Response:
        """List the versions of the language that the engine serves."""
        host.authorise(request)
        content = to_json({"versions": ExecutionEngine.get_available_versions()})
        return Response(content, media_type=JSON)

    @router.get("/workflows/blocks/describe", openapi_extra=errors())
    async def describe_all_blocks(request: Request, air_gapped: bool = False) -> Response:
        """Describe every block: schema, outputs, and what may be connected with what."""
        host.authorise(request)
        return await blocks(request, air_gapped, None)

    @router.post("/workflows/blocks/describe", openapi_extra=takes(DescribeBlocks))
    async def describe_blocks_of_version(request: Request, air_gapped: bool = False) -> Response:
        """Describe the blocks that work with an engine version."""
        body = await host.body(request, DescribeBlocks, empty=True)
        host.authorise(request)
        if body.dynamic_blocks_definitions:
            raise NotBuiltError("Describing custom Python blocks is not part of this build.")
        version = body.execution_engine_version
        if version is not None:
            _check_version(version)
        return await blocks(request, air_gapped, version)

    @router.get("/workflows/definition/schema", openapi_extra=errors())
    async def schema(request: Request) -> Response:
        """Give the JSON Schema of workflow definitions."""
        host.authorise(request)

        def make() -> Any:
            from workflows.definition_schema import schema_of_registry

            return {"schema": schema_of_registry(registry)}

        return await constant(request, ("schema", False, None), make)

    @router.post("/workflows/blocks/dynamic_outputs", openapi_extra=errors())
    async def dynamic_outputs(request: Request) -> Response:
        """List the outputs that one step has."""
        step = await _object(host, request)
        return await host.answer(request, lambda job: to_json(_outputs_of_step(host, step)))

    @router.post("/workflows/validate", openapi_extra=errors())
    async def validate(request: Request) -> Response:
        """Check a definition: compile it and make its blocks, but run nothing."""
        definition = await _object(host, request)

        def work(job: Job) -> bytes:
            with host.session.engine(definition):
                return to_json({"status": "ok"})

        return await host.answer(request, work)

    return router


async def _object(host: ServerHost, request: Request) -> dict[str, Any]:
    host.admission.refuse_if_full()
    value = await read_json(request, host.settings.max_body_bytes)
    host.authorise(request)
    if not isinstance(value, dict):
        raise InvalidRequestError("This route takes a JSON object.")
    key = value.get("api_key")
    if isinstance(key, str):
        record_of(request.scope).secrets.append(key)
    return value


def _outputs_of_step(host: ServerHost, step: dict[str, Any]) -> list[dict[str, Any]]:
    from workflows.server.block_descriptions import outputs_of_step

    type_id = step.get("type")
    try:
        return outputs_of_step(host.session.registry, step)
    except UnknownManifestType as error:
        raise WorkflowSyntaxError(
            f"No block has the type {type_id!r}.",
            "blocks | dynamic_outputs",
            error,
            [
                Problem(
                    "unknown_block_type",
                    f"No block has the type {type_id!r}.",
                    "/type",
                    ", ".join(host.session.registry.nearest_types(str(type_id))) or None,
                    block_id=str(step.get("name")),
                    block_type=str(type_id),
                )
            ],
        ) from error
    except ValidationError as error:
        message = f"The step is wrong: {validation_faults(error.errors())}."
        raise WorkflowSyntaxError(
            message,
            "blocks | dynamic_outputs",
            error,
            [Problem("invalid_field", message, "", block_id=str(step.get("name")),
                     block_type=str(type_id))],
        ) from error  # fmt: skip


def _check_version(text: str) -> None:
    from packaging.version import InvalidVersion, Version

    try:
        Version(text)
    except InvalidVersion as error:
        raise WorkflowExecutionEngineVersionError(
            f"execution_engine_version is '{text[:60]}', which is no version such as 1.17.0.",
            "blocks | describe",
            error,
        ) from error
