"""Moving the outlines of masks onto edges. Knows no manifest and finds no edges itself."""

from __future__ import annotations

from typing import Any, NamedTuple

import cv2
import numpy as np
from numpy.typing import NDArray

from blocks.classical_cv.mask_edge_snap.edges import Edges
from inference_models.masks import InstanceMasks

_TANGENT_REACH = 3
"""Points along the outline on either side that give its direction in a point."""
_FEWEST_POINTS = 5
"""A shorter outline has no direction to search across."""
_SLOPE = 2
"""Pixels on either side of the strongest one that belong to the same edge."""
_AGREEING = 2
"""Points on either side whose way the way of a point is the median with."""


class Search(NamedTuple):
    """Where edges are looked for.

    Attributes:
        tolerance: longest way of a point across the outline, px.
        band: distance from the outline within which edges count, px.
        least_area: pixels of a connected edge within the band from which it counts.
    """

    tolerance: int
    band: int
    least_area: float


class Snapped(NamedTuple):
    """What came of n masks, on the pixels of the image.

    Attributes:
        masks: the masks with moved outlines.
        edges: the edges that counted for each.
    """

    masks: InstanceMasks
    edges: InstanceMasks


def snap_masks(masks: InstanceMasks, edges: Edges, search: Search) -> Snapped:
    """The masks with every point of their outlines moved to the strongest edge across it.

    A point without an edge stays, and so does a mask that would lose all of its pixels. Holes are
    moved like outlines.

    Args:
        masks: n masks on the pixels of the image.
        edges: of the image.
        search: where edges are looked for.
    """
    moved, found, places = [], [], []
    for row in range(len(masks)):
        crop, near, place = _snap(masks, row, edges, search)
        moved.append(crop)
        found.append(near)
        places.append(place)
    offsets = np.array(places, np.int64).reshape(-1, 2)
    return Snapped(
        InstanceMasks.from_crops(moved, offsets, masks.image_size),
        InstanceMasks.from_crops(found, offsets, masks.image_size),
    )


def _snap(
    masks: InstanceMasks, row: int, edges: Edges, search: Search
) -> tuple[NDArray[np.uint8], NDArray[np.uint8], tuple[int, int]]:
    left, top, right, bottom = masks.boxes[row].tolist()
    nothing = np.zeros((0, 0), np.uint8)
    if right <= left:
        return nothing, nothing, (0, 0)
    height, width = masks.image_size
    margin = max(search.tolerance, search.band) + 1
    x0, y0 = max(0, left - margin), max(0, top - margin)
    x1, y1 = min(width, right + margin), min(height, bottom + margin)
    mask = np.zeros((y1 - y0, x1 - x0), np.uint8)
    mask[top - y0 : bottom - y0, left - x0 : right - x0] = masks.bitmap(row)
    found, tree = cv2.findContours(mask, cv2.RETR_CCOMP, cv2.CHAIN_APPROX_NONE)
    contours = [np.asarray(contour, np.int32) for contour in found]
    thin = _in_band(edges.thin[y0:y1, x0:x1], contours, search)
    strength = edges.strength[y0:y1, x0:x1]
    result = np.zeros_like(mask)
    holes = []
    for contour, (_, _, _, parent) in zip(contours, tree[0], strict=True):
        points = contour.reshape(-1, 2)
        snapped = _moved(points, strength, thin, search.tolerance, parent >= 0)
        if parent >= 0:
            holes.append(snapped)
        else:
            # One call an outline: together, overlaps would turn into holes.
            cv2.fillPoly(result, [snapped], 1)
    for hole in holes:
        # The outline of a hole is drawn on the mask, around the hole.
        cv2.fillPoly(result, [hole], 0)
        cv2.polylines(result, [hole], True, 1)
    return result if result.any() else mask, thin, (x0, y0)


def _in_band(
    thin: NDArray[np.uint8], contours: list[NDArray[np.int32]], search: Search
) -> NDArray[np.uint8]:
    """The edges near the outlines, without connected ones that are too small."""
    away = np.full(thin.shape, 255, np.uint8)
    cv2.drawContours(away, contours, -1, 0, 1)
    distance = cv2.distanceTransform(away, cv2.DIST_L2, cv2.DIST_MASK_PRECISE)
    near = np.where(distance <= search.band, thin, 0).astype(np.uint8)
    _, labels, statistics, _ = cv2.connectedComponentsWithStats(near, connectivity=8)
    large = statistics[:, cv2.CC_STAT_AREA] >= search.least_area
    large[0] = False
    return large[labels].astype(np.uint8)


