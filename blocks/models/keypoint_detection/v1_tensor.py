"""Keypoint Detection Model, version 1, on tensors. The version itself is in `v1`."""

from __future__ import annotations

from blocks.models.keypoint_detection.v1 import KeypointDetectionModelBlockV1
from blocks.models.tensor_model import TensorModel


class KeypointDetectionModelTensorBlockV1(TensorModel, KeypointDetectionModelBlockV1):
    """Takes tensor images and gives predictions as the model made them."""
