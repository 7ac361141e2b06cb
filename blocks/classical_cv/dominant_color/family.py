"""The most frequent colour of an image by k-means. Knows no manifest and no version."""

from __future__ import annotations

import numpy as np

from blocks.classical_cv.channels import to_bgr
from blocks.parameters import whole_number

MAX_CLUSTERS = 10
MAX_ITERATIONS = 500
MAX_TARGET_SIZE = 250


def dominant_color(
    pixels: np.ndarray, color_clusters: int, max_iterations: int, target_size: int
) -> tuple[int, int, int]:
    """The mean colour of the largest of several groups of similar colours.

    The same image always gives the same answer: the groups start at the most frequent colour and at
    those that are frequent and far from the ones already chosen.

    Args:
        pixels: (h, w, 3) BGR or (h, w) uint8.
        color_clusters: number of groups, 1..10; fewer where the image has fewer colours.
        max_iterations: most rounds of k-means, 1..500; it ends earlier once no centre moves.
        target_size: the shorter side is thinned out to about this many px (1..250) first.

    Returns:
        (red, green, blue), 0..255 each.

    Raises:
        ValueError: a parameter outside its limits.
    """
    clusters = whole_number("color_clusters", color_clusters, 1, MAX_CLUSTERS)
    iterations = whole_number("max_iterations", max_iterations, 1, MAX_ITERATIONS)
    shorter_side = whole_number("target_size", target_size, 1, MAX_TARGET_SIZE)
    stride = max(1, min(pixels.shape[:2]) // shorter_side)
    colors, counts = _count_colors(to_bgr(pixels[::stride, ::stride]))
    centres = _spread_centres(colors, counts, clusters)
    labels = _nearest(colors, centres)
    for _ in range(iterations):
        moved = _mean_colors(colors, counts, labels, centres)
        labels = _nearest(colors, moved)
        if np.allclose(moved, centres):
            break
        centres = moved
    sizes = np.bincount(labels, weights=counts, minlength=len(centres))
    blue, green, red = _mean_colors(colors, counts, labels, centres)[int(sizes.argmax())]
    return round(float(red)), round(float(green)), round(float(blue))


def _count_colors(pixels: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """The distinct colours (n, 3) float64 and how many pixels have each (n,)."""
    packed = pixels.reshape(-1, 3).astype(np.uint32) @ np.array([1 << 16, 1 << 8, 1], np.uint32)
    distinct, counts = np.unique(packed, return_counts=True)
    channels = [(distinct >> shift) & 255 for shift in (16, 8, 0)]
    return np.stack(channels, axis=1).astype(np.float64), counts


def _spread_centres(colors: np.ndarray, counts: np.ndarray, clusters: int) -> np.ndarray:
    """Starting centres (k, 3), k at most the number of distinct colours."""
    chosen = [int(counts.argmax())]
    distance = ((colors - colors[chosen[0]]) ** 2).sum(axis=1)
    while len(chosen) < min(clusters, len(colors)):
        chosen.append(int((counts * distance).argmax()))
        distance = np.minimum(distance, ((colors - colors[chosen[-1]]) ** 2).sum(axis=1))
    return colors[chosen]


def _nearest(colors: np.ndarray, centres: np.ndarray) -> np.ndarray:
    """Index of the nearest centre of every colour (n,)."""
    # |c - m|^2 without |c|^2, which is the same for all centres.
    return ((centres**2).sum(axis=1) - 2 * colors @ centres.T).argmin(axis=1)


def _mean_colors(
    colors: np.ndarray, counts: np.ndarray, labels: np.ndarray, centres: np.ndarray
) -> np.ndarray:
    """The mean of every group (k, 3); a group without colours keeps its centre."""
    sizes = np.bincount(labels, weights=counts, minlength=len(centres))
    sums = [
        np.bincount(labels, weights=colors[:, channel] * counts, minlength=len(centres))
        for channel in range(3)
    ]
    means = np.stack(sums, axis=1) / np.maximum(sizes, 1)[:, None]
    return np.where(sizes[:, None] > 0, means, centres)
