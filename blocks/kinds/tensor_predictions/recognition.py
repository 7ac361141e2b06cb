"""Whether a value belongs to the tensor side. Loads neither torch nor the predictions."""

from __future__ import annotations

from typing import Any

PREDICTIONS = "inference_models.predictions."


def is_tensor_detections(value: Any) -> bool:
    """Whether a value is detections of the tensor side."""
    return any(
        base.__qualname__ == "ColumnRows" and base.__module__ == f"{PREDICTIONS}columns"
        for base in type(value).__mro__
    )


def is_tensor_classification(value: Any) -> bool:
    """Whether a value is a classification of the tensor side."""
    return type(value).__module__ == f"{PREDICTIONS}whole_image" and hasattr(value, "metadata")
