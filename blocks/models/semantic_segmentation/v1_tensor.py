"""Semantic Segmentation Model, version 1, on tensors. The version itself is in `v1`."""

from __future__ import annotations

from blocks.models.semantic_segmentation.v1 import SemanticSegmentationModelBlockV1
from blocks.models.tensor_model import TensorModel


class SemanticSegmentationModelTensorBlockV1(TensorModel, SemanticSegmentationModelBlockV1):
    """Takes tensor images and gives predictions as the model made them."""
