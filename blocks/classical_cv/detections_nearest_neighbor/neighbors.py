"""The nearest detection of another set for each detection. Knows no manifest."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple, get_args

import numpy as np
from numpy.typing import NDArray

from blocks.kinds.detections import keys
from blocks.kinds.detections.boxes import BoxPoint, box_points
from blocks.kinds.detections.columns import select, with_columns
from execution_engine.errors import InvalidFieldValueError

if TYPE_CHECKING:
    import supervision as sv

DISTANCE = "nearest_target_distance"
KEYPOINT = "KEYPOINT"
# Targets this much farther than the nearest one are as near, px.
TIE = 1.0


class Neighbors(NamedTuple):
    """All queries with their distance, and the pairs of queries and targets, row by row."""

    queries: sv.Detections
    matched_queries: sv.Detections
    matched_targets: sv.Detections


def nearest(
    queries: sv.Detections,
    targets: sv.Detections,
    query_points: NDArray[np.float64],
    target_points: NDArray[np.float64],
    max_distance: float | None,
) -> Neighbors:
    """Each query with the targets that are nearest to it.

    A target of the same `detection_id` is the query itself and is passed over. Targets up to 1 px
    farther than the nearest one are matched too. Queries without a target have the distance NaN and
    are in no pair.

    Args:
        queries: n rows; not changed.
        targets: m rows; not changed.
        query_points: (n, 2) x, y px, NaN for queries without a point.
        target_points: (m, 2) x, y px, NaN for targets without a point.
        max_distance: px beyond which targets do not count, None for any.
    """
    gaps = query_points[:, None] - target_points[None]
    distances = np.hypot(gaps[..., 0], gaps[..., 1])
    distances[np.isnan(distances)] = np.inf
    distances[_same_ids(queries, targets)] = np.inf
    if max_distance is not None:
        distances[distances > max_distance] = np.inf
    least = distances.min(axis=1, initial=np.inf)
    rows, columns = np.nonzero(
        np.isfinite(distances) & (distances <= np.minimum(least + TIE, np.inf)[:, None])
    )
    measured = with_columns(queries, {DISTANCE: np.where(np.isfinite(least), least, np.nan)})
    return Neighbors(measured, select(measured, rows), select(targets, columns))


def _same_ids(queries: sv.Detections, targets: sv.Detections) -> NDArray[np.bool_]:
    ids, others = queries.data.get(keys.DETECTION_ID), targets.data.get(keys.DETECTION_ID)
    if ids is None or others is None:
        return np.zeros((len(queries), len(targets)), dtype=bool)
    return np.asarray(ids, str)[:, None] == np.asarray(others, str)[None]


def reference_points(
    detections: sv.Detections, point: str, keypoint_name: str | None, side: str
) -> NDArray[np.float64]:
    """(n, 2) x, y px of a point of the boxes, or of a keypoint (NaN where a row lacks it).

    Args:
        detections: n rows.
        point: name of a point of a box, or `KEYPOINT`.
        keypoint_name: name of the keypoint.
        side: `query` or `target`, for messages.

    Raises:
        ValueError: the point is not known, or there are rows but no such keypoints.
    """
    if point in get_args(BoxPoint):
        return box_points(detections.xyxy, point)  # type: ignore[arg-type]
    if point != KEYPOINT:
        raise InvalidFieldValueError(
            f"`{side}_point` must be one of {', '.join(get_args(BoxPoint))} and {KEYPOINT}, got "
            f"{point!r:.60}"
        )
    if not keypoint_name:
        raise InvalidFieldValueError(
            f"`{side}_keypoint_name` must be given when `{side}_point` is {KEYPOINT}"
        )
    if not len(detections):
        return np.zeros((0, 2))
    names = detections.data.get(keys.KEYPOINTS_CLASS_NAME)
    places = detections.data.get(keys.KEYPOINTS_XY)
    if names is None or places is None:
        raise InvalidFieldValueError(
            f"the {side} predictions have no keypoints, of which one is asked for"
        )
    points = np.full((len(detections), 2), np.nan)
    for row, (slots, xy) in enumerate(zip(names, places, strict=True)):
        found = [slot for slot, name in enumerate(slots) if str(name) == keypoint_name]
        if found:
            points[row] = np.asarray(xy, dtype=np.float64)[found[0]]
    return points
