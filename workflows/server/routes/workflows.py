"""Routes that run, describe and validate workflows."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from fastapi import APIRouter, Request, Response

from workflows.server.faults import InvalidRequestError, NotBuiltError, NotFoundError
from workflows.server.host import ServerHost
from workflows.server.observability.records import record_of
from workflows.server.openapi import takes
from workflows.server.request_bodies import (
    DescribeSpecification,
    DescribeStored,
    RunOptions,
    RunSpecification,
    RunStored,
)
from workflows.server.response_json import to_json
from workflows.server.workflow_run import run_workflow

_TAG = "workflows"
Describe = Callable[[ServerHost, Mapping[str, Any]], dict[str, Any]]


def workflows_router(host: ServerHost) -> APIRouter:
    """The routes over one host."""
    router = APIRouter(tags=[_TAG])

    @router.post("/workflows/run", openapi_extra=takes(RunSpecification))
    @router.post("/infer/workflows", openapi_extra=takes(RunSpecification), deprecated=True)
    async def run_specification(request: Request) -> Response:
        """Run a workflow that is sent along."""
        body = await host.body(request, RunSpecification)
        host.authorise(request)
        _check_options(body)
        return await host.answer(
            request,
            lambda job: run_workflow(
                host, job, body.specification, body, is_preview=body.is_preview
            ),
        )

    @router.post("/{workspace}/workflows/{workflow_id}", openapi_extra=takes(RunStored))
    @router.post(
        "/infer/workflows/{workspace}/{workflow_id}",
        openapi_extra=takes(RunStored),
        deprecated=True,
    )
    async def run_stored(request: Request, workspace: str, workflow_id: str) -> Response:
        """Run a stored workflow."""
        body = await host.body(request, RunStored)
        find = _stored(host, request, workspace, workflow_id, body.workflow_version_id)
        _check_options(body)
        if body.workflow_id is None:
            body.workflow_id = workflow_id
        return await host.answer(
            request,
            lambda job: run_workflow(
                host, job, find(), body, stored=host.stored_file(workspace, workflow_id)
            ),
        )

    @router.post("/workflows/describe_interface", openapi_extra=takes(DescribeSpecification))
    async def describe_interface(request: Request) -> Response:
        """Describe the inputs and outputs of a workflow that is sent along."""
        return await _describe_specification(host, request, _interface)

    @router.post(
        "/{workspace}/workflows/{workflow_id}/describe_interface",
        openapi_extra=takes(DescribeStored),
    )
    async def describe_stored_interface(
        request: Request, workspace: str, workflow_id: str
    ) -> Response:
        """Describe the inputs and outputs of a stored workflow."""
        return await _describe_stored(host, request, workspace, workflow_id, _interface)

    @router.post("/workflows/describe_workload", openapi_extra=takes(DescribeSpecification))
    async def describe_workload(request: Request) -> Response:
        """Describe what running a workflow takes: its steps, their depths and models."""
        return await _describe_specification(host, request, _workload)

    @router.post(
        "/{workspace}/workflows/{workflow_id}/describe_workload",
        openapi_extra=takes(DescribeStored),
    )
    async def describe_stored_workload(
        request: Request, workspace: str, workflow_id: str
    ) -> Response:
        """Describe what running a stored workflow takes."""
        return await _describe_stored(host, request, workspace, workflow_id, _workload)

    return router


def _check_options(options: RunOptions) -> None:
    if options.inner_workflow_dispatch_depth:
        raise NotBuiltError(
            "Runs that other servers dispatch as inner workflows are not part of this build "
            f"(inner_workflow_dispatch_depth is {options.inner_workflow_dispatch_depth})."
        )


def _stored(
    host: ServerHost,
    request: Request,
    workspace: str,
    workflow_id: str,
    version: str | None,
) -> Callable[[], Mapping[str, Any]]:
    """What reads a stored workflow, on a worker; the key is checked at once."""
    # Checked first: who may not run it learns nothing of what is there.
    permits = host.authorise_stored(request, workspace, workflow_id)
    stored = host.stored
    if stored is None:
        raise NotFoundError(
            f"There is no workflow '{workflow_id}': this server has no folder of workflows."
        )
    if version is not None:
        raise InvalidRequestError(
            f"Stored workflows have no versions here, workflow_version_id is '{version}'."
        )
    record_of(request.scope).workflow = f"{workspace}/{workflow_id}"
    return lambda: stored.get(workspace, workflow_id, permits)


async def _describe_specification(
    host: ServerHost, request: Request, describe: Describe
) -> Response:
    body = await host.body(request, DescribeSpecification)
    host.authorise(request)
    return await host.answer(request, lambda job: to_json(describe(host, body.specification)))


async def _describe_stored(
    host: ServerHost, request: Request, workspace: str, workflow_id: str, describe: Describe
) -> Response:
    body = await host.body(request, DescribeStored, empty=True)
    find = _stored(host, request, workspace, workflow_id, body.workflow_version_id)
    return await host.answer(request, lambda job: to_json(describe(host, find())))


def _interface(host: ServerHost, definition: Mapping[str, Any]) -> dict[str, Any]:
    from workflows.inspection import inspect_definition
    from workflows.interface import describe_interface

    registry = host.session.registry
    host.session.compile(definition)  # raises every problem there is
    return describe_interface(inspect_definition(definition, registry), registry.codecs).to_dict()


def _workload(host: ServerHost, definition: Mapping[str, Any]) -> dict[str, Any]:
    from workflows.server.workload import describe_workload

    return describe_workload(host.session.compile(definition))
