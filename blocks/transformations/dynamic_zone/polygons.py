"""Convex polygons with a given number of corners around outlines. Knows no detections."""

from __future__ import annotations

import math
from typing import NamedTuple

import cv2
import numpy as np
from numpy.typing import NDArray

_HALVINGS = 32
_PARALLEL = 1e-6

Polygon = NDArray[np.float64]


class Simplified(NamedTuple):
    """A polygon (k, 2) x, y and whether simplification alone gave its number of corners."""

    polygon: Polygon
    converged: bool


def convex_hull(outline: NDArray[np.number]) -> Polygon:
    """The corners of the convex hull of points (n, 2), from the topmost one down the left side.

    Of several topmost corners the leftmost is the first. Points on a line give its two ends.
    """
    points = np.ascontiguousarray(outline, dtype=np.float32)
    # OpenCV means the direction with y pointing up.
    hull = np.asarray(cv2.convexHull(points, clockwise=True), dtype=np.float64).reshape(-1, 2)
    corners = hull.tolist()
    first = min(range(len(corners)), key=lambda index: (corners[index][1], corners[index][0]))
    return np.concatenate([hull[first:], hull[:first]])


def simplified(hull: Polygon, corners: int) -> Simplified:
    """A convex polygon with so many corners out of the corners of a hull.

    Douglas-Peucker simplification (Ramer 1972; Douglas and Peucker 1973), with the tolerance found
    by bisection. Where no tolerance gives the number, the corner whose removal costs least area
    goes until it is reached; a hull with too few corners gets new ones in the middle of its longest
    sides.

    Args:
        hull: (k, 2) convex polygon, k >= 1.
        corners: number of corners, at least 3.
    """
    if len(hull) == corners:
        return Simplified(hull, True)
    if len(hull) < corners:
        return Simplified(_with_middles(hull, corners), False)
    closed = hull.astype(np.float32).reshape(-1, 1, 2)
    low, high = 0.0, float(np.ptp(hull, axis=0).max())
    nearest = hull
    for _ in range(_HALVINGS):
        tolerance = (low + high) / 2
        found = np.asarray(cv2.approxPolyDP(closed, tolerance, True)).reshape(-1, 2)
        if len(found) == corners:
            return Simplified(_in_order_of(hull, found.astype(np.float64)), True)
        if len(found) > corners:
            low, nearest = tolerance, found.astype(np.float64)
        else:
            high = tolerance
    return Simplified(_without_flattest(_in_order_of(hull, nearest), corners), False)


def _in_order_of(hull: Polygon, corners: Polygon) -> Polygon:
    """Some corners of a hull in the hull's order."""
    position = {tuple(corner): index for index, corner in enumerate(hull.tolist())}
    return corners[np.argsort([position[tuple(corner)] for corner in corners.tolist()])]


def _with_middles(polygon: Polygon, corners: int) -> Polygon:
    while len(polygon) < corners:
        sides = np.roll(polygon, -1, axis=0) - polygon
        longest = int(np.argmax(np.hypot(sides[:, 0], sides[:, 1])))
        middle = polygon[longest] + sides[longest] / 2
        polygon = np.insert(polygon, longest + 1, middle, axis=0)
    return polygon


def _without_flattest(polygon: Polygon, corners: int) -> Polygon:
    while len(polygon) > corners:
        before, after = np.roll(polygon, 1, axis=0), np.roll(polygon, -1, axis=0)
        one, other = polygon - before, after - before
        cost = np.abs(one[:, 0] * other[:, 1] - one[:, 1] * other[:, 0])
        polygon = np.delete(polygon, int(np.argmin(cost)), axis=0)
    return polygon


def fitted(polygon: Polygon, outline: Polygon, middle_share: float) -> Polygon:
    """The polygon whose sides are lines fitted to the parts of an outline between its corners.

    Each side is the line with the least sum of squared distances to the vertices of the outline
    between the two corners; neighbouring lines meet in the new corners. A corner between parallel
    lines stays.

    Args:
        polygon: (k, 2) corners, in the direction of the outline.
        outline: (n, 2) vertices of the closed outline, px.
        middle_share: 0 to 1, the middle part of those vertices that counts.
    """
    at = [int(np.argmin(np.square(outline - corner).sum(axis=1))) for corner in polygon]
    lines = [
        _line(_between(outline, start, stop), middle_share, fallback)
        for start, stop, fallback in zip(
            at,
            [*at[1:], at[0]],
            zip(polygon, [*polygon[1:], polygon[0]], strict=True),
            strict=True,
        )
    ]
    return np.array(
        [_crossing(lines[index - 1], lines[index], polygon[index]) for index in range(len(polygon))]
    )


def _between(points: Polygon, start: int, stop: int) -> Polygon:
    """Points of a closed outline from one to another, both included."""
    count = len(points)
    return points[(start + np.arange((stop - start) % count + 1)) % count]


def _line(points: Polygon, middle_share: float, fallback: tuple[Polygon, Polygon]) -> Polygon:
    """A line as a point and a direction (2, 2)."""
    left_out = int(len(points) * (1 - middle_share) / 2)
    middle = points[left_out : len(points) - left_out]
    if len(middle) < 2 or not np.ptp(middle, axis=0).any():
        return np.stack([fallback[0], fallback[1] - fallback[0]])
    dx, dy, x, y = (
        np.asarray(cv2.fitLine(middle.astype(np.float32), cv2.DIST_L2, 0, 0.01, 0.01))
        .reshape(4)
        .tolist()
    )
    return np.array([[x, y], [dx, dy]])


def _crossing(first: Polygon, second: Polygon, otherwise: Polygon) -> Polygon:
    (x, y), (dx, dy) = first.tolist()
    (other_x, other_y), (other_dx, other_dy) = second.tolist()
    across = dx * other_dy - dy * other_dx
    if abs(across) <= _PARALLEL * math.hypot(dx, dy) * math.hypot(other_dx, other_dy):
        return otherwise
    along = ((other_x - x) * other_dy - (other_y - y) * other_dx) / across
    return np.array([x + dx * along, y + dy * along])


def scaled(polygon: Polygon, ratio: float) -> Polygon:
    """The polygon larger or smaller by a factor around the mean of its corners."""
    centre = polygon.mean(axis=0)
    return centre + (polygon - centre) * ratio
