"""Morphological Transformation, version 2, on tensors."""

from __future__ import annotations

from typing import ClassVar

from blocks.classical_cv.morphological_transformation.torch_filters import tensor_transform
from blocks.classical_cv.morphological_transformation.v2 import (
    OPERATIONS_V2,
    MorphologicalTransformationBlockV2,
)
from execution_engine.block_api import BlockResult, WorkflowImageData
from execution_engine.kinds.representation import TENSOR


class MorphologicalTransformationTensorBlockV2(MorphologicalTransformationBlockV2):
    representation: ClassVar[str] = TENSOR

    def run(self, image: WorkflowImageData, kernel_size: int, operation: str) -> BlockResult:
        """`image`: the transformed image, uint8."""
        if image.is_on_cpu or image.tensor_image.shape[0] not in (1, 3):
            # OpenCV's own call: the same bytes, many times faster on a CPU.
            return super().run(image, kernel_size, operation)
        pixels = image.tensor_image
        pixels = pixels.expand(3, -1, -1)
        result = tensor_transform(pixels, kernel_size, operation, OPERATIONS_V2)
        return {"image": WorkflowImageData.copy_and_replace(image, tensor_image=result)}
