"""Runs one model for one request, on a worker thread: from images and fields to the JSON text of
the answer. Knows no route.
"""

from __future__ import annotations

import time
from collections.abc import Collection, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from execution_engine.errors import RuntimeInputError, WorkflowImageLoadError
from execution_engine.kinds.codec import DecodingContext
from inference_models.errors import InvalidParameterError
from inference_models.manager.model_request import model_request
from inference_models.packages.tasks import Task
from inference_models.predictions.response import model_response
from workflows.server.faults import BodyTooLargeError, InvalidRequestError
from workflows.server.host import model_calls
from workflows.server.response_json import to_json

if TYPE_CHECKING:
    from workflows.server.host import Job, ServerHost

# Tasks by the last part of the route that answers for them.
TASKS_OF_ROUTE: Mapping[str, tuple[Task, ...]] = {
    "object_detection": (Task.OBJECT_DETECTION, Task.ORIENTED_OBJECT_DETECTION),
    "instance_segmentation": (Task.INSTANCE_SEGMENTATION,),
    "classification": (Task.CLASSIFICATION, Task.MULTI_LABEL_CLASSIFICATION),
    "keypoints_detection": (Task.KEYPOINT_DETECTION,),
    "semantic_segmentation": (Task.SEMANTIC_SEGMENTATION,),
}


def run_model(
    host: ServerHost,
    job: Job,
    model_id: str,
    images: Sequence[Any],
    fields: Mapping[str, Any],
    *,
    tasks: Collection[Task],
    single: bool,
    inference_id: str | None = None,
) -> bytes:
    """The answer of a model: one object an image, in a list unless `single`.

    Args:
        host: session and limits.
        job: deadline and cancellation.
        model_id: the model.
        images: images as a client gives them.
        fields: parameters by the names of the routes; None for what was not asked for.
        tasks: what the model must do.
        single: whether one image was given, not a list.
        inference_id: id of the call; each image gets a new one when None.

    Raises:
        InvalidRequestError: an image is no image, or the model has another task.
        BodyTooLargeError: there are too many images.
        InferenceModelsError: the model is not there, does not load, takes no such parameter, fails.
    """
    if len(images) > host.settings.max_batch:
        raise BodyTooLargeError(
            f"A request has at most {host.settings.max_batch} images, got {len(images)}."
        )
    manager = host.session.model_manager
    description = manager.describe(model_id)
    if description.task not in tasks:
        raise InvalidRequestError(
            f"Model '{model_id}' does {description.task}; this route is for "
            f"{' and '.join(tasks)}.{_right_route(description.task)}"
        )
    asked = model_request(description.task, fields)
    started = time.perf_counter()
    context = DecodingContext(
        host.session.image_codec,
        prevent_local_images_loading=True,
        limits=host.session.size_limits,
    )
    pixels = [_pixels(context, index, image, single) for index, image in enumerate(images)]
    with model_calls(job):
        predictions = manager.infer(model_id, pixels, asked.parameters) if pixels else []
    seconds = time.perf_counter() - started
    answers = [
        model_response(
            prediction,
            task=description.task,
            image_size=image.shape[:2],
            class_names=description.class_names,
            options=asked.options,
            inference_id=inference_id,
            time=seconds,
        )
        for prediction, image in zip(predictions, pixels, strict=True)
    ]
    return to_json(answers[0] if single else answers)


def percent_or_fraction(name: str, text: str) -> float | str:
    """A threshold of the older route: from 1 up in percent, below as it is; words stay words.

    Raises:
        InvalidParameterError: it is above 100 or below 0.
    """
    try:
        value = float(text)
    except ValueError:
        return text
    if not 0 <= value <= 100:
        raise InvalidParameterError(f"{name} must be in 0..100 percent or in 0..1, got {text}")
    return value / 100 if value >= 1 else value


def _pixels(context: DecodingContext, index: int, image: Any, single: bool) -> Any:
    name = "image" if single else f"image.[{index}]"
    try:
        return context.image_codec.load(name, image, name, context).numpy_image
    except WorkflowImageLoadError as error:
        raise RuntimeInputError(error.public_message, error.context, error.inner_error) from error


def _right_route(task: Task) -> str:
    route = next((name for name, tasks in TASKS_OF_ROUTE.items() if task in tasks), None)
    return "" if route is None else f" Use /infer/{route}."
