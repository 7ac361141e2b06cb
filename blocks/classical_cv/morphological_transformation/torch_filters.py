"""Morphology with a square window in torch, for pixels in the memory of a GPU. Knows no manifest.

The bytes are those of `family.transform`: minima and maxima have no rounding.
"""

from __future__ import annotations

from typing import Any

import cv2

from blocks.parameters import choice, whole_number


def tensor_transform(
    pixels: Any, kernel_size: int, operation: str, operations: dict[str, tuple[int, ...]]
) -> Any:
    """A transformed copy of (c, h, w) uint8 pixels; arguments and errors as for
    `family.transform`.
    """
    steps = choice("operation", operation, operations)
    size = whole_number("kernel_size", kernel_size, minimum=1)
    _, height, width = pixels.shape
    window = (min(size, 2 * height + 1), min(size, 2 * width + 1))
    for step in steps:
        pixels = _step(pixels, step, window)
    return pixels


def _step(pixels: Any, step: int, window: tuple[int, int]) -> Any:
    if step == cv2.MORPH_ERODE:
        return 255 - _dilated(255 - pixels, window)
    if step == cv2.MORPH_DILATE:
        return _dilated(pixels, window)
    if step == cv2.MORPH_OPEN:
        return _step(_step(pixels, cv2.MORPH_ERODE, window), cv2.MORPH_DILATE, window)
    if step == cv2.MORPH_CLOSE:
        return _step(_step(pixels, cv2.MORPH_DILATE, window), cv2.MORPH_ERODE, window)
    if step == cv2.MORPH_GRADIENT:
        return _step(pixels, cv2.MORPH_DILATE, window) - _step(pixels, cv2.MORPH_ERODE, window)
    if step == cv2.MORPH_TOPHAT:
        return _above(pixels, _step(pixels, cv2.MORPH_OPEN, window))
    return _above(_step(pixels, cv2.MORPH_CLOSE, window), pixels)


def _dilated(pixels: Any, window: tuple[int, int]) -> Any:
    """Maximum of the window; what lies outside the image does not count."""
    import torch
    from torch.nn import functional

    rows, columns = window
    margins = (columns // 2, columns - 1 - columns // 2, rows // 2, rows - 1 - rows // 2)
    padded = functional.pad(pixels.float(), margins, value=-1.0)
    # Rows and columns one after the other: the work grows with the side of the window only.
    highest = functional.max_pool2d(padded[None], (rows, 1), stride=1)
    highest = functional.max_pool2d(highest, (1, columns), stride=1)
    return highest[0].to(torch.uint8)


def _above(first: Any, second: Any) -> Any:
    import torch

    return (first.to(torch.int16) - second.to(torch.int16)).clamp(min=0).to(torch.uint8)
