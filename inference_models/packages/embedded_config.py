"""Turns what a lone weights file says about itself into a `ModelConfig`.

Three ways of saying it are read: the whole configuration as JSON under the key `model_config`,
which our own exports write, the JSON of RF-DETR exports, and the keys of the common YOLO exporters
(`task`, `names`, `imgsz`, `stride`, ...). No weights are read here.
"""

from __future__ import annotations

import ast
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from pydantic import ValidationError

from inference_models.errors import (
    CorruptedModelPackageError,
    MissingModelInitParameterError,
    ModelImplementationNotFoundError,
)
from inference_models.packages.model_config import ModelConfig
from inference_models.packages.rfdetr_metadata import RFDETR_KEY, rfdetr_config
from inference_models.packages.tasks import Task
from inference_models.packages.validation import describe_validation_error

CONFIG_KEY = "model_config"
YOLO_PADDING = 114
_YOLO_TASKS = {
    "detect": Task.OBJECT_DETECTION,
    "segment": Task.INSTANCE_SEGMENTATION,
    "pose": Task.KEYPOINT_DETECTION,
    "classify": Task.CLASSIFICATION,
}


def config_from_metadata(metadata: Mapping[str, Any], path: Path, backend: str) -> ModelConfig:
    """The configuration a weights file carries.

    Args:
        metadata: key to text (or to a value, where the carrier is JSON).
        path: the file, for messages.
        backend: name of the backend that runs the file.

    Raises:
        MissingModelInitParameterError: the file does not say what it is.
        CorruptedModelPackageError: it says something that cannot be.
        ModelImplementationNotFoundError: it is a task no family here has.
    """
    if CONFIG_KEY in metadata:
        try:
            config = ModelConfig.model_validate_json(str(metadata[CONFIG_KEY]))
        except ValidationError as error:
            raise CorruptedModelPackageError(
                f"the metadata of {path} is wrong: {describe_validation_error(error)}"
            ) from error
        return config.model_copy(update={"backend_type": backend, "weights": path.name})
    if RFDETR_KEY in metadata:
        return rfdetr_config(str(metadata[RFDETR_KEY]), path, backend)
    missing = [key for key in ("task", "names", "imgsz") if key not in metadata]
    if missing:
        raise MissingModelInitParameterError(
            f"{path} does not say what kind of model it is: no {', '.join(missing)} in its "
            f"metadata (found: {', '.join(sorted(metadata)) or 'none'})",
            hint="put it in a folder with a model_config.json and use the folder as the model id",
        )
    return _yolo_config({key: _literal(value) for key, value in metadata.items()}, path, backend)


def _yolo_config(metadata: Mapping[str, Any], path: Path, backend: str) -> ModelConfig:
    task = _YOLO_TASKS.get(str(metadata["task"]))
    if task is None:
        raise ModelImplementationNotFoundError(
            f'{path}: task "{metadata["task"]}" is not one of {", ".join(_YOLO_TASKS)}'
        )
    height, width = _size(metadata["imgsz"], path)
    names = _class_names(metadata["names"], path)
    arguments = metadata.get("args")
    arguments = arguments if isinstance(arguments, dict) else {}
    fused = bool(arguments.get("nms")) or metadata.get("end2end") is True
    network_input: dict[str, Any] = {
        "training_input_size": {"height": height, "width": width},
        "color_mode": "rgb",
        "scaling_factor": 255.0,
        "input_channels": metadata.get("channels", 3),
        "dtype": "float16" if arguments.get("half") else "float32",
        "resize_mode": "letterbox",
        "padding_value": YOLO_PADDING,
    }
    if task is Task.CLASSIFICATION:
        network_input |= {"resize_mode": "fit-shorter-edge-center-crop", "padding_value": None}
        post_processing = {"type": "softmax", "fused": True}
    else:
        post_processing = {"type": "nms", "fused": fused}
        if arguments.get("dynamic"):
            network_input |= {
                "dynamic_spatial_size_supported": True,
                "dynamic_spatial_size_mode": {
                    "type": "pad-to-be-divisible",
                    "value": metadata.get("stride", 32),
                },
            }
    config: dict[str, Any] = {
        "model_architecture": "yolov8",
        "backend_type": backend,
        "task_type": task,
        "weights": path.name,
        "class_names": names,
        "inference_config": {"network_input": network_input, "post_processing": post_processing},
    }
    if task is Task.KEYPOINT_DETECTION:
        config["keypoints_metadata"] = _keypoints(metadata, names, path)
    try:
        return ModelConfig.model_validate(config)
    except ValidationError as error:
        raise CorruptedModelPackageError(
            f"the metadata of {path} is wrong: {describe_validation_error(error)}"
        ) from error


def _keypoints(
    metadata: Mapping[str, Any], names: tuple[str, ...], path: Path
) -> list[dict[str, Any]]:
    shape = metadata.get("kpt_shape")
    if not isinstance(shape, (list, tuple)) or len(shape) != 2 or shape[1] != 3:
        raise CorruptedModelPackageError(
            f"the metadata of {path} is wrong: kpt_shape must be [number of points, 3], "
            f"got {shape!r}"
        )
    points = {index: str(index) for index in range(int(shape[0]))}
    return [{"object_class_id": class_id, "keypoints": points} for class_id in range(len(names))]


def _literal(value: Any) -> Any:
    """The value behind a text such as `[640, 640]`; the text itself when it is no literal."""
    if not isinstance(value, str):
        return value
    if value in ("true", "false"):
        return value == "true"
    try:
        return ast.literal_eval(value)
    except (ValueError, SyntaxError, MemoryError, RecursionError):
        return value


def _size(value: Any, path: Path) -> tuple[int, int]:
    sides = [value, value] if isinstance(value, int) else value
    if (
        not isinstance(sides, (list, tuple))
        or len(sides) != 2
        or not all(isinstance(side, int) and side > 0 for side in sides)
    ):
        raise CorruptedModelPackageError(
            f"the metadata of {path} is wrong: imgsz must be [height, width], got {value!r}"
        )
    return sides[0], sides[1]


def _class_names(value: Any, path: Path) -> tuple[str, ...]:
    if isinstance(value, (list, tuple)):
        value = dict(enumerate(value))
    if not isinstance(value, dict) or not value:
        raise CorruptedModelPackageError(
            f"the metadata of {path} is wrong: names must map class ids to names, got {value!r}"
        )
    try:
        by_id = {int(key): str(name) for key, name in value.items()}
    except (TypeError, ValueError) as error:
        raise CorruptedModelPackageError(
            f"the metadata of {path} is wrong: a key of names is no class id in {list(value)!r}"
        ) from error
    if sorted(by_id) != list(range(len(by_id))):
        raise CorruptedModelPackageError(
            f"the metadata of {path} is wrong: names must be numbered 0..{len(by_id) - 1}, "
            f"got {sorted(by_id)}"
        )
    return tuple(by_id[index] for index in range(len(by_id)))
