"""Image Threshold, version 1, on tensors."""

from __future__ import annotations

from typing import Any, ClassVar

from blocks.classical_cv.threshold.v1 import ImageThresholdBlockV1
from blocks.parameters import whole_number
from execution_engine.block_api import BlockResult, WorkflowImageData
from execution_engine.kinds.representation import TENSOR

FIXED = ("binary", "binary_inv", "trunc", "tozero", "tozero_inv")


class ImageThresholdTensorBlockV1(ImageThresholdBlockV1):
    representation: ClassVar[str] = TENSOR

    def run(
        self, image: WorkflowImageData, threshold_type: str, thresh_value: int, max_value: int
    ) -> BlockResult:
        """`image`: the thresholded image, uint8."""
        if threshold_type not in FIXED:
            # OpenCV's own call on the host: `otsu` and the adaptive types compare with levels whose
            # rounding torch does not have, and one level off turns a pixel from black to white.
            return super().run(image, threshold_type, thresh_value, max_value)
        level = whole_number("thresh_value", thresh_value)
        maximum = min(max(whole_number("max_value", max_value), 0), 255)
        result = tensor_threshold(image.tensor_image, threshold_type, level, maximum)
        return {"image": WorkflowImageData.copy_and_replace(image, tensor_image=result)}


def tensor_threshold(pixels: Any, threshold_type: str, level: int, maximum: int) -> Any:
    """A thresholded copy of (c, h, w) uint8 pixels by one of the `FIXED` types; the bytes of
    `threshold`.
    """
    import torch

    # Below 0 and above 255 all thresholds part the levels alike.
    values = pixels.to(torch.int16)
    above = values > min(max(level, -1), 256)
    if threshold_type == "trunc":
        return values.clamp(max=min(max(level, 0), 255)).to(torch.uint8)
    if threshold_type in ("binary", "binary_inv"):
        chosen = above if threshold_type == "binary" else ~above
        return chosen.to(torch.uint8) * maximum
    kept = above if threshold_type == "tozero" else ~above
    return pixels * kept.to(torch.uint8)
