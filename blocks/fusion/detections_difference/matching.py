"""Which detections of two pictures of a scene are the same object. Knows no manifest."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from blocks.kinds.detections import keys
from blocks.kinds.detections.boxes import as_boxes, box_iou, box_points

if TYPE_CHECKING:
    import supervision as sv


class Costs(NamedTuple):
    """What a match costs.

    Attributes:
        spatial_weight: factor of the cost of the places.
        class_mismatch_penalty: added when the classes differ.
        reject_cost: pairs that cost more are no match.
        class_strict: whether different classes never match.
    """

    spatial_weight: float
    class_mismatch_penalty: float
    reject_cost: float
    class_strict: bool


def spatial_costs(first: ArrayLike, second: ArrayLike) -> NDArray[np.float64]:
    """(n, m) costs of the places of boxes (n, 4) and boxes (m, 4), xyxy.

    1 - IoU of boxes that overlap; of others 1 plus the distance of their centres over the diagonal
    of the smallest box around both.
    """
    one, other = as_boxes(first), as_boxes(second)
    iou = box_iou(one, other)
    gaps = box_points(one, "CENTER")[:, None] - box_points(other, "CENTER")[None]
    low = np.minimum(one[:, None, :2], other[None, :, :2])
    high = np.maximum(one[:, None, 2:], other[None, :, 2:])
    diagonals = np.hypot(*np.moveaxis(high - low, 2, 0))
    distances = np.hypot(*np.moveaxis(gaps, 2, 0)) / np.where(diagonals > 0, diagonals, 1)
    return np.where(iou > 0, 1 - iou, 1 + distances)


def matches(
    reference: sv.Detections, candidate: sv.Detections, costs: Costs
) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Rows of the reference and of the candidate that are the same objects, pair by pair.

    The pairs are those of the assignment with the least sum of costs, without the ones that cost
    more than `reject_cost`.
    """
    from scipy.optimize import linear_sum_assignment

    if not len(reference) or not len(candidate):
        return np.zeros(0, np.int64), np.zeros(0, np.int64)
    cost = costs.spatial_weight * spatial_costs(reference.xyxy, candidate.xyxy)
    differs = _classes(reference)[:, None] != _classes(candidate)[None]
    allowed = np.ones_like(differs)
    if costs.class_strict:
        allowed = ~differs
        # More than all allowed pairs together, so that no assignment prefers it.
        cost[differs] = cost.max() * len(cost) + 1
    else:
        cost[differs] += costs.class_mismatch_penalty
    rows, columns = linear_sum_assignment(cost)
    kept = (cost[rows, columns] <= costs.reject_cost) & allowed[rows, columns]
    return rows[kept], columns[kept]


def _classes(detections: sv.Detections) -> NDArray[np.str_]:
    names = detections.data.get(keys.CLASS_NAME)
    if names is None:
        ids = detections.class_id
        names = [""] * len(detections) if ids is None else ids.tolist()
    return np.array([str(name) for name in names])
