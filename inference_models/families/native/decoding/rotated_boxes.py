"""Overlap and suppression of rotated boxes in numpy, exact. Knows no network and needs no torch.

A box is centre x, y, width, height and the angle in radians from the x axis towards the y axis.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

# A quadrilateral cut by four half-planes has at most eight corners.
_MAX_CORNERS = 8
_PAIRS_AT_ONCE = 1 << 16


def rotated_corners(boxes: npt.NDArray[np.floating]) -> npt.NDArray[np.float64]:
    """(n, 4, 2) corners of (n, 5) boxes, in their own frame (-w,-h), (+w,-h), (+w,+h), (-w,+h)."""
    across, along = _half_axes(np.asarray(boxes, dtype=np.float64))
    signs = np.array([[-1, -1], [1, -1], [1, 1], [-1, 1]])
    return boxes[:, None, :2] + signs[:, :1] * across[:, None] + signs[:, 1:] * along[:, None]


def rotated_iou(
    first: npt.NDArray[np.floating], second: npt.NDArray[np.floating]
) -> npt.NDArray[np.float64]:
    """(m, n) intersection over union of (m, 5) and (n, 5) boxes; 0 where both have no area.

    Pairs whose circumscribed circles do not meet are not looked at.
    """
    first, second = (np.asarray(one, dtype=np.float64).reshape(-1, 5) for one in (first, second))
    result = np.zeros((len(first), len(second)))
    radius = [np.hypot(one[:, 2], one[:, 3]) / 2 for one in (first, second)]
    gap = np.hypot(first[:, None, 0] - second[None, :, 0], first[:, None, 1] - second[None, :, 1])
    rows, columns = np.nonzero(gap < radius[0][:, None] + radius[1][None, :])
    for start in range(0, len(rows), _PAIRS_AT_ONCE):
        pair = slice(start, start + _PAIRS_AT_ONCE)
        a, b = first[rows[pair]], second[columns[pair]]
        shared = _intersection_areas(a, b)
        union = a[:, 2] * a[:, 3] + b[:, 2] * b[:, 3] - shared
        ratio = np.divide(shared, union, out=np.zeros_like(shared), where=union > 0)
        result[rows[pair], columns[pair]] = np.clip(ratio, 0.0, 1.0)
    return result


def suppress_rotated_overlaps(
    boxes: npt.NDArray[np.floating],
    scores: npt.NDArray[np.floating],
    iou_threshold: float,
    class_ids: npt.NDArray[np.integer] | None = None,
    limit: int | None = None,
) -> npt.NDArray[np.int64]:
    """Greedy suppression: a box goes when a better one that stays overlaps it by more than the
    threshold.

    Args:
        boxes: (n, 5).
        scores: (n,).
        iou_threshold: overlap up to this is allowed, 0..1.
        class_ids: (n,) boxes of different classes ignore each other; None to compare all.
        limit: most boxes to keep, all when None.

    Returns:
        Indices of the boxes that stay, (k,) int64, by falling score, equal scores by rising index.
    """
    order = np.argsort(-scores, kind="stable").astype(np.int64)
    boxes = np.asarray(boxes, dtype=np.float64)[order]
    classes = None if class_ids is None else class_ids[order]
    alive = np.ones(len(order), dtype=bool)
    kept: list[int] = []
    for index in range(len(order)):
        if limit is not None and len(kept) >= limit:
            break
        if not alive[index]:
            continue
        kept.append(index)
        rivals = index + 1 + np.flatnonzero(alive[index + 1 :])
        if classes is not None:
            rivals = rivals[classes[rivals] == classes[index]]
        overlap = rotated_iou(boxes[index : index + 1], boxes[rivals])[0]
        alive[rivals[overlap > iou_threshold]] = False
    return order[np.array(kept, dtype=np.int64)]


def _half_axes(
    boxes: npt.NDArray[np.float64],
) -> tuple[npt.NDArray[np.float64], npt.NDArray[np.float64]]:
    """(n, 2) half of the width and half of the height as vectors."""
    cos, sin = np.cos(boxes[:, 4]), np.sin(boxes[:, 4])
    half_width, half_height = boxes[:, 2] / 2, boxes[:, 3] / 2
    across = np.stack([cos * half_width, sin * half_width], 1)
    along = np.stack([-sin * half_height, cos * half_height], 1)
    return across, along


def _intersection_areas(
    first: npt.NDArray[np.float64], second: npt.NDArray[np.float64]
) -> npt.NDArray[np.float64]:
    """(p,) area common to the boxes of each pair.

    The first box is put into the frame of the second, which is an upright rectangle around 0 there,
    and cut along its four sides. Coordinates are small there wherever the pair lies, so no digits
    are lost.
    """
    local = first.copy()
    local[:, :2] -= second[:, :2]
    cos, sin = np.cos(second[:, 4]), np.sin(second[:, 4])
    dx, dy = local[:, 0].copy(), local[:, 1].copy()
    local[:, 0], local[:, 1] = cos * dx + sin * dy, -sin * dx + cos * dy
    local[:, 4] -= second[:, 4]
    polygon = np.zeros((len(first), _MAX_CORNERS, 2))
    polygon[:, :4] = rotated_corners(local)
    count = np.full(len(first), 4)
    for axis in (0, 1):
        bound = second[:, 2 + axis] / 2
        for sign in (1.0, -1.0):
            polygon, count = _cut(polygon, count, axis, sign, bound)
    return _areas(polygon, count)


def _cut(
    polygon: npt.NDArray[np.float64],
    count: npt.NDArray[np.int64],
    axis: int,
    sign: float,
    bound: npt.NDArray[np.float64],
) -> tuple[npt.NDArray[np.float64], npt.NDArray[np.int64]]:
    """The part of convex polygons where sign * coordinate <= bound."""
    slots = np.arange(_MAX_CORNERS)
    real = slots < count[:, None]
    following = np.where(slots + 1 < count[:, None], slots + 1, 0)
    after = np.take_along_axis(polygon, following[..., None], 1)
    here_past = sign * polygon[..., axis] - bound[:, None]
    after_past = sign * after[..., axis] - bound[:, None]
    stays = real & (here_past <= 0)
    crosses = real & ((here_past <= 0) != (after_past <= 0))
    span = here_past - after_past
    share = np.divide(here_past, span, out=np.zeros_like(span), where=crosses)
    crossing = polygon + share[..., None] * (after - polygon)
    # Each corner is followed by the crossing of the edge that leaves it.
    corners = np.stack([polygon, crossing], 2).reshape(len(polygon), -1, 2)
    present = np.stack([stays, crosses], 2).reshape(len(polygon), -1)
    order = np.argsort(~present, axis=1, kind="stable")[:, :_MAX_CORNERS]
    return np.take_along_axis(corners, order[..., None], 1), present.sum(1)


def _areas(
    polygon: npt.NDArray[np.float64], count: npt.NDArray[np.int64]
) -> npt.NDArray[np.float64]:
    """(p,) area of the first `count` corners of each polygon."""
    slots = np.arange(_MAX_CORNERS)
    following = np.where(slots + 1 < count[:, None], slots + 1, 0)
    after = np.take_along_axis(polygon, following[..., None], 1)
    cross = polygon[..., 0] * after[..., 1] - polygon[..., 1] * after[..., 0]
    areas: npt.NDArray[np.float64] = np.abs(np.where(slots < count[:, None], cross, 0.0).sum(1)) / 2
    return areas
