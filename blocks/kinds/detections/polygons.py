"""Between masks and polygons, on the crop of each mask. Knows nothing of predictions."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import cv2
import numpy as np
from numpy.typing import NDArray

if TYPE_CHECKING:
    from supervision import CompactMask

_FEWEST_POINTS = 3
_FARTHEST_VERTEX = 1 << 24


def crop_polygon(crop: NDArray[np.bool_], offset: tuple[int, int]) -> NDArray[np.int32] | None:
    """Outline of the largest part of a mask, None when the mask is empty.

    Args:
        crop: mask (h, w), bool or uint8.
        offset: (x, y) of the crop's corner, added to the points.

    Returns:
        (k, 2) points (x, y) px, k >= 3; an outline of fewer points repeats its last one.
    """
    # Holes and parts inside holes enclose less than what surrounds them: outer outlines suffice.
    contours, _ = cv2.findContours(
        np.ascontiguousarray(crop, np.uint8),
        cv2.RETR_EXTERNAL,
        cv2.CHAIN_APPROX_SIMPLE,
        offset=offset,
    )
    if not contours:
        return None
    largest = max(contours, key=cv2.contourArea) if len(contours) > 1 else contours[0]
    polygon = np.asarray(largest, np.int32).reshape(-1, 2)
    missing = _FEWEST_POINTS - len(polygon)
    if missing > 0:
        polygon = np.concatenate([polygon, np.repeat(polygon[-1:], missing, axis=0)])
    return polygon


def mask_polygons(mask: CompactMask | NDArray[np.bool_]) -> list[NDArray[np.int32] | None]:
    """The polygon of each mask, None for an empty one.

    Args:
        mask: `sv.CompactMask` or (n, h, w) bool.
    """
    if isinstance(mask, np.ndarray):
        return [_dense_polygon(item) for item in mask]
    offsets = mask.offsets.tolist()
    return [crop_polygon(mask.crop(row), (x, y)) for row, (x, y) in enumerate(offsets)]


def _dense_polygon(mask: NDArray[np.bool_]) -> NDArray[np.int32] | None:
    x, y, width, height = support(mask)
    return crop_polygon(mask[y : y + height, x : x + width], (x, y)) if width else None


def support(mask: NDArray[np.bool_]) -> tuple[int, int, int, int]:
    """(x, y, width, height) of the smallest box around the foreground of a mask (h, w), px."""
    pixels = np.ascontiguousarray(mask)
    x, y, width, height = cv2.boundingRect(
        pixels.view(np.uint8) if pixels.dtype == np.bool_ else (pixels != 0).view(np.uint8)
    )
    return x, y, width, height


def polygon_crop(
    polygon: Sequence[Sequence[float]] | NDArray[np.float64], image_size: tuple[int, int]
) -> tuple[NDArray[np.uint8], tuple[int, int]]:
    """The filled polygon as a crop (h, w) of 0 and 1, and its corner (x, y) in the image.

    What lies outside the image is cut off; a polygon wholly outside gives a crop of (0, 0).

    Args:
        polygon: (k, 2) points (x, y) px, rounded to whole pixels, border included.
        image_size: (height, width) of the image, px.

    Raises:
        ValueError: a vertex is not finite or beyond what an image can hold.
    """
    vertices = np.asarray(polygon, np.float64)
    if not (np.abs(vertices) < _FARTHEST_VERTEX).all():
        raise ValueError("a polygon has a vertex that is no number or far outside any image")
    points = np.round(vertices).astype(np.int32)
    height, width = image_size
    x0, y0 = np.maximum(points.min(axis=0), 0).tolist()
    x1, y1 = np.minimum(points.max(axis=0), (width - 1, height - 1)).tolist()
    if x1 < x0 or y1 < y0:
        return np.zeros((0, 0), np.uint8), (0, 0)
    canvas = np.zeros((y1 - y0 + 1, x1 - x0 + 1), np.uint8)
    cv2.fillPoly(canvas, [points - np.array([x0, y0], np.int32)], 1)
    return canvas, (x0, y0)
