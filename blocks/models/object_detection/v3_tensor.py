"""Object Detection Model, version 3, on tensors. The version itself is in `v3`."""

from __future__ import annotations

from blocks.models.object_detection.v3 import ObjectDetectionModelBlockV3
from blocks.models.tensor_model import TensorModel


class ObjectDetectionModelTensorBlockV3(TensorModel, ObjectDetectionModelBlockV3):
    """Takes tensor images and gives predictions as the model made them."""
