"""Stretching the levels of an image. Knows no manifest and no version.

Everything is a table of 256 levels for each channel, looked up once.
"""

from __future__ import annotations

import cv2
import numpy as np
from numpy.typing import NDArray

from blocks.parameters import number, whole_number

MIDDLE = 127.5
WEAKEST_GAMMA, STRONGEST_GAMMA = 0.1, 10.0
_COLOURS = 3
# Part of blue, green and red in brightness, ITU-R BT.601.
_BRIGHTNESS = (0.114, 0.587, 0.299)


def enhance(
    pixels: np.ndarray, clip_limit: int, contrast_multiplier: float, normalize_brightness: bool
) -> np.ndarray:
    """The image with the levels of each channel stretched to 0..255.

    Then levels are moved away from the middle by the multiplier, and last, if asked for, one power
    curve for all channels brings the mean brightness to the middle. A channel whose stretch is
    empty (one level, or one that clipping leaves alone) keeps its levels; so does an alpha channel.

    Args:
        pixels: (h, w), (h, w, 1), (h, w, 3) BGR or (h, w, 4) BGRA uint8.
        clip_limit: percent of the pixels left out at either end, 0..50.
        contrast_multiplier: 1 changes nothing, 0.1..5.
        normalize_brightness: whether to bring the mean brightness to the middle.

    Raises:
        InvalidFieldValueError: a number is out of its range.
    """
    clipped = whole_number("clip_limit", clip_limit, 0, 50)
    multiplier = number("contrast_multiplier", contrast_multiplier, 0.1, 5.0)
    layers = pixels[:, :, None] if pixels.ndim == 2 else pixels
    histograms = [
        np.bincount(layers[:, :, channel].ravel(), minlength=256)
        for channel in range(min(layers.shape[2], _COLOURS))
    ]
    tables = [
        np.clip((_stretch(histogram, clipped) - MIDDLE) * multiplier + MIDDLE, 0, 255)
        for histogram in histograms
    ]
    if normalize_brightness:
        gamma = _gamma(histograms, tables)
        tables = [255 * (table / 255) ** gamma for table in tables]
    result = np.array(layers)
    for channel, table in enumerate(tables):
        result[:, :, channel] = cv2.LUT(
            np.ascontiguousarray(layers[:, :, channel]), np.rint(table).astype(np.uint8)
        )
    return result.reshape(pixels.shape)


def _stretch(histogram: NDArray[np.int64], clipped: int) -> NDArray[np.float64]:
    """(256,) level that each level becomes."""
    levels = np.arange(256, dtype=np.float64)
    skipped = histogram.sum() * clipped / 100
    low = int(np.argmax(np.cumsum(histogram) > skipped))
    high = 255 - int(np.argmax(np.cumsum(histogram[::-1]) > skipped))
    if high <= low:
        return levels
    return np.clip((levels - low) / (high - low) * 255, 0, 255)


def _gamma(histograms: list[NDArray[np.int64]], tables: list[NDArray[np.float64]]) -> float:
    """The power that brings the mean brightness to the middle; 1 where all is black or white."""
    means = [
        float(histogram @ table / histogram.sum()) / 255
        for histogram, table in zip(histograms, tables, strict=True)
    ]
    mean = means[0] if len(means) == 1 else float(np.dot(means, _BRIGHTNESS))
    if not 0 < mean < 1:
        return 1.0
    return float(np.clip(np.log(0.5) / np.log(mean), WEAKEST_GAMMA, STRONGEST_GAMMA))
