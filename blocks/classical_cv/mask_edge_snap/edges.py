"""Thin edges of an image. Knows no mask and no manifest.

Maths: strength of the gradient by Sobel, a threshold of mean plus `sigma` standard deviations of
the strength in a window around each pixel, and thinning after Zhang and Suen (1984).
"""

from __future__ import annotations

from typing import NamedTuple

import cv2
import numpy as np
from numpy.typing import NDArray

WEAKEST = 4.0
"""Strength that is no edge anywhere: a slope of half a level a pixel."""
_RING = ((-1, 0), (-1, 1), (0, 1), (1, 1), (1, 0), (1, -1), (0, -1), (-1, -1))


class Edges(NamedTuple):
    """Edges of an image.

    Attributes:
        strength: (h, w) float32, strength of the gradient.
        thin: (h, w) uint8, 1 on an edge.
    """

    strength: NDArray[np.float32]
    thin: NDArray[np.uint8]


def edges_of(gray: NDArray[np.uint8], sigma: float, iterations: int, window: int) -> Edges:
    """The edges that stand out from what is around them.

    Args:
        gray: (h, w) uint8.
        sigma: standard deviations above the mean of the window from which a pixel is an edge.
        iterations: how often edges grow and shrink by a pixel again, which closes gaps.
        window: side of the window, px.
    """
    strength = _strength(gray)
    wide = strength.astype(np.float64)
    size = (window, window)
    mean = cv2.boxFilter(wide, cv2.CV_64F, size, borderType=cv2.BORDER_REPLICATE)
    squares = cv2.boxFilter(wide**2, cv2.CV_64F, size, borderType=cv2.BORDER_REPLICATE)
    deviation = np.sqrt(np.maximum(squares - mean**2, 0))
    marked = ((wide > mean + sigma * deviation) & (strength >= WEAKEST)).astype(np.uint8)
    if iterations:
        kernel = np.ones((3, 3), np.uint8)
        marked = cv2.morphologyEx(marked, cv2.MORPH_CLOSE, kernel, iterations=iterations)
    return Edges(strength, thinned(marked))


def thinned(marked: NDArray[np.uint8]) -> NDArray[np.uint8]:
    """(h, w) 0 or 1: one pass of thinning, which takes a pixel off both sides of wide edges.

    Args:
        marked: (h, w) 0 or 1.
    """
    # Positions in the ring of neighbours, 0 above and on clockwise, not all of which may be set.
    for first, second in (((0, 2, 4), (2, 4, 6)), ((0, 2, 6), (0, 4, 6))):
        ring = _ring(marked)
        count = sum(neighbour.astype(np.int8) for neighbour in ring)
        rises = sum(
            ((ring[place] == 0) & (ring[(place + 1) % 8] == 1)).astype(np.int8)
            for place in range(8)
        )
        removed = (count >= 2) & (count <= 6) & (rises == 1)
        for places in (first, second):
            removed &= (ring[places[0]] & ring[places[1]] & ring[places[2]]) == 0
        marked = np.where(removed, 0, marked).astype(np.uint8)
    return marked


def _ring(marked: NDArray[np.uint8]) -> list[NDArray[np.uint8]]:
    """The eight neighbours of every pixel, from the one above on clockwise; 0 beyond the image."""
    height, width = marked.shape
    padded = np.pad(marked, 1)
    return [padded[1 + y : 1 + y + height, 1 + x : 1 + x + width] for y, x in _RING]


def _strength(gray: NDArray[np.uint8]) -> NDArray[np.float32]:
    across = cv2.Sobel(gray, cv2.CV_32F, 1, 0, ksize=3)
    down = cv2.Sobel(gray, cv2.CV_32F, 0, 1, ksize=3)
    return np.asarray(cv2.magnitude(across, down), np.float32)
