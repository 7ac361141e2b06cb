"""Convert Grayscale, version 1, on tensors."""

from __future__ import annotations

from typing import Any, ClassVar

from blocks.classical_cv.convert_grayscale.v1 import ConvertGrayscaleBlockV1
from execution_engine.block_api import BlockResult, WorkflowImageData
from execution_engine.kinds.representation import TENSOR

# Weights of red, green and blue (ITU-R BT.601) in the fixed point that OpenCV uses, so that the
# bytes are the same.
_WEIGHTS = (9798, 19235, 3735)
_SHIFT = 15


class ConvertGrayscaleTensorBlockV1(ConvertGrayscaleBlockV1):
    representation: ClassVar[str] = TENSOR

    def run(self, image: WorkflowImageData) -> BlockResult:
        """`image`: (1, h, w) uint8 tensor."""
        pixels = image.tensor_image
        if pixels.shape[0] not in (1, 3) or pixels.numel() == 0:
            return super().run(image)
        gray = pixels if pixels.shape[0] == 1 else tensor_to_gray(pixels)
        return {"image": WorkflowImageData.copy_and_replace(image, tensor_image=gray)}


def tensor_to_gray(pixels: Any) -> Any:
    """(1, h, w) uint8 of (3, h, w) RGB uint8; the bytes of `to_gray`."""
    import torch

    weighed = sum(
        channel.to(torch.int32) * weight for channel, weight in zip(pixels, _WEIGHTS, strict=True)
    )
    rounded = (weighed + (1 << (_SHIFT - 1))) >> _SHIFT
    return rounded.to(torch.uint8)[None]
