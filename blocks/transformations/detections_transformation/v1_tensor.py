"""Detections Transformation, version 1, on tensors."""

from __future__ import annotations

from blocks.transformations.detections_operations_tensor import TensorDetectionsOperations
from blocks.transformations.detections_transformation.v1 import DetectionsTransformationBlockV1


class DetectionsTransformationTensorBlockV1(
    TensorDetectionsOperations, DetectionsTransformationBlockV1
):
    """Works on detections of the tensor side."""
