"""Measures of sharpness. Knows no manifest and no version, and draws nothing (see `overlays`).

Maths: Brenner et al. 1976 (squared differences two pixels apart); Tenenbaum 1970 (squared Sobel
gradients).
"""

from __future__ import annotations

import cv2
import numpy as np

from blocks.classical_cv.channels import to_gray


def brenner(pixels: np.ndarray) -> np.ndarray:
    """Brenner's measure of every pixel.

    The larger of the rise to the pixel two to the right and to the pixel two below, squared; falls
    count as 0, and so do pixels whose partner lies outside the image.

    Args:
        pixels: (h, w, 3) BGR or (h, w) uint8.

    Returns:
        (h, w) int32, 0..65025.
    """
    gray = to_gray(pixels)
    rise = np.zeros(gray.shape, dtype=np.uint8)
    rise[:, :-2] = _rise(gray[:, :-2], gray[:, 2:])
    np.maximum(rise[:-2], _rise(gray[:-2], gray[2:]), out=rise[:-2])
    return np.square(rise, dtype=np.int32)


def _rise(before: np.ndarray, after: np.ndarray) -> np.ndarray:
    """`after - before` where positive, else 0; uint8 of the inputs' shape."""
    return np.where(after > before, after - before, 0).astype(np.uint8)


def tenengrad(gray: np.ndarray) -> np.ndarray:
    """The squared length of the 3 x 3 Sobel gradient of every pixel.

    Args:
        gray: (h, w) uint8.

    Returns:
        (h, w) float32.
    """
    horizontal = cv2.Sobel(gray, cv2.CV_32F, 1, 0, ksize=3)
    vertical = cv2.Sobel(gray, cv2.CV_32F, 0, 1, ksize=3)
    return horizontal * horizontal + vertical * vertical


def mean_in_boxes(measure: np.ndarray, xyxy: np.ndarray) -> list[float | None]:
    """The mean of a measure within each box.

    Args:
        measure: (h, w).
        xyxy: (n, 4) px; fractions are cut off, and boxes are clipped to the image.

    Returns:
        One number a box, None for a box of which nothing lies in the image.
    """
    height, width = measure.shape
    limits = np.array([width, height, width, height])
    means: list[float | None] = []
    for left, top, right, bottom in np.clip(np.trunc(xyxy), 0, limits).astype(int):
        inside = measure[top:bottom, left:right]
        means.append(float(inside.mean(dtype=np.float64)) if inside.size else None)
    return means