def _moved(
    points: NDArray[np.int32],
    strength: NDArray[np.float32],
    thin: NDArray[np.uint8],
    tolerance: int,
    is_hole: bool,
) -> NDArray[np.int32]:
    """(k, 2) points, each at the strongest edge across the outline."""
    if len(points) < _FEWEST_POINTS or tolerance == 0:
        return points
    inward = _inward(points.astype(np.float64), is_hole)
    # From the nearest way on, the inner one first, so that of equal edges the first is the best.
    ways = np.array(sorted(range(-tolerance, tolerance + 1), key=lambda way: (abs(way), -way)))
    # Wider, as a slanting way may pass between two pixels of a thin edge.
    wide = cv2.dilate(thin, cv2.getStructuringElement(cv2.MORPH_CROSS, (3, 3)))
    values = _along(np.where(wide > 0, strength, 0), points, inward, ways[None, :])
    chosen = ways[values.argmax(axis=1)].astype(np.float64)
    chosen[values.max(axis=1) <= 0] = np.nan
    found = ~np.isnan(chosen)
    chosen[found] = _centred(strength, points[found], inward[found], chosen[found])
    agreed = np.clip(_agreed(chosen), -tolerance, tolerance)
    height, width = strength.shape
    target = np.clip(points + inward * agreed[:, None], 0, [width - 1, height - 1])
    return np.rint(target).astype(np.int32)


def _along(
    grid: NDArray[np.float32],
    points: NDArray[np.int32],
    inward: NDArray[np.float64],
    ways: NDArray[Any],
) -> NDArray[np.float32]:
    """(k, m) what the grid holds at m ways from each of k points, 0 beyond its border."""
    places = np.rint(points[:, None] + inward[:, None] * ways[..., None]).astype(np.int64)
    height, width = grid.shape
    inside = ((places >= 0) & (places < [width, height])).all(axis=2)
    x = np.clip(places[..., 0], 0, width - 1)
    y = np.clip(places[..., 1], 0, height - 1)
    return np.where(inside, grid[y, x], 0).astype(np.float32)


def _centred(
    strength: NDArray[np.float32],
    points: NDArray[np.int32],
    inward: NDArray[np.float64],
    chosen: NDArray[np.float64],
) -> NDArray[np.float64]:
    """(k,) ways to the outermost pixel within each edge that was chosen.

    An edge is a slope several pixels wide with the border of the object in its middle.
    """
    ways = chosen[:, None] + np.arange(-_SLOPE, _SLOPE + 1)
    weights = _along(strength, points, inward, ways).astype(np.float64) ** 2
    return (weights * ways).sum(axis=1) / weights.sum(axis=1) + 0.5


def _inward(points: NDArray[np.float64], is_hole: bool) -> NDArray[np.float64]:
    """(k, 2) unit vectors from each point of an outline into the mask; 0 where there is none."""
    reach = min(_TANGENT_REACH, (len(points) - 1) // 2)
    tangent = np.roll(points, -reach, axis=0) - np.roll(points, reach, axis=0)
    following = np.roll(points, -1, axis=0)
    turned = float((points[:, 0] * following[:, 1] - points[:, 1] * following[:, 0]).sum())
    side = 1.0 if (turned > 0) != is_hole else -1.0
    normal = np.stack([-tangent[:, 1], tangent[:, 0]], axis=1) * side
    length = np.hypot(normal[:, 0], normal[:, 1])[:, None]
    return np.divide(normal, length, out=np.zeros_like(normal), where=length > 0)


def _agreed(ways: NDArray[np.float64]) -> NDArray[np.float64]:
    """(k,) the median of each way and those beside it, 0 for points without an edge.

    A single point that found another edge than its neighbours would leave a spike.
    """
    beside = np.stack([np.roll(ways, shift) for shift in range(-_AGREEING, _AGREEING + 1)])
    known = ~np.isnan(ways)
    result = np.zeros_like(ways)
    result[known] = np.nanmedian(beside[:, known], axis=0)
    return result
