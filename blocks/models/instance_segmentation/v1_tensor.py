"""Instance Segmentation Model, version 1, on tensors. The version itself is in `v1`."""

from __future__ import annotations

from blocks.models.instance_segmentation.v1 import InstanceSegmentationModelBlockV1
from blocks.models.tensor_model import TensorModel


class InstanceSegmentationModelTensorBlockV1(TensorModel, InstanceSegmentationModelBlockV1):
    """Takes tensor images and gives predictions as the model made them."""
