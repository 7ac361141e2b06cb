"""`RemoteModels`: models of a server behind the face of a model manager, so that the model call of
a block goes there and all else stays here.
"""

from __future__ import annotations

import math
import threading
import time
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, NoReturn

from execution_engine.errors import WorkflowError
from inference_models import errors as model_errors
from inference_models.errors import (
    InferenceModelsError,
    ModelNotFoundError,
    ModelRetrievalError,
)
from inference_models.families.parameters import InferenceParameters
from inference_models.manager.call_context import current_call
from inference_models.packages.tasks import Task
from inference_models.predictions.from_response import prediction_from_response
from inference_models.preprocessing.images import as_image_list
from workflows.deadlines import Deadline
from workflows.remote.answers import error_of
from workflows.remote.connection import Answer, Connection
from workflows.remote.errors import ServerAnswerError
from workflows.remote.images import ImageWriter
from workflows.remote.json_answers import shown

if TYPE_CHECKING:
    import numpy as np

    from inference_models.manager.manager import CallObserver
    from inference_models.preprocessing.images import ColorOrder

ADD = "/model/add"
_ROUTES: Mapping[Task, str] = {
    Task.OBJECT_DETECTION: "/infer/object_detection",
    Task.ORIENTED_OBJECT_DETECTION: "/infer/object_detection",
    Task.INSTANCE_SEGMENTATION: "/infer/instance_segmentation",
    Task.KEYPOINT_DETECTION: "/infer/keypoints_detection",
    Task.SEMANTIC_SEGMENTATION: "/infer/semantic_segmentation",
    Task.CLASSIFICATION: "/infer/classification",
    Task.MULTI_LABEL_CLASSIFICATION: "/infer/classification",
}
# Names that the routes spell in another way than the manager.
_SPELLINGS = {
    "disable_static_crop": "disable_preproc_static_crop",
    "disable_grayscale": "disable_preproc_grayscale",
    "disable_contrast_enhancement": "disable_preproc_contrast",
}
_MOST_IMAGES = 16
_MOST_TEXT = 16 * 1024 * 1024
_OK = 200


@dataclass(frozen=True, slots=True)
class RemotePackage:
    """What is known of a model of a server: its id and what it does."""

    model_id: str
    task: Task

    @property
    def location(self) -> NoReturn:
        """Its files are elsewhere.

        Raises:
            ModelRetrievalError: always; lock files are told so when they look for the files.
        """
        raise ModelRetrievalError(
            f'"{self.model_id}" is a model of a server, which no lock of this side can hold'
        )


