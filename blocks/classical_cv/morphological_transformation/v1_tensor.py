"""Morphological Transformation, version 1, on tensors."""

from __future__ import annotations

from typing import ClassVar

from blocks.classical_cv.convert_grayscale.v1_tensor import tensor_to_gray
from blocks.classical_cv.morphological_transformation.family import OPERATIONS
from blocks.classical_cv.morphological_transformation.torch_filters import tensor_transform
from blocks.classical_cv.morphological_transformation.v1 import MorphologicalTransformationBlockV1
from execution_engine.block_api import BlockResult, WorkflowImageData
from execution_engine.kinds.representation import TENSOR


class MorphologicalTransformationTensorBlockV1(MorphologicalTransformationBlockV1):
    representation: ClassVar[str] = TENSOR

    def run(self, image: WorkflowImageData, kernel_size: int, operation: str) -> BlockResult:
        """`image`: the transformed image, uint8."""
        if image.is_on_cpu or image.tensor_image.shape[0] not in (1, 3):
            # OpenCV's own call: the same bytes, many times faster on a CPU.
            return super().run(image, kernel_size, operation)
        pixels = image.tensor_image
        pixels = pixels if pixels.shape[0] == 1 else tensor_to_gray(pixels)
        result = tensor_transform(pixels, kernel_size, operation, OPERATIONS)
        return {"image": WorkflowImageData.copy_and_replace(image, tensor_image=result)}
