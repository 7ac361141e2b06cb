"""Morphology with a square window, and the fields that all versions share. Knows no version."""

from __future__ import annotations

import cv2
import numpy as np
from pydantic import Field

from blocks.classical_cv.image_manifest import ImageInputManifest
from blocks.parameters import choice, whole_number
from execution_engine.block_api import OutputDefinition, Selector
from execution_engine.kinds.catalogue import IMAGE_KIND, INTEGER_KIND

OPERATIONS: dict[str, tuple[int, ...]] = {
    "Erosion": (cv2.MORPH_ERODE,),
    "Dilation": (cv2.MORPH_DILATE,),
    "Opening": (cv2.MORPH_OPEN,),
    "Closing": (cv2.MORPH_CLOSE,),
    "Gradient": (cv2.MORPH_GRADIENT,),
    "Top Hat": (cv2.MORPH_TOPHAT,),
    "Black Hat": (cv2.MORPH_BLACKHAT,),
}


class MorphologicalTransformationManifest(ImageInputManifest):
    """Fields of every version; each version adds its `operation`."""

    kernel_size: int | Selector(kind=[INTEGER_KIND]) = Field(
        default=5,
        description="Side of the square window in px.",
        examples=[5, "$inputs.kernel_size"],
    )

    @classmethod
    def describe_outputs(cls) -> list[OutputDefinition]:
        """The transformed image."""
        return [OutputDefinition("image", [IMAGE_KIND])]


def transform(
    pixels: np.ndarray,
    kernel_size: int,
    operation: str,
    operations: dict[str, tuple[int, ...]] = OPERATIONS,
) -> np.ndarray:
    """A morphologically transformed copy of an image.

    Erosion takes the minimum and dilation the maximum of the window; the others are built from
    these. Pixels outside the image do not count. With an even size the window reaches one pixel
    further to the top and left.

    Args:
        pixels: (h, w) or (h, w, 3) uint8; channels are treated one by one.
        kernel_size: side of the window, px.
        operation: a key of `operations`.
        operations: OpenCV operations, applied one after another, by name.

    Returns:
        An array of the input's shape and dtype.

    Raises:
        ValueError: unknown operation, or a kernel size below 1.
    """
    steps = choice("operation", operation, operations)
    size = whole_number("kernel_size", kernel_size, minimum=1)
    # A window larger than the image sees nothing more, but costs time and memory.
    height, width = pixels.shape[:2]
    kernel = np.ones((min(size, 2 * height + 1), min(size, 2 * width + 1)), np.uint8)
    for step in steps:
        pixels = cv2.morphologyEx(pixels, step, kernel)
    return pixels
