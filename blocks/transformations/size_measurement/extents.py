"""Width and height of objects on their own axes. Knows no manifest."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import cv2
import numpy as np
from numpy.typing import NDArray

from blocks.kinds.detections.boxes import as_boxes
from blocks.kinds.detections.masks import instance_masks
from blocks.parameters import FARTHEST_PLACE
from execution_engine.errors import InvalidFieldValueError
from execution_engine.value_text import short_text
from inference_models.masks import largest_polygons

if TYPE_CHECKING:
    import supervision as sv

Extent = tuple[float, float]
"""Width and height, px: the sides nearer to the horizontal and to the vertical."""

_UPRIGHT = 1e-3
"""Degrees from the rows of pixels up to which a rectangle is upright."""


def extents_of(detections: sv.Detections) -> list[Extent | None]:
    """The extent of each detection, None where it has none.

    That of a mask is the smallest turned rectangle around the pixels of its largest part, at least
    1 px; without masks it is that of the box.
    """
    masks = instance_masks(detections)
    if masks is None:
        sides = as_boxes(detections.xyxy)[:, 2:] - as_boxes(detections.xyxy)[:, :2]
        return [_positive(width, height) for width, height in sides.tolist()]
    return [
        _of_pixels(outline) if len(outline) else None
        for outline in largest_polygons(masks).polygons
    ]


def extent_of_polygon(points: Any) -> Extent | None:
    """The extent of a polygon of points [x, y], px; None when it has no area.

    Raises:
        InvalidFieldValueError: it is no list of points.
    """
    try:
        corners = np.array(points, dtype=np.float64)
    except (TypeError, ValueError, OverflowError):
        corners = np.zeros(0)
    if corners.size == 0 and len(points) == 0:
        return None
    if corners.ndim != 2 or corners.shape[1] != 2 or not (abs(corners) <= FARTHEST_PLACE).all():
        raise InvalidFieldValueError(
            "Field `reference_predictions` must be detections or a polygon as a list of points "
            f"[x, y], got {short_text(points)}."
        )
    # Single precision has most digits near 0.
    return _turned((corners - corners.mean(axis=0)).astype(np.float32))


def _of_pixels(outline: NDArray[np.float32]) -> Extent:
    """The extent of what an outline through the centres of pixels encloses."""
    (width, height), angle = _sides(outline)
    # Turned sides touch pixels at the very border of an object; upright ones run half a px inside.
    border = 1.0 if min(angle % 90, 90 - angle % 90) <= _UPRIGHT else 0.0
    return max(width + border, 1.0), max(height + border, 1.0)


def _turned(points: NDArray[np.float32]) -> Extent | None:
    (width, height), _ = _sides(points)
    return _positive(width, height)


def _sides(points: NDArray[np.float32]) -> tuple[Extent, float]:
    """Sides of the smallest turned rectangle around points (n, 2), and its angle in degrees."""
    _, (first, second), angle = cv2.minAreaRect(points)
    # The angle is that of the first side; releases of OpenCV differ in its range.
    slope = angle % 180
    width, height = (first, second) if min(slope, 180 - slope) <= 45 else (second, first)
    return (float(width), float(height)), float(angle)


def _positive(width: float, height: float) -> Extent | None:
    return (width, height) if width > 0 and height > 0 else None
