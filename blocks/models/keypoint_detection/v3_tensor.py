"""Keypoint Detection Model, version 3, on tensors. The version itself is in `v3`."""

from __future__ import annotations

from blocks.models.keypoint_detection.v3 import KeypointDetectionModelBlockV3
from blocks.models.tensor_model import TensorModel


class KeypointDetectionModelTensorBlockV3(TensorModel, KeypointDetectionModelBlockV3):
    """Takes tensor images and gives predictions as the model made them."""
