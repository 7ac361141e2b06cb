"""Detections Merge, version 1, on tensors: bounds and lowest confidence are worked out in torch."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np

from blocks.kinds.detections import keys
from blocks.kinds.detections.lineage import detection_ids, repeated
from blocks.kinds.tensor_predictions.columns import (
    ABSENT,
    exact_name,
    image_level_values,
    is_absent,
)
from blocks.transformations.detections_merge.v1 import DetectionsMergeBlockV1
from execution_engine.kinds.representation import TENSOR

if TYPE_CHECKING:
    from blocks.kinds.tensor_predictions.columns import TensorDetections
    from inference_models.predictions import Detections


def merged(prediction: TensorDetections, class_name: str) -> Detections:
    """One detection around all given ones, as `merged` of the numpy side makes it."""
    import torch

    from inference_models.predictions import Detections

    count = min(len(prediction), 1)
    boxes: Any = prediction.xyxy
    confidence: Any = prediction.confidence
    values = {**image_level_values(prediction), keys.PREDICTION_TYPE: "object-detection"}
    data: dict[str, Any] = {
        keys.CLASS_NAME: np.array([class_name] * count, dtype=str),
        keys.DETECTION_ID: detection_ids(count),
        **repeated(values, count),
    }
    name = exact_name("confidence")
    if name in prediction.data:
        exact = np.asarray(prediction.data[name])
        data[name] = np.array([exact.min()]) if count else exact[:0]
    if count:
        boxes = torch.cat([boxes[:, :2].amin(0), boxes[:, 2:].amax(0)])[None]
        confidence = confidence.amin(0, keepdim=True)
    metadata = {} if count else dict(values)
    if is_absent(prediction, "confidence"):
        metadata[ABSENT] = ("confidence",)
    return Detections(
        xyxy=boxes,
        confidence=confidence,
        class_id=torch.zeros(count, dtype=torch.int32, device=boxes.device),
        image_size=prediction.image_size,
        data=data,
        metadata=metadata,
    )


class DetectionsMergeTensorBlockV1(DetectionsMergeBlockV1):
    representation: ClassVar[str] = TENSOR

    def merged(self, predictions: Any, class_name: str) -> Any:
        """One detection around all, or none."""
        return merged(predictions, class_name)
