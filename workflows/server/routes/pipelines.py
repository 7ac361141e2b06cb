"""Routes that start, watch and end pipelines over videos, which are in `workflows.video`."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Literal, TypeVar

import orjson
from fastapi import APIRouter, Request, Response
from pydantic import BaseModel, ConfigDict, Field, ValidationError

from workflows.server.bodies import validation_faults
from workflows.server.faults import InvalidRequestError, NotBuiltError, NotFoundError
from workflows.server.host import JSON, Job, ServerHost
from workflows.server.observability.records import record_of
from workflows.server.openapi import errors, takes
from workflows.server.request_bodies import RequestBody, RunOptions
from workflows.server.response_json import to_json
from workflows.server.settings import ServerSettings
from workflows.server.workflow_folder import Permits
from workflows.server.workflow_locks import check_locks
from workflows.session import CORE_SOURCE, Session
from workflows.video.manager import PipelineLimits, PipelineManager, PipelineRequest
from workflows.video.source_policy import SourcePolicy

B = TypeVar("B", bound=RequestBody)
M = TypeVar("M", bound=BaseModel)

_TAG = "pipelines"
_PATH = "/inference_pipelines"
_USUAL_RESULTS = 64


class VideoConfiguration(BaseModel):
    """The sources of a pipeline and how their frames are kept or dropped."""

    model_config = ConfigDict(extra="forbid")

    type: Literal["VideoConfiguration"] = "VideoConfiguration"
    video_reference: str | int | list[str | int]
    max_fps: float | None = None
    source_buffer_filling_strategy: str | None = None
    source_buffer_consumption_strategy: str | None = None
    video_source_properties: dict[str, float] | None = None
    batch_collection_timeout: float | None = None
    video_processing_mode: str | None = None
    max_staleness: float | None = None


class WorkflowConfiguration(BaseModel):
    """The workflow of a pipeline."""

    model_config = ConfigDict(extra="forbid")

    type: Literal["WorkflowConfiguration"] = "WorkflowConfiguration"
    workflow_specification: dict[str, Any] | None = None
    workspace_name: str | None = None
    workflow_id: str | None = None
    workflow_version_id: str | None = None
    image_input_name: str = "image"
    workflows_parameters: dict[str, Any] | None = None
    workflows_thread_pool_workers: int = Field(4, ge=1, le=16)
    cancel_thread_pool_tasks_on_exit: bool = True
    video_metadata_input_name: str = "video_metadata"
    disable_sinks: bool = False


class MemorySinkConfiguration(BaseModel):
    """How many results are kept for the client."""

    model_config = ConfigDict(extra="forbid")

    type: Literal["MemorySinkConfiguration"] = "MemorySinkConfiguration"
    results_buffer_size: int = _USUAL_RESULTS


class InitialisePipeline(RequestBody):
    """POST /inference_pipelines/initialise."""

    video_configuration: dict[str, Any] = Field(
        description="`video_reference` (address, file or camera, or a list), `max_fps`, "
        "`source_buffer_filling_strategy`, `source_buffer_consumption_strategy`, "
        "`video_source_properties`, `batch_collection_timeout`, `video_processing_mode`, "
        "`max_staleness`."
    )
    processing_configuration: dict[str, Any] = Field(
        description="`workflow_specification`, or `workspace_name` and `workflow_id`; "
        "`image_input_name`, `workflows_parameters`, `video_metadata_input_name`, "
        "`workflows_thread_pool_workers`, `cancel_thread_pool_tasks_on_exit`, `disable_sinks`."
    )
    sink_configuration: dict[str, Any] = Field(
        default_factory=dict, description="`results_buffer_size`: results kept at most."
    )
    consumption_timeout: float | None = Field(
        None, description="Seconds without a fetch of results after which the pipeline ends."
    )
    predictions_queue_size: int | None = Field(None, ge=1, le=64)
    decoding_buffer_size: int | None = Field(None, ge=1, le=64)
    lock: dict[str, Any] | None = Field(None, description="Content of a lock file; checked.")


class ConsumeResults(RequestBody):
    """GET /inference_pipelines/{id}/consume."""

    excluded_fields: list[str] = Field(
        default_factory=list, description="Outputs to leave out of the answer."
    )


def make_manager(session: Session, settings: ServerSettings) -> PipelineManager:
    """The pipelines of a server; the host must close them when it ends."""
    policy = SourcePolicy(
        folders=settings.video_folders,
        cameras=settings.allow_cameras,
        urls=settings.allow_video_urls,
        hosts=frozenset(name.lower().rstrip(".") for name in settings.video_hosts),
        max_pixels=settings.max_image_pixels,
    )
    limits = PipelineLimits(
        pipelines=settings.max_pipelines,
        pipelines_per_owner=settings.max_pipelines_per_key,
        results=settings.max_pipeline_results,
        result_bytes=settings.max_pipeline_result_bytes,
    )
    return PipelineManager(session, policy, limits, to_json)


def pipelines_router(host: ServerHost, manager: PipelineManager) -> APIRouter:
    """The routes over one host and its pipelines.

    To start one takes a key that may run its workflow; what becomes of it takes the same key.
    """
    router = APIRouter(tags=[_TAG])

    @router.post(f"{_PATH}/initialise", openapi_extra=takes(InitialisePipeline))
    async def initialise(request: Request) -> Response:
        """Start a pipeline."""
        body = await host.body(request, InitialisePipeline)
        video = _part(VideoConfiguration, "video_configuration", body.video_configuration)
        processing = _part(
            WorkflowConfiguration, "processing_configuration", body.processing_configuration
        )
        sink = _part(MemorySinkConfiguration, "sink_configuration", body.sink_configuration)
        names = _stored_names(processing)
        permits = None
        if names is None:
            host.authorise(request)
        else:
            permits = host.authorise_stored(request, *names)
        owner = _owner(request)

        def work(job: Job) -> bytes:
            definition = _definition(host, processing, permits)
            options = RunOptions.model_validate(
                {"inputs": processing.workflows_parameters or {}, "lock": body.lock}
            )
            stored = None if names is None else host.stored_file(*names)
            check_locks(host, definition, options, stored)
            pipeline_id = manager.initialise(
                _request(body, video, processing, sink, definition), owner
            )
            return to_json(_answer(request, pipeline_id))

        return await host.answer(request, work)

    @router.get(f"{_PATH}/list", openapi_extra=errors())
    async def list_pipelines(request: Request) -> Response:
        """List the pipelines of this key."""
        await _optional_body(host, request, RequestBody)
        return _json(_answer(request, None) | {"pipelines": manager.ids(_owner(request))})

    @router.get(f"{_PATH}/{{pipeline_id}}/status", openapi_extra=errors())
    async def status(request: Request, pipeline_id: str) -> Response:
        """Describe the state of a pipeline."""
        await _optional_body(host, request, RequestBody)
        report = manager.status(pipeline_id, _owner(request))
        return _json(_answer(request, pipeline_id) | {"report": report})

    @router.post(f"{_PATH}/{{pipeline_id}}/pause", openapi_extra=errors())
    async def pause(request: Request, pipeline_id: str) -> Response:
        """Hold the sources of a pipeline."""
        await _optional_body(host, request, RequestBody)
        manager.pause(pipeline_id, _owner(request))
        return _json(_answer(request, pipeline_id))

    @router.post(f"{_PATH}/{{pipeline_id}}/resume", openapi_extra=errors())
    async def resume(request: Request, pipeline_id: str) -> Response:
        """Let the sources of a pipeline go on."""
        await _optional_body(host, request, RequestBody)
        manager.resume(pipeline_id, _owner(request))
        return _json(_answer(request, pipeline_id))

    @router.post(f"{_PATH}/{{pipeline_id}}/terminate", openapi_extra=errors())
    async def terminate(request: Request, pipeline_id: str) -> Response:
        """End a pipeline and drop its results."""
        await _optional_body(host, request, RequestBody)
        manager.terminate(pipeline_id, _owner(request))
        return _json(_answer(request, pipeline_id))

    @router.get(f"{_PATH}/{{pipeline_id}}/consume", openapi_extra=errors())
    async def consume(request: Request, pipeline_id: str) -> Response:
        """Fetch the oldest result that is kept; the lists are empty when there is none."""
        body = await _optional_body(host, request, ConsumeResults)
        result = manager.consume(pipeline_id, _owner(request), body.excluded_fields)
        answer = _answer(request, pipeline_id)
        if result is None:
            return _json(answer | {"outputs": [], "frames_metadata": []})
        outputs = [
            None if row is None else {name: orjson.Fragment(text) for name, text in row.items()}
            for row in result.rows
        ]
        return _json(answer | {"outputs": outputs, "frames_metadata": result.frames})

    @router.post(f"{_PATH}/initialise_webrtc", openapi_extra=errors())
    @router.post("/initialise_webrtc_worker", openapi_extra=errors())
    async def webrtc(request: Request) -> Response:
        """Pipelines over WebRTC: not part of this build."""
        raise NotBuiltError(
            f"{request.url.path}: pipelines over WebRTC are not part of this build; "
            f"{_PATH}/initialise runs a workflow on a video the server can reach."
        )

    return router


def _request(
    body: InitialisePipeline,
    video: VideoConfiguration,
    processing: WorkflowConfiguration,
    sink: MemorySinkConfiguration,
    definition: Mapping[str, Any],
) -> PipelineRequest:
    references = video.video_reference
    init_parameters = {f"{CORE_SOURCE}.api_key": body.api_key} if body.api_key else {}
    return PipelineRequest(
        definition=definition,
        references=references if isinstance(references, list) else [references],
        properties=video.video_source_properties,
        results=sink.results_buffer_size,
        consumption_timeout=body.consumption_timeout,
        options={
            "image_input_name": processing.image_input_name,
            "workflows_parameters": processing.workflows_parameters,
            "workflows_thread_pool_workers": processing.workflows_thread_pool_workers,
            "cancel_thread_pool_tasks_on_exit": processing.cancel_thread_pool_tasks_on_exit,
            "video_metadata_input_name": processing.video_metadata_input_name,
            "workflow_init_parameters": init_parameters,
            "disable_sinks": processing.disable_sinks,
            "max_fps": video.max_fps,
            "source_buffer_filling_strategy": video.source_buffer_filling_strategy,
            "source_buffer_consumption_strategy": video.source_buffer_consumption_strategy,
            "batch_collection_timeout": video.batch_collection_timeout,
            "video_processing_mode": video.video_processing_mode,
            "max_staleness": video.max_staleness,
            "predictions_queue_size": body.predictions_queue_size,
            "decoding_buffer_size": body.decoding_buffer_size,
        },
    )


def _definition(
    host: ServerHost, processing: WorkflowConfiguration, permits: Permits | None
) -> Mapping[str, Any]:
    if processing.workflow_specification is not None:
        return processing.workflow_specification
    workspace, workflow_id = _names(processing)
    if host.stored is None:
        raise NotFoundError(
            f"There is no workflow '{workflow_id}': this server has no folder of workflows."
        )
    return host.stored.get(workspace, workflow_id, permits)


def _stored_names(processing: WorkflowConfiguration) -> tuple[str, str] | None:
    """Workspace and id of the stored workflow, None for one that is sent along."""
    if processing.workflow_version_id is not None:
        raise InvalidRequestError(
            "Stored workflows have no versions here, workflow_version_id is "
            f"'{processing.workflow_version_id}'."
        )
    named = processing.workspace_name is not None or processing.workflow_id is not None
    if processing.workflow_specification is not None:
        if named:
            raise InvalidRequestError(
                "processing_configuration has a workflow_specification and names a stored "
                "workflow; give one."
            )
        return None
    if processing.workspace_name is None or processing.workflow_id is None:
        raise InvalidRequestError(
            "processing_configuration needs workflow_specification, or workspace_name and "
            "workflow_id."
        )
    return _names(processing)


def _names(processing: WorkflowConfiguration) -> tuple[str, str]:
    return str(processing.workspace_name), str(processing.workflow_id)


def _part(model: type[M], name: str, value: dict[str, Any]) -> M:
    try:
        return model.model_validate(value)
    except ValidationError as error:
        raise InvalidRequestError(
            f"{name} is not what this route takes: {validation_faults(error.errors())}."
        ) from error


async def _optional_body(host: ServerHost, request: Request, model: type[B]) -> B:
    """The body where there is one: these routes need none but clients send their key in it."""
    headers = request.headers
    if "content-length" not in headers and "transfer-encoding" not in headers:
        return model.model_validate({})
    return await host.body(request, model, empty=True)


def _owner(request: Request) -> str:
    """Id of the key of a request; all clients are one where no keys are needed."""
    key = (request.scope.get("state") or {}).get("api_key")
    return "" if key is None else str(key.id)


def _answer(request: Request, pipeline_id: str | None) -> dict[str, Any]:
    context = {"request_id": record_of(request.scope).request_id, "pipeline_id": pipeline_id}
    return {"status": "success", "context": context}


def _json(value: Any) -> Response:
    return Response(to_json(value), media_type=JSON)
