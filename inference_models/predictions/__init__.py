"""What models say about images: frozen rows of columns, in numpy or torch. Knows no model and no
workflow."""

from inference_models.predictions.columns import Column, PredictionError
from inference_models.predictions.detections import (
    Detections,
    InstanceDetections,
    OrientedDetections,
)
from inference_models.predictions.keypoints import KeyPoints
from inference_models.predictions.supervision_bridge import compact_mask, masks_from_supervision
from inference_models.predictions.whole_image import (
    ClassificationPrediction,
    MultiLabelClassificationPrediction,
    SemanticSegmentationResult,
)

__all__ = [
    "ClassificationPrediction",
    "Column",
    "Detections",
    "InstanceDetections",
    "KeyPoints",
    "MultiLabelClassificationPrediction",
    "OrientedDetections",
    "PredictionError",
    "SemanticSegmentationResult",
    "compact_mask",
    "masks_from_supervision",
]
