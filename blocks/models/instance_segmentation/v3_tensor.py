"""Instance Segmentation Model, version 3, on tensors. The version itself is in `v3`."""

from __future__ import annotations

from blocks.models.instance_segmentation.v3 import InstanceSegmentationModelBlockV3
from blocks.models.tensor_model import TensorModel


class InstanceSegmentationModelTensorBlockV3(TensorModel, InstanceSegmentationModelBlockV3):
    """Takes tensor images and gives predictions as the model made them."""
