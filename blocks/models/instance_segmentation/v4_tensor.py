"""Instance Segmentation Model, version 4, on tensors. The version itself is in `v4`."""

from __future__ import annotations

from blocks.models.instance_segmentation.v4 import InstanceSegmentationModelBlockV4
from blocks.models.tensor_model import TensorModel


class InstanceSegmentationModelTensorBlockV4(TensorModel, InstanceSegmentationModelBlockV4):
    """Takes tensor images and gives predictions as the model made them."""
