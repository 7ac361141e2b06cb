"""Object Detection Model, version 1, on tensors. The version itself is in `v1`."""

from __future__ import annotations

from blocks.models.object_detection.v1 import ObjectDetectionModelBlockV1
from blocks.models.tensor_model import TensorModel


class ObjectDetectionModelTensorBlockV1(TensorModel, ObjectDetectionModelBlockV1):
    """Takes tensor images and gives predictions as the model made them."""
