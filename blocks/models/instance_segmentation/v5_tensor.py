"""Instance Segmentation Model, version 5, on tensors. The version itself is in `v5`."""

from __future__ import annotations

from blocks.models.instance_segmentation.v5 import InstanceSegmentationModelBlockV5
from blocks.models.tensor_model import TensorModel


class InstanceSegmentationModelTensorBlockV5(TensorModel, InstanceSegmentationModelBlockV5):
    """Takes tensor images and gives predictions as the model made them."""
