"""Quadrilaterals: reading, ordering, extending them, and the homography to a rectangle.

Knows no prediction and no manifest. Vertices are (x, y) px; an ordered quadrilateral is
(4, 2) float64 with bottom left, top left, top right, bottom right (y points down).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from numbers import Real
from typing import Any

import cv2
import numpy as np

from execution_engine.errors import InvalidFieldValueError
from execution_engine.value_text import short_text

# Side i of an ordered quadrilateral runs from vertex i to the next one.
LEFT, TOP, RIGHT, BOTTOM = range(4)


@dataclass(frozen=True, slots=True)
class Rectification:
    """How a quadrilateral becomes a rectangle.

    Attributes:
        homography: (3, 3) float64 from image px to rectangle px, scaled so that the depth (the
            third coordinate) is 1 in the middle of the quadrilateral.
        size_wh: width and height of the rectangle, px.
    """

    homography: np.ndarray
    size_wh: tuple[int, int]


def largest_quadrilateral(value: Any, where: str) -> np.ndarray | None:
    """The largest polygon of four vertices in what a field holds for one image.

    Args:
        value: one polygon or a sequence of polygons; polygons as arrays or sequences of (x, y).
        where: name of the field and element, for the message.

    Returns:
        (4, 2) float64, or None when there is no polygon at all.

    Raises:
        ValueError: there are polygons, but none of four vertices.
    """
    if not isinstance(value, (list, tuple, np.ndarray)):
        raise InvalidFieldValueError(f"{where} must hold polygons, got {type(value).__name__}.")
    if len(value) == 0:
        return None
    polygons = [value] if is_polygon(value) else list(value)
    try:
        quadrilaterals = [
            np.asarray(polygon, dtype=np.float64)
            for polygon in polygons
            if is_polygon(polygon) and len(polygon) == 4
        ]
    except OverflowError as error:
        raise InvalidFieldValueError(
            f"{where} must hold numbers that a float can hold, got {short_text(polygons)}."
        ) from error
    if not quadrilaterals:
        raise InvalidFieldValueError(
            f"{where} must hold a polygon of four points (x, y), got {_summary(polygons)}."
        )
    return max(quadrilaterals, key=lambda vertices: cv2.contourArea(vertices.astype(np.float32)))


def is_polygon(value: Any) -> bool:
    """Whether a value is a non-empty sequence of pairs of numbers."""
    if not isinstance(value, (list, tuple, np.ndarray)) or len(value) == 0:
        return False
    return all(
        isinstance(point, (list, tuple, np.ndarray))
        and len(point) == 2
        and all(isinstance(coordinate, Real) for coordinate in point)
        for point in value
    )


def order_vertices(vertices: np.ndarray) -> np.ndarray:
    """The vertices of a quadrilateral in order.

    They go round clockwise as seen in the image, beginning where they lie nearest to the corners
    bottom left, top left, top right, bottom right of their bounding box.

    Args:
        vertices: (4, 2) in any order.
    """
    low, high = vertices.min(axis=0), vertices.max(axis=0)
    around = vertices - (low + high) / 2
    clockwise = vertices[np.argsort(np.arctan2(around[:, 1], around[:, 0]), kind="stable")]
    corners = np.array([[low[0], high[1]], low, [high[0], low[1]], high])
    starts = [np.roll(clockwise, -shift, axis=0) for shift in range(4)]

    def distance_then_left(start: np.ndarray) -> tuple[float, float]:
        distance = np.linalg.norm(start - corners, axis=1).sum()
        return round(float(distance), 6), float(start[0, 0])

    return min(starts, key=distance_then_left)


def rectify(
    vertices: np.ndarray, width: int, height: int, points: np.ndarray, where: str
) -> Rectification:
    """The homography from a quadrilateral to a rectangle.

    Args:
        vertices: (4, 2) in any order.
        width: width of the rectangle, px, at least 2.
        height: height of the rectangle, px, at least 2.
        points: (n, 2) places that the quadrilateral is extended to contain: its sides move outward
            in parallel, and the rectangle grows by the same share.
        where: name of the field and element, for the message.

    Raises:
        ValueError: three of the vertices lie on one line, or the quadrilateral is not convex.
    """
    ordered = order_vertices(np.asarray(vertices, dtype=np.float64))
    _require_convex(ordered, where)
    extended, extra_wh = _extend(ordered, points)
    sides = np.linalg.norm(ordered - np.roll(ordered, -1, axis=0), axis=1)
    long_height = max(sides[LEFT], sides[RIGHT])
    long_width = max(sides[TOP], sides[BOTTOM])
    size_wh = (
        width + round(float(extra_wh[0] * width / max(long_width, 1))),
        height + round(float(extra_wh[1] * height / max(long_height, 1))),
    )
    right, bottom = size_wh[0] - 1, size_wh[1] - 1
    target = np.array([[0, bottom], [0, 0], [right, 0], [right, bottom]], dtype=np.float32)
    homography = cv2.getPerspectiveTransform(extended.astype(np.float32), target)
    centre = extended.mean(axis=0)
    return Rectification(homography / (homography[2] @ [*centre, 1]), size_wh)


def _extend(ordered: np.ndarray, points: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """The quadrilateral with its sides moved outward over the points, and by how far (x, y).

    The way is measured along a neighbouring side, in px of the image.
    """
    if len(points) == 0:
        return ordered, np.zeros(2)
    along = np.roll(ordered, -1, axis=0) - ordered
    outward = np.stack([along[:, 1], -along[:, 0]], axis=1)
    outward /= np.linalg.norm(outward, axis=1, keepdims=True)
    beyond = (points @ outward.T - (ordered * outward).sum(axis=1)).max(axis=0)
    offsets = (ordered * outward).sum(axis=1) + np.maximum(beyond, 0)
    extended = np.stack(
        [np.linalg.solve(outward[[side - 1, side]], offsets[[side - 1, side]]) for side in range(4)]
    )
    steps = np.maximum(beyond, 0)

    def way(side: int, neighbour: int) -> float:
        direction = along[neighbour] / np.linalg.norm(along[neighbour])
        return float(steps[side] / abs(direction @ outward[side]))

    extra = np.array([way(LEFT, BOTTOM) + way(RIGHT, BOTTOM), way(TOP, LEFT) + way(BOTTOM, LEFT)])
    return extended, extra


def _require_convex(ordered: np.ndarray, where: str) -> None:
    along = np.roll(ordered, -1, axis=0) - ordered
    following = np.roll(along, -1, axis=0)
    turns = along[:, 0] * following[:, 1] - along[:, 1] * following[:, 0]
    if not np.isfinite(ordered).all() or (turns <= 1e-9).any():
        raise InvalidFieldValueError(
            f"{where} must be convex with no three vertices on one line, got {ordered.tolist()}."
        )


def _summary(polygons: Sequence[Any]) -> str:
    counts = [len(polygon) if is_polygon(polygon) else None for polygon in polygons]
    if any(count is None for count in counts):
        return short_text(polygons)
    return f"polygons of {', '.join(map(str, counts))} points"
