"""The dictionary in which a classification of an image travels. How classes are chosen belongs to
the families."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any
from uuid import uuid4

from blocks.kinds.detections import keys
from execution_engine.block_api import WorkflowImageData

PREDICTION_TYPE = "classification"


def classification_row(
    image: WorkflowImageData, classes: Mapping[str, Any], model_id: str | None
) -> dict[str, Any]:
    """One result with `predictions`, `inference_id` and, when given, `model_id`.

    Args:
        image: the image that was classified.
        classes: `predictions` and what names the chosen ones: `top` and `confidence`, or
            `predicted_classes`.
        model_id: the model, for blocks that report it.
    """
    inference_id = str(uuid4())
    height, width = image.size
    prediction = {
        "image": {"width": width, "height": height},
        **classes,
        keys.PARENT_ID: image.parent_metadata.parent_id,
        keys.ROOT_PARENT_ID: image.workflow_root_ancestor_metadata.parent_id,
        keys.PREDICTION_TYPE: PREDICTION_TYPE,
        keys.INFERENCE_ID: inference_id,
    }
    row: dict[str, Any] = {"predictions": prediction, "inference_id": inference_id}
    if model_id is not None:
        row["model_id"] = model_id
    return row
