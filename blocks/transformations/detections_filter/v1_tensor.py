"""Detections Filter, version 1, on tensors."""

from __future__ import annotations

from blocks.transformations.detections_filter.v1 import DetectionsFilterBlockV1
from blocks.transformations.detections_operations_tensor import TensorDetectionsOperations


class DetectionsFilterTensorBlockV1(TensorDetectionsOperations, DetectionsFilterBlockV1):
    """Works on detections of the tensor side."""
