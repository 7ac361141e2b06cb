"""Keypoint Detection Model, version 2, on tensors. The version itself is in `v2`."""

from __future__ import annotations

from blocks.models.keypoint_detection.v2 import KeypointDetectionModelBlockV2
from blocks.models.tensor_model import TensorModel


class KeypointDetectionModelTensorBlockV2(TensorModel, KeypointDetectionModelBlockV2):
    """Takes tensor images and gives predictions as the model made them."""
