"""Arithmetic on upright boxes, many at once. Knows nothing of detections."""

from __future__ import annotations

from typing import Literal

import numpy as np
from numpy.typing import ArrayLike, NDArray

BoxPoint = Literal[
    "CENTER",
    "CENTER_LEFT",
    "CENTER_RIGHT",
    "TOP_CENTER",
    "TOP_LEFT",
    "TOP_RIGHT",
    "BOTTOM_LEFT",
    "BOTTOM_CENTER",
    "BOTTOM_RIGHT",
]

# Share of the width and of the height between a box's top left corner and a named point of it.
_SHARES: dict[str, tuple[float, float]] = {
    "CENTER": (0.5, 0.5),
    "CENTER_LEFT": (0, 0.5),
    "CENTER_RIGHT": (1, 0.5),
    "TOP_CENTER": (0.5, 0),
    "TOP_LEFT": (0, 0),
    "TOP_RIGHT": (1, 0),
    "BOTTOM_LEFT": (0, 1),
    "BOTTOM_CENTER": (0.5, 1),
    "BOTTOM_RIGHT": (1, 1),
}


def as_boxes(boxes: ArrayLike) -> NDArray[np.float64]:
    """Boxes (n, 4) xyxy in double precision; areas of large boxes do not fit into float32."""
    return np.asarray(boxes, dtype=np.float64).reshape(-1, 4)


def box_areas(boxes: ArrayLike) -> NDArray[np.float64]:
    """(n,) areas of boxes (n, 4) xyxy, px^2."""
    corners = as_boxes(boxes)
    return (corners[:, 2] - corners[:, 0]) * (corners[:, 3] - corners[:, 1])


def box_points(boxes: ArrayLike, name: BoxPoint) -> NDArray[np.float64]:
    """(n, 2) x, y of a named point of boxes (n, 4) xyxy."""
    corners = as_boxes(boxes)
    return corners[:, :2] + (corners[:, 2:] - corners[:, :2]) * np.array(_SHARES[name])


def shared_areas(first: ArrayLike, second: ArrayLike) -> NDArray[np.float64]:
    """(n, m) areas that boxes (n, 4) and boxes (m, 4), xyxy, have in common, px^2."""
    one, other = as_boxes(first), as_boxes(second)
    sides = []
    for low, high in ((0, 2), (1, 3)):
        side = np.minimum.outer(one[:, high], other[:, high])
        side -= np.maximum.outer(one[:, low], other[:, low])
        sides.append(np.maximum(side, 0, out=side))
    return np.multiply(sides[0], sides[1], out=sides[0])


def box_iou(first: ArrayLike, second: ArrayLike) -> NDArray[np.float64]:
    """(n, m) intersection over union of boxes (n, 4) and boxes (m, 4), xyxy.

    Two boxes without an area have 1 when they are the same and 0 otherwise.
    """
    shared = shared_areas(first, second)
    union = np.add.outer(box_areas(first), box_areas(second))
    union -= shared
    flat = union <= 0
    if flat.any():
        same = (as_boxes(first)[:, None] == as_boxes(second)[None]).all(axis=2)
        return np.where(flat, same, shared / np.where(flat, 1, union))
    return np.divide(shared, union, out=shared)


def bounds(boxes: ArrayLike) -> NDArray[np.float64]:
    """(4,) xyxy of the smallest box around boxes (n, 4), n > 0."""
    corners = as_boxes(boxes)
    return np.concatenate([corners[:, :2].min(axis=0), corners[:, 2:].max(axis=0)])
