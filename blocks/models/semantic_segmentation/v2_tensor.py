"""Semantic Segmentation Model, version 2, on tensors. The version itself is in `v2`."""

from __future__ import annotations

from blocks.models.semantic_segmentation.v2 import SemanticSegmentationModelBlockV2
from blocks.models.tensor_model import TensorModel


class SemanticSegmentationModelTensorBlockV2(TensorModel, SemanticSegmentationModelBlockV2):
    """Takes tensor images and gives predictions as the model made them."""
