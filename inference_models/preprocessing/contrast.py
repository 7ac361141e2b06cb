"""Contrast enhancement of whole images, as declared by packages. uint8 in, uint8 out; no geometry.

The three methods follow scikit-image 0.26 (`exposure.equalize_adapthist`, `rescale_intensity`,
`equalize_hist`); the two that map single values do so through a table, which gives the same values
from one pass over the image.
"""

from __future__ import annotations

import cv2
import numpy as np

from inference_models.packages.network_config import ContrastType

_PERCENTILES = (2.0, 98.0)
_TILES = 8
# scikit-image clips a tile's histogram at 0.03 of its pixels, OpenCV at clipLimit / 256 of them.
_CLIP_LIMIT = 0.03 * 256


def enhance_contrast(image: np.ndarray, method: ContrastType) -> np.ndarray:
    """An image with its contrast enhanced.

    Args:
        image: (h, w, 3) or (h, w), uint8; the channels may stand in any order.
        method: as the package names it.
    """
    if method == "Contrast Stretching":
        return cv2.LUT(image, _stretching_table(_histogram(image)))
    if method == "Histogram Equalization":
        return cv2.LUT(image, _equalisation_table(_histogram(image)))
    return _equalise_adaptively(image)


def _histogram(image: np.ndarray) -> np.ndarray:
    """Counts of the 256 values over all channels together."""
    channels = range(1 if image.ndim == 2 else image.shape[2])
    counts = [cv2.calcHist([image], [c], None, [256], [0, 256]).ravel() for c in channels]
    return np.sum(counts, axis=0).astype(np.int64)


def _stretching_table(histogram: np.ndarray) -> np.ndarray:
    low, high = (_percentile(histogram, percent) for percent in _PERCENTILES)
    values = np.arange(256, dtype=np.float64)
    if high <= low:
        return values.astype(np.uint8)
    return ((np.clip(values, low, high) - low) / (high - low) * 255.0).astype(np.uint8)


def _percentile(histogram: np.ndarray, percent: float) -> float:
    """Linear interpolation between order statistics, as `numpy.percentile` does it."""
    cumulative = np.cumsum(histogram)
    position = percent / 100.0 * (cumulative[-1] - 1)
    below = int(position)
    above = min(below + 1, int(cumulative[-1]) - 1)
    low, high = np.searchsorted(cumulative, [below, above], side="right")
    return float(low + (high - low) * (position - below))


def _equalisation_table(histogram: np.ndarray) -> np.ndarray:
    present = np.flatnonzero(histogram)
    if present.size < 2:
        return np.arange(256, dtype=np.uint8)
    values = present / 255.0
    counts, edges = np.histogram(values, bins=256, weights=histogram[present])
    distribution = np.cumsum(counts) / histogram.sum()
    table = np.zeros(256, dtype=np.uint8)
    centres = (edges[:-1] + edges[1:]) / 2.0
    table[present] = (np.interp(values, centres, distribution) * 255.0).astype(np.uint8)
    return table


def _equalise_adaptively(image: np.ndarray) -> np.ndarray:
    """CLAHE on the value channel (the largest of the three); hue and saturation stay."""
    clahe = cv2.createCLAHE(clipLimit=_CLIP_LIMIT, tileGridSize=(_TILES, _TILES))
    value = image if image.ndim == 2 else image.max(axis=2)
    low, high = int(value.min()), int(value.max())
    if high == low:
        return image
    stretched = ((value.astype(np.float32) - low) * (255.0 / (high - low))).astype(np.uint8)
    enhanced = clahe.apply(stretched)
    if image.ndim == 2:
        return enhanced
    gain = enhanced.astype(np.float32) / np.maximum(value, 1)
    return np.minimum(image * gain[:, :, None], 255.0).astype(np.uint8)
