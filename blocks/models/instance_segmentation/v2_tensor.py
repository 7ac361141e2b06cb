"""Instance Segmentation Model, version 2, on tensors. The version itself is in `v2`."""

from __future__ import annotations

from blocks.models.instance_segmentation.v2 import InstanceSegmentationModelBlockV2
from blocks.models.tensor_model import TensorModel


class InstanceSegmentationModelTensorBlockV2(TensorModel, InstanceSegmentationModelBlockV2):
    """Takes tensor images and gives predictions as the model made them."""
