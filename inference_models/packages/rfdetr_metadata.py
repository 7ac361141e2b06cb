"""What an RF-DETR export says of itself, as a `ModelConfig`: the JSON that its exporter puts into
the metadata of an ONNX file. No weights are read here."""

from __future__ import annotations

from pathlib import Path
from typing import Any, Literal

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from inference_models.errors import CorruptedModelPackageError, ModelImplementationNotFoundError
from inference_models.packages.model_config import ModelConfig
from inference_models.packages.tasks import Task
from inference_models.packages.validation import describe_validation_error

RFDETR_KEY = "rfdetr_inference"
_TASKS = {"detect": Task.OBJECT_DETECTION, "segment": Task.INSTANCE_SEGMENTATION}
_PIXEL_RANGE = 255.0


class RfdetrExport(BaseModel):
    """The part of the exporter's metadata that decides how the graph is run.

    Attributes:
        task: `detect`, `segment` or another one.
        input_shape: (batch, channels, height, width); a batch of -1 varies.
        means, stds: normalisation in RGB order, after the division by 255.
        class_names: names in the order of the training.
        class_id_to_name: class id of the graph to name; ids without a name are no classes.
        num_classes: class ids there are.
        max_batch_size: largest batch where it varies.
    """

    model_config = ConfigDict(extra="ignore", frozen=True)

    schema_version: Literal[1] = 1
    task: str
    input_shape: tuple[int, int, int, int]
    input_layout: Literal["NCHW", "NHWC"] = "NCHW"
    input_dtype: Literal["float32", "float16"] = "float32"
    channel_order: Literal["RGB"] = "RGB"
    means: tuple[float, ...]
    stds: tuple[float, ...]
    class_names: tuple[str, ...]
    class_id_to_name: dict[int, str] = Field(default_factory=dict)
    num_classes: int = Field(ge=0)
    max_batch_size: int | None = None


def rfdetr_config(metadata: str, path: Path, backend: str) -> ModelConfig:
    """The configuration of an RF-DETR export.

    Args:
        metadata: JSON under `RFDETR_KEY`.
        path: the file, for messages.
        backend: name of the backend that runs the file.

    Raises:
        CorruptedModelPackageError: the metadata is wrong.
        ModelImplementationNotFoundError: it is a task no family here has.
    """
    try:
        export = RfdetrExport.model_validate_json(metadata)
        return _config(export, path, backend)
    except ValidationError as error:
        raise CorruptedModelPackageError(
            f"the metadata of {path} is wrong: {describe_validation_error(error)}"
        ) from error


def _config(export: RfdetrExport, path: Path, backend: str) -> ModelConfig:
    task = _TASKS.get(export.task)
    if task is None:
        raise ModelImplementationNotFoundError(
            f'{path}: RF-DETR task "{export.task}" is not one of {", ".join(_TASKS)}'
        )
    batch, channels, height, width = export.input_shape
    names, removed = _class_table(export)
    forward: dict[str, Any] = {"max_dynamic_batch_size": export.max_batch_size}
    if batch > 0:
        forward = {"static_batch_size": batch}
    return ModelConfig.model_validate(
        {
            "model_architecture": "rfdetr",
            "backend_type": backend,
            "task_type": task,
            "weights": path.name,
            "class_names": names,
            "inference_config": {
                "network_input": {
                    "training_input_size": {"height": height, "width": width},
                    "color_mode": "rgb",
                    "resize_mode": "stretch",
                    "input_channels": channels,
                    "scaling_factor": _PIXEL_RANGE,
                    "normalization": [export.means, export.stds],
                    "layout": export.input_layout.lower(),
                    "dtype": export.input_dtype,
                },
                "forward_pass": forward,
                "class_names_operations": [
                    {"type": "class_name_removal", "class_name": name} for name in removed
                ]
                or None,
            },
        }
    )


def _class_table(export: RfdetrExport) -> tuple[list[str], list[str]]:
    """Name of each class id of the graph, and the names that stand for ids without one.

    The pretrained networks count by the ids of their data set, which leaves gaps.
    """
    by_id = export.class_id_to_name or dict(enumerate(export.class_names))
    slots = max(export.num_classes, 1 + max(by_id, default=-1))
    names = [by_id.get(slot, f"(no class {slot})") for slot in range(slots)]
    return names, [names[slot] for slot in range(slots) if slot not in by_id]
