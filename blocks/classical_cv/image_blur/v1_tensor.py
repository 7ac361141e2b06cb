"""Image Blur, version 1, on tensors."""

from __future__ import annotations

from typing import ClassVar

from blocks.classical_cv.image_blur.torch_filters import tensor_blur
from blocks.classical_cv.image_blur.v1 import ImageBlurBlockV1
from execution_engine.block_api import BlockResult, WorkflowImageData
from execution_engine.kinds.representation import TENSOR


class ImageBlurTensorBlockV1(ImageBlurBlockV1):
    representation: ClassVar[str] = TENSOR

    def run(self, image: WorkflowImageData, blur_type: str, kernel_size: int) -> BlockResult:
        """`image`: the smoothed image; on a GPU nearly as OpenCV's, see `torch_filters`."""
        if image.is_on_cpu:
            # OpenCV's own call: its fixed-point sums cannot be had bit by bit in torch.
            return super().run(image, blur_type, kernel_size)
        smoothed = tensor_blur(image.tensor_image, blur_type, kernel_size)
        return {"image": WorkflowImageData.copy_and_replace(image, tensor_image=smoothed)}
