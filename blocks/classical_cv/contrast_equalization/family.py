"""Three ways of spreading the gray levels of an image. Knows no manifest and no version.

Maths: linear stretching between percentiles; histogram equalisation by the cumulative distribution;
contrast-limited adaptive equalisation after Zuiderveld (Graphics Gems IV, 1994).
"""

from __future__ import annotations

import cv2
import numpy as np

from blocks.classical_cv.parameters import choice

LOW_PERCENTILE = 2
HIGH_PERCENTILE = 98
# A tile is an eighth of the image; a gray level may hold at most 3 % of a tile's pixels.
TILES_A_SIDE = 8
CLIP_LIMIT = 0.03
GRAY_LEVELS = 256


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


def _equalize_adaptively(pixels: np.ndarray) -> np.ndarray:
    brightness = pixels if pixels.ndim == 2 else pixels.max(axis=2)
    low, high = int(brightness.min()), int(brightness.max())
    if low == high:
        return pixels
    equalized = _stretch_to_full_range(_clahe(_stretch_to_full_range(brightness)))
    if pixels.ndim == 2:
        return equalized
    # Scaling all channels alike changes the brightness and keeps hue and saturation; black has
    # neither, so it becomes gray.
    gain = equalized / np.maximum(brightness, 1, dtype=np.float32)
    scaled = pixels * gain.astype(np.float32)[:, :, None]
    black = brightness == 0
    scaled[black] = equalized[black][:, None]
    return np.clip(scaled, 0, 255).astype(np.uint8)


def _stretch_to_full_range(gray: np.ndarray) -> np.ndarray:
    low, high = int(gray.min()), int(gray.max())
    if low == high:
        return gray
    levels = np.clip(np.arange(GRAY_LEVELS), low, high)
    return cv2.LUT(gray, np.rint((levels - low) / (high - low) * 255).astype(np.uint8))


def _clahe(gray: np.ndarray) -> np.ndarray:
    height, width = gray.shape
    tile_height, tile_width = max(height // TILES_A_SIDE, 1), max(width // TILES_A_SIDE, 1)
    rows, columns = -(-height // tile_height), -(-width // tile_width)
    # Whole tiles: without them OpenCV would choose a larger tile to cover the image with 8 a side.
    padded = cv2.copyMakeBorder(
        gray,
        0,
        rows * tile_height - height,
        0,
        columns * tile_width - width,
        cv2.BORDER_REFLECT_101,
    )
    clahe = cv2.createCLAHE(CLIP_LIMIT * GRAY_LEVELS, (columns, rows))
    return clahe.apply(padded)[:height, :width]


_TYPES = {
    "Contrast Stretching": _stretch,
    "Histogram Equalization": _equalize_histogram,
    "Adaptive Equalization": _equalize_adaptively,
}
