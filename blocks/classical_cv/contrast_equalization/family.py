"""Three ways of spreading the gray levels of an image. Knows no manifest and no version.

The adaptive one is in `clahe`.
"""

from __future__ import annotations

import cv2
import numpy as np

from blocks.classical_cv.contrast_equalization.clahe import equalize_adaptively
from blocks.parameters import choice

LOW_PERCENTILE = 2
HIGH_PERCENTILE = 98
GRAY_LEVELS = 256
# A product meant to be whole must not fall to the level below.
ROUNDING_NOISE = 1e-3


def equalize(pixels: np.ndarray, equalization_type: str) -> np.ndarray:
    """A copy of an image with its contrast raised.

    Args:
        pixels: (h, w, 3) BGR or (h, w) uint8.
        equalization_type: `Contrast Stretching`, `Histogram Equalization` or `Adaptive
            Equalization`. The first two use one mapping for all channels, the last works on the
            brightness max(B, G, R) and keeps the hue.

    Returns:
        uint8 of the input's shape.

    Raises:
        ValueError: unknown type.
    """
    return choice("equalization_type", equalization_type, _TYPES)(pixels)


def _stretch(pixels: np.ndarray) -> np.ndarray:
    """Levels from the 2nd to the 98th percentile spread over 0..255, where these differ."""
    low, high = np.percentile(pixels, (LOW_PERCENTILE, HIGH_PERCENTILE))
    if low == high:
        return pixels
    levels = np.clip(np.arange(GRAY_LEVELS), low, high)
    return cv2.LUT(pixels, ((levels - low) / (high - low) * 255).astype(np.uint8))


def _equalize_histogram(pixels: np.ndarray) -> np.ndarray:
    """Levels mapped by their cumulative distribution over 256 bins from lowest to highest."""
    counts = np.bincount(pixels.ravel(), minlength=GRAY_LEVELS)
    levels = np.arange(GRAY_LEVELS) / 255
    present = np.flatnonzero(counts)
    histogram, edges = np.histogram(
        levels,
        bins=GRAY_LEVELS,
        range=(levels[present[0]], levels[present[-1]]),
        weights=counts,
    )
    cumulative = np.cumsum(histogram) / pixels.size
    centres = (edges[:-1] + edges[1:]) / 2
    table = (np.interp(levels, centres, cumulative) * 255).astype(np.uint8)
    return cv2.LUT(pixels, table)


def _equalize_brightness(pixels: np.ndarray) -> np.ndarray:
    brightness = pixels if pixels.ndim == 2 else pixels.max(axis=2)
    if brightness.min() == brightness.max():
        return pixels
    equalized = equalize_adaptively(brightness) * 255
    if pixels.ndim == 2:
        return equalized.astype(np.uint8)
    # Scaling all channels alike changes the brightness and keeps hue and saturation; black has
    # neither, so it becomes gray.
    gain = equalized / np.maximum(brightness, 1)
    scaled = pixels * gain[:, :, None]
    black = brightness == 0
    scaled[black] = equalized[black][:, None]
    return np.clip(scaled + ROUNDING_NOISE, 0, 255).astype(np.uint8)


_TYPES = {
    "Contrast Stretching": _stretch,
    "Histogram Equalization": _equalize_histogram,
    "Adaptive Equalization": _equalize_brightness,
}
