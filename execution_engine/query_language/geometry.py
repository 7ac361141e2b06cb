"""Points against polygons and boxes, vectorised. No detection type is known here."""

from __future__ import annotations

from typing import Any

import numpy as np


def as_point(value: Any) -> np.ndarray:
    """A point `[x, y]` as (1, 2) float64 px.

    Raises:
        ValueError: the value is no point.
    """
    try:
        point = np.asarray(value, dtype=np.float64)
    except (TypeError, ValueError) as error:
        raise ValueError(
            f"a point must be two numbers [x, y], got {type(value).__name__}"
            " (take one of a detection with ExtractDetectionProperty, such as its `center`)"
        ) from error
    if point.shape != (2,):
        raise ValueError(f"a point must be two numbers [x, y], got an array of shape {point.shape}")
    return point[None]


def as_polygon(value: Any) -> np.ndarray:
    """A polygon as (k, 2) float64 px, k >= 3, not closed.

    Raises:
        ValueError: the value is no list of at least three points.
    """
    try:
        polygon = np.asarray(value, dtype=np.float64)
    except (TypeError, ValueError) as error:
        raise ValueError("a zone must be a list of points [[x, y], ...]") from error
    if polygon.ndim != 2 or polygon.shape[1] != 2 or len(polygon) < 3:
        raise ValueError(
            "a zone must be a list of at least three points [[x, y], ...], "
            f"got an array of shape {polygon.shape}"
        )
    return polygon


def points_in_polygon(points: np.ndarray, polygon: np.ndarray) -> np.ndarray:
    """Which points lie strictly inside a polygon; a point on an edge or a vertex does not.

    Even-odd rule: a ray from the point to the right crosses the outline an odd number of times.

    Args:
        points: (n, 2) px.
        polygon: (k, 2) px, any orientation, may intersect itself.

    Returns:
        (n,) bool.
    """
    x, y = points[:, :1], points[:, 1:]
    ends = np.roll(polygon, -1, axis=0)
    x_1, y_1 = polygon[:, 0], polygon[:, 1]
    x_2, y_2 = ends[:, 0], ends[:, 1]
    # Twice the area of (edge start, edge end, point): its sign is the side of the edge, zero is on
    # its line.
    side = (x_2 - x_1) * (y - y_1) - (x - x_1) * (y_2 - y_1)
    above_start, above_end = y_1 > y, y_2 > y
    crossed = (above_start != above_end) & ((side > 0) == (y_2 > y_1))
    on_edge = (
        (side == 0)
        & (np.minimum(x_1, x_2) <= x)
        & (x <= np.maximum(x_1, x_2))
        & (np.minimum(y_1, y_2) <= y)
        & (y <= np.maximum(y_1, y_2))
    )
    odd = np.logical_xor.reduce(crossed, axis=1)
    return np.logical_and(odd, ~on_edge.any(axis=1))


def points_in_boxes(points: np.ndarray, boxes: np.ndarray) -> np.ndarray:
    """Which points lie in at least one box, edges included.

    Args:
        points: (n, 2) px.
        boxes: (m, 4) xyxy px.

    Returns:
        (n,) bool.
    """
    x, y = points[:, :1], points[:, 1:]
    inside = (boxes[:, 0] <= x) & (x <= boxes[:, 2]) & (boxes[:, 1] <= y) & (y <= boxes[:, 3])
    return np.logical_or.reduce(inside, axis=1)
