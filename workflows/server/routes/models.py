"""Routes for single models: inference by task, the older route by id, which models there are."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from fastapi import APIRouter, Request, Response

from workflows.server.bodies import read_body
from workflows.server.faults import InvalidRequestError, NotBuiltError
from workflows.server.host import Job, ServerHost
from workflows.server.multipart import first_file
from workflows.server.openapi import errors, takes
from workflows.server.request_bodies import AddModel, InferModel, RemoveModel, RequestBody
from workflows.server.response_json import to_json

if TYPE_CHECKING:
    from inference_models.manager.manager import ModelManager

_TAG = "models"
_ROUTES = (
    "object_detection",
    "instance_segmentation",
    "classification",
    "keypoints_detection",
    "semantic_segmentation",
)
# Fields of the routes that the models know by another name.
_RENAMED = {
    "disable_preproc_static_crop": "disable_static_crop",
    "disable_preproc_grayscale": "disable_grayscale",
    "disable_preproc_contrast": "disable_contrast_enhancement",
    "overlap": "iou_threshold",
}
_PERCENT = frozenset({"confidence", "overlap", "iou_threshold"})
_FRACTIONS = frozenset({"keypoint_confidence", "tradeoff_factor"})
_COUNTS = frozenset({"max_detections", "max_candidates"})
_FLAGS = frozenset(
    {
        "class_agnostic_nms",
        "allow_reduced_mask_resolution",
        "disable_preproc_static_crop",
        "disable_preproc_grayscale",
        "disable_preproc_contrast",
    }
)
_WORDS = frozenset({"mask_decode_mode", "response_mask_format"})
_NOT_BUILT = ("visualize_predictions", "include_anomaly_map", "disable_preproc_auto_orient")
# Clients choose a route by `task_type`, and know fewer of them than there are tasks.
_TASK_TYPES = {
    "multi-label-classification": "classification",
    "oriented-object-detection": "object-detection",
}
_TRUE, _FALSE = ("true", "1", "yes"), ("false", "0", "no", "")


def models_router(host: ServerHost) -> APIRouter:
    """The routes over one host."""
    router = APIRouter(tags=[_TAG])

    def add_inference(name: str) -> None:
        @router.post(f"/infer/{name}", name=f"infer_{name}", openapi_extra=takes(InferModel))
        async def infer(request: Request) -> Response:
            """Run a model on one image or several."""
            body = await host.body(request, InferModel)
            host.authorise(request)
            _refuse_unbuilt({key: getattr(body, key) for key in _NOT_BUILT})
            single = not isinstance(body.image, list)
            images = [body.image] if single else body.image
            fields = body.model_dump(exclude={"api_key", "model_id", "image", "id", *_NOT_BUILT})
            if not body.allow_reduced_mask_resolution:
                del fields["allow_reduced_mask_resolution"]

            def work(job: Job) -> bytes:
                from workflows.server.model_calls import TASKS_OF_ROUTE, run_model

                return run_model(
                    host,
                    job,
                    body.model_id,
                    images,
                    _renamed(fields),
                    tasks=TASKS_OF_ROUTE[name],
                    single=single,
                    inference_id=body.id,
                )

            return await host.answer(request, work)

    for name in _ROUTES:
        add_inference(name)

    @router.get("/model/registry", openapi_extra=errors())
    async def registry(request: Request) -> Response:
        """List the models in memory."""
        host.authorise(request)
        return await host.answer(request, lambda job: _loaded_models(host))

    @router.post("/model/add", openapi_extra=takes(AddModel))
    async def add(request: Request) -> Response:
        """Load a model."""
        body = await host.body(request, AddModel)
        host.authorise(request)

        def work(job: Job) -> bytes:
            manager = host.session.model_manager
            task = manager.describe(body.model_id).task
            if body.model_type is not None and body.model_type != task:
                raise InvalidRequestError(
                    f"Model '{body.model_id}' does {task}, model_type is '{body.model_type}'."
                )
            manager.warm_up(body.model_id)
            return _loaded_models(host)

        return await host.answer(request, work)

    @router.post("/model/remove", openapi_extra=takes(RemoveModel))
    async def remove(request: Request) -> Response:
        """Take a model out of memory; calls under way finish first."""
        body = await host.body(request, RemoveModel)
        host.authorise(request)

        def work(job: Job) -> bytes:
            host.session.model_manager.unload(body.model_id)
            return _loaded_models(host)

        return await host.answer(request, work)

    @router.post("/model/clear", openapi_extra=takes(RequestBody))
    async def clear(request: Request) -> Response:
        """Take all models out of memory."""
        await host.body(request, RequestBody, empty=True)
        host.authorise(request)

        def work(job: Job) -> bytes:
            manager = host.session.model_manager
            for status in manager.list_models():
                if status.loaded:
                    manager.unload(status.model_ids[0])
            return _loaded_models(host)

        return await host.answer(request, work)

    return router


def legacy_models_router(host: ServerHost) -> APIRouter:
    """The older route, whose path fits any two words; it must come after all others."""
    router = APIRouter(tags=[_TAG])

    @router.post("/{dataset}/{version}", openapi_extra=errors(), deprecated=True)
    async def infer_by_path(request: Request, dataset: str, version: str) -> Response:
        """Run a model on one image: the body is base64 text or a form with a file; parameters
        stand in the query.
        """
        host.admission.refuse_if_full()
        content = await read_body(request, host.settings.max_body_bytes)
        host.authorise(request)
        query = dict(request.query_params)
        image = _image_of(content, request.headers.get("content-type", ""), query.get("image"))

        def work(job: Job) -> bytes:
            from inference_models.packages.tasks import Task
            from workflows.server.model_calls import run_model

            return run_model(
                host,
                job,
                f"{dataset}/{version}",
                [image],
                _renamed(_query_fields(query)),
                tasks=tuple(Task),
                single=True,
            )

        return await host.answer(request, work)

    return router


def _image_of(content: bytes, content_type: str, address: str | None) -> Any:
    if address is not None:
        return {"type": "url", "value": address}
    kind = content_type.partition(";")[0].strip().lower()
    if kind == "multipart/form-data":
        return first_file(content, content_type)
    if kind.startswith("image/"):
        return content
    if not content.strip():
        raise InvalidRequestError(
            "This route takes an image: base64 text or a form with a file; the body is empty."
        )
    try:
        text = content.decode("ascii")
    except UnicodeDecodeError as error:
        raise InvalidRequestError(
            "The body is no base64 text; send raw bytes of an image as a form with a file, or "
            "under the Content-Type image/..."
        ) from error
    return {"type": "base64", "value": text.strip().strip('"')}


def _query_fields(query: Mapping[str, str]) -> dict[str, Any]:
    """Parameters of the query by the names of the routes; what is none of them is left alone.

    Raises:
        InvalidRequestError: a value is not what its name takes.
        NotBuiltError: the answer is asked for in a form that is not part of this build.
    """
    from workflows.server.model_calls import percent_or_fraction

    if query.get("format", "json") != "json":
        raise NotBuiltError(f"Answers have the format json, got '{query['format']}'.")
    fields: dict[str, Any] = {}
    for name, text in query.items():
        if name in _PERCENT:
            fields[name] = percent_or_fraction(name, text)
        elif name in _FRACTIONS:
            fields[name] = _number(name, text, float)
        elif name in _COUNTS:
            fields[name] = _number(name, text, int)
        elif name in _FLAGS or name in _NOT_BUILT:
            fields[name] = _flag(name, text)
        elif name in _WORDS:
            fields[name] = text
        elif name in ("classes", "class_filter"):
            fields["class_filter"] = [one.strip() for one in text.split(",") if one.strip()]
    _refuse_unbuilt(fields)
    kept = {name: value for name, value in fields.items() if name not in _NOT_BUILT}
    return {name: value for name, value in kept.items() if value is not False}


def _renamed(fields: Mapping[str, Any]) -> dict[str, Any]:
    return {_RENAMED.get(name, name): value for name, value in fields.items()}


def _refuse_unbuilt(fields: Mapping[str, Any]) -> None:
    asked = [name for name in _NOT_BUILT if fields.get(name)]
    if asked:
        raise NotBuiltError(f"{' and '.join(asked)} is not part of this build.")


def _number(name: str, text: str, of: type[float] | type[int]) -> float | int:
    try:
        return of(text)
    except ValueError as error:
        raise InvalidRequestError(f"{name} must be a number, got '{text[:60]}'.") from error


def _flag(name: str, text: str) -> bool:
    if text.lower() in _TRUE:
        return True
    if text.lower() in _FALSE:
        return False
    raise InvalidRequestError(f"{name} must be true or false, got '{text[:60]}'.")


def _loaded_models(host: ServerHost) -> bytes:
    manager = host.session.model_manager
    return to_json(
        {
            "models": [
                {
                    "model_id": model_id,
                    "task_type": _TASK_TYPES.get(status.task, status.task),
                    "task": status.task,
                    **_input_size(manager, model_id),
                }
                for status in manager.list_models()
                if status.loaded
                for model_id in status.model_ids
            ]
        }
    )


def _input_size(manager: ModelManager, model_id: str) -> dict[str, int | None]:
    size = manager.package(model_id).inference.network_input.training_input_size
    return {
        "batch_size": None,
        "input_height": None if size is None else size.height,
        "input_width": None if size is None else size.width,
    }
