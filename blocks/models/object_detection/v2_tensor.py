"""Object Detection Model, version 2, on tensors. The version itself is in `v2`."""

from __future__ import annotations

from blocks.models.object_detection.v2 import ObjectDetectionModelBlockV2
from blocks.models.tensor_model import TensorModel


class ObjectDetectionModelTensorBlockV2(TensorModel, ObjectDetectionModelBlockV2):
    """Takes tensor images and gives predictions as the model made them."""
