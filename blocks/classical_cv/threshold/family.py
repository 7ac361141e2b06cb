"""Thresholding of images. Knows no manifest and no version."""

from __future__ import annotations

import cv2
import numpy as np

from blocks.classical_cv.channels import to_gray
from blocks.parameters import choice, whole_number

ADAPTIVE_BLOCK_SIZE = 11
ADAPTIVE_OFFSET = 2

_FIXED = {
    "binary": cv2.THRESH_BINARY,
    "binary_inv": cv2.THRESH_BINARY_INV,
    "trunc": cv2.THRESH_TRUNC,
    "tozero": cv2.THRESH_TOZERO,
    "tozero_inv": cv2.THRESH_TOZERO_INV,
}
_ADAPTIVE = {
    "adaptive_mean": cv2.ADAPTIVE_THRESH_MEAN_C,
    "adaptive_gaussian": cv2.ADAPTIVE_THRESH_GAUSSIAN_C,
}
_TYPES = {name: name for name in (*_FIXED, *_ADAPTIVE, "otsu")}


def threshold(
    pixels: np.ndarray, threshold_type: str, thresh_value: int, max_value: int
) -> np.ndarray:
    """A thresholded copy of an image.

    With v a pixel, t the threshold and m the maximum value:
    `binary` v > t ? m : 0, `binary_inv` v > t ? 0 : m, `trunc` min(v, t), `tozero` v > t ? v : 0,
    `tozero_inv` v > t ? 0 : v; `otsu` is `binary` at the threshold that best parts the histogram;
    `adaptive_mean` and `adaptive_gaussian` are `binary` at the (weighted) mean of the 11 x 11 px
    around less 2.

    Args:
        pixels: (h, w, 3) or (h, w) uint8. The first five types work on each channel for itself;
            `otsu` and the adaptive ones turn colour into one channel first.
        threshold_type: one of the names above.
        thresh_value: t, in gray levels; not used by `otsu` and the adaptive types.
        max_value: m, in gray levels, clipped to 0..255; used by the two-valued types.

    Returns:
        uint8, the input's shape for the first five types, else (h, w).

    Raises:
        ValueError: unknown type, or a value that is no whole number.
    """
    choice("threshold_type", threshold_type, _TYPES)
    # Beyond the levels all thresholds part them alike, and OpenCV takes no number of any size.
    level = min(max(whole_number("thresh_value", thresh_value), -1), 255)
    maximum = min(max(whole_number("max_value", max_value), 0), 255)
    if threshold_type in _FIXED:
        return cv2.threshold(pixels, level, maximum, _FIXED[threshold_type])[1]
    gray = to_gray(pixels)
    if threshold_type == "otsu":
        return cv2.threshold(gray, 0, maximum, cv2.THRESH_BINARY | cv2.THRESH_OTSU)[1]
    return cv2.adaptiveThreshold(
        gray,
        maximum,
        _ADAPTIVE[threshold_type],
        cv2.THRESH_BINARY,
        ADAPTIVE_BLOCK_SIZE,
        ADAPTIVE_OFFSET,
    )
