"""What a request for one model asks for: from the fields of a route to the parameters of
`ModelManager.infer` and the form of the answer. HTTP itself is none of its business."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from inference_models.errors import InvalidParameterError, nearest_name_hint
from inference_models.families.parameters import (
    PARAMETERS_OF_TASK,
    InferenceParameters,
    masks_resolution_factor,
)
from inference_models.packages.tasks import Task
from inference_models.predictions.response import ResponseOptions, checked_task

_FACTOR = "masks_resolution_factor"
_MASK_FIELDS = (
    "mask_decode_mode",
    "tradeoff_factor",
    "response_mask_format",
    "allow_reduced_mask_resolution",
)


@dataclass(frozen=True, slots=True)
class ModelRequest:
    """One request, checked.

    Attributes:
        parameters: for `ModelManager.infer`.
        options: for `model_response`.
    """

    parameters: InferenceParameters
    options: ResponseOptions


def model_request(task: Task | str, fields: Mapping[str, Any]) -> ModelRequest:
    """The request behind the fields of a route.

    `mask_decode_mode` and `tradeoff_factor` become the resolution of masks; it is below the
    image's only when `allow_reduced_mask_resolution` is true. The threshold of a single-label
    classification decides what the answer lists, since the network scores all classes anyway.

    Args:
        task: what the model does.
        fields: names and values; None for what was not asked for.

    Raises:
        InvalidParameterError: a field is unknown, out of range, or without effect on the task.
        InvalidMaskDecodeArgument: the mode of mask decoding is unknown, or its factor is out of
            range.
    """
    task = checked_task(task)
    asked = {name: value for name, value in fields.items() if value is not None}
    accepted = set(PARAMETERS_OF_TASK[task]) - {_FACTOR}
    if task is Task.INSTANCE_SEGMENTATION:
        accepted.update(_MASK_FIELDS)
    elif task is Task.CLASSIFICATION:
        accepted.add("confidence")
    for name in asked:
        if name not in accepted:
            raise InvalidParameterError(
                f'field "{name}" has no effect on {task}, '
                f"which takes {', '.join(sorted(accepted))}",
                hint=nearest_name_hint(name, accepted),
            )
    options: dict[str, Any] = {}
    if task is Task.CLASSIFICATION and "confidence" in asked:
        confidence = InferenceParameters(confidence=asked.pop("confidence")).confidence
        if isinstance(confidence, float):
            options["min_confidence"] = confidence
    if task is Task.INSTANCE_SEGMENTATION:
        mode, tradeoff = asked.pop("mask_decode_mode", None), asked.pop("tradeoff_factor", None)
        for name in _MASK_FIELDS[2:]:
            if name in asked:
                options[name] = asked.pop(name)
        written = ResponseOptions(**options)
        asked[_FACTOR] = masks_resolution_factor(
            mode, tradeoff, written.allow_reduced_mask_resolution
        )
    return ModelRequest(InferenceParameters.from_mapping(asked), ResponseOptions(**options))