class RemoteModels:
    """The models of one server; thread-safe. Closing is the business of its `RemoteServer`.

    Results are those of a manager in this process, on the CPU: images travel without loss, masks as
    codes, numbers as they are. Scores of a semantic segmentation are means of each class.

    Args:
        connection: the way to the server.
        images: writes images.
        key: members of every body that name the caller.
        timeout: seconds a call may take: all its requests, however many its images need, with all
            repetitions.

    Attributes:
        observer: called after each call with the model, its seconds and, unless it failed, the
            number of images.
    """

    device = "cpu"
    execution_mode = "remote"

    def __init__(
        self, connection: Connection, images: ImageWriter, key: Mapping[str, str], timeout: float
    ) -> None:
        self._connection = connection
        self._images = images
        self._key = dict(key)
        self._timeout = timeout
        self.observer: CallObserver | None = None
        self._packages: dict[str, RemotePackage] = {}
        self._lock = threading.Lock()

    def package(self, model_id: str) -> RemotePackage:
        """What the server says of a model; it may load it.

        Raises:
            ModelNotFoundError: the server has no such model.
            RemoteServerError: it cannot be asked.
        """
        return self._package(model_id, self._deadline())

    def _package(self, model_id: str, deadline: Deadline) -> RemotePackage:
        with self._lock:
            known = self._packages.get(model_id)
        if known is not None:
            return known
        content = self._ask(ADD, {"model_id": model_id}, deadline)
        listed = content.get("models") if isinstance(content, Mapping) else None
        for item in listed if isinstance(listed, list) else ():
            if isinstance(item, Mapping) and item.get("model_id") == model_id:
                # `task_type` names a route, which several tasks share; our servers say both.
                task = self._task(model_id, item.get("task", item.get("task_type")))
                package = RemotePackage(model_id, task)
                with self._lock:
                    self._packages[model_id] = package
                return package
        raise ModelNotFoundError(f'the server {self._server} does not list "{model_id}"')

    def infer(
        self,
        model_id: str,
        images: Any,
        params: InferenceParameters | Mapping[str, Any] | None = None,
        *,
        color_order: ColorOrder | None = None,
    ) -> list[Any]:
        """Predictions of a model for each image; arguments and errors as `ModelManager.infer`.

        Raises:
            RemoteServerError: the server cannot be reached, refuses, or answers strangely.
        """
        pixels = as_image_list(images, color_order)
        if not isinstance(params, InferenceParameters):
            params = InferenceParameters.from_mapping(params or {})
        deadline = self._deadline()
        task = self._package(model_id, deadline).task
        started, count = time.perf_counter(), None
        try:
            predictions = self._predictions(model_id, task, pixels, params, deadline)
            count = len(predictions)
            return predictions
        finally:
            if self.observer is not None:
                self.observer(model_id, time.perf_counter() - started, count)

    def _predictions(
        self,
        model_id: str,
        task: Task,
        pixels: list[np.ndarray],
        params: InferenceParameters,
        deadline: Deadline,
    ) -> list[Any]:
        body = {"model_id": model_id, **route_fields(params, task)}
        predictions: list[Any] = []
        written = (self._images.encode(image) for image in pixels)
        for batch in _portions(written):
            content = self._ask(_ROUTES[task], {**body, "image": batch}, deadline)
            answers = content if isinstance(content, list) else [content]
            if len(answers) != len(batch):
                raise ServerAnswerError(
                    f"The server {self._server} answered {len(batch)} images with {len(answers)} "
                    "predictions.",
                    self._server,
                )
            predictions += [self._prediction(answer, task) for answer in answers]
        return predictions

    def warm_up(self, model_id: str) -> float:
        """Has the server load a model; returns the seconds it took."""
        start = time.perf_counter()
        with self._lock:
            self._packages.pop(model_id, None)
        self.package(model_id)
        return time.perf_counter() - start

    @property
    def _server(self) -> str:
        return self._connection.server

    def _deadline(self) -> Deadline:
        """When a call that begins now must end; not after the run it belongs to."""
        end = current_call().end
        left = math.inf if end is None else max(end - time.monotonic(), 0.0)
        return Deadline(min(self._timeout, left))

    def _ask(self, route: str, body: Mapping[str, Any], deadline: Deadline) -> Any:
        with current_call().waiting():
            answer = self._connection.post(
                route, {**self._key, **body}, timeout=deadline, repeatable=True
            )
        if answer.status != _OK:
            with self._lock:
                # The model may be gone, or be another one by now.
                self._packages.pop(str(body["model_id"]), None)
            raise self._error(answer)
        if not answer.is_json:
            raise ServerAnswerError(
                f"The server {self._server} answered {route} with something that is no JSON: "
                f"{answer.content!r:.120}.",
                self._server,
            )
        return answer.content

    def _task(self, model_id: str, name: Any) -> Task:
        try:
            return Task(name)
        except ValueError as error:
            raise ServerAnswerError(
                f"The server {self._server} says that '{model_id}' does {shown(name)}, which "
                "no block here works with.",
                self._server,
                error,
            ) from error

    def _prediction(self, answer: Any, task: Task) -> Any:
        try:
            return prediction_from_response(answer, task=task)
        except InferenceModelsError as error:
            raise ServerAnswerError(
                f"A prediction of the server {self._server} cannot be read: {error}.",
                self._server,
                error,
            ) from error

    def _error(self, answer: Answer) -> WorkflowError | InferenceModelsError:
        """The exception behind an error, of the tree of models where it was one there."""
        content = answer.content if isinstance(answer.content, Mapping) else {}
        found = vars(model_errors).get(str(content.get("error_type")))
        message = content.get("message")
        if (
            isinstance(found, type)
            and issubclass(found, InferenceModelsError)
            and isinstance(message, str)
        ):
            error = found(message)
            error.add_note(f"Raised by the server {self._server}.")
            return error
        return error_of(answer, self._server)


def route_fields(params: InferenceParameters, task: Task) -> dict[str, Any]:
    """Parameters of the manager as fields of a route; instances ask for the masks the manager would
    give: on the grid their resolution calls for, as codes.
    """
    fields = {
        _SPELLINGS.get(name, name): getattr(params, name)
        for name in sorted(params.given - {"masks_resolution_factor"})
    }
    if "class_filter" in fields:
        fields["class_filter"] = list(fields["class_filter"])
    if task is not Task.INSTANCE_SEGMENTATION:
        return fields
    fields["response_mask_format"] = "rle"
    factor = params.masks_resolution_factor
    if factor is not None and factor < 1:
        fields["allow_reduced_mask_resolution"] = True
        fields["mask_decode_mode"] = "tradeoff"
        fields["tradeoff_factor"] = factor
    return fields


def _portions(images: Iterator[dict[str, Any]]) -> Iterator[list[dict[str, Any]]]:
    """The images in lists that servers take at a time."""
    portion: list[dict[str, Any]] = []
    size = 0
    for image in images:
        length = len(image["value"])
        if portion and (len(portion) == _MOST_IMAGES or size + length > _MOST_TEXT):
            yield portion
            portion, size = [], 0
        portion.append(image)
        size += length
    if portion:
        yield portion
