"""Keypoints of one object that several crops saw. Knows no boxes and no masks."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from blocks.kinds.detections import keys

COLUMNS = (
    keys.KEYPOINTS_XY,
    keys.KEYPOINTS_CONFIDENCE,
    keys.KEYPOINTS_CLASS_ID,
    keys.KEYPOINTS_CLASS_NAME,
)
Point = dict[str, Any]


def joined_keypoints(
    data: dict[str, Any],
    groups: Sequence[Sequence[int]],
    distance: float,
    confidence_of: Callable[[Any], Any],
) -> dict[str, np.ndarray]:
    """Keypoint columns of one row a group, with the points of all its members.

    Points of one name that lie within a distance of each other become one, in their middle and
    with a confidence made of theirs. Without keypoint columns there are none.

    Args:
        data: columns of detections.
        groups: positions of rows.
        distance: px up to which points of one name are the same point.
        confidence_of: makes one confidence of several.
    """
    if any(key not in data for key in COLUMNS):
        return {}
    rows = []
    for group in groups:
        points = [point for row in group for point in _points(data, row)]
        rows.append(_joined(points, distance, confidence_of) if len(group) > 1 else points)
    slots = max(map(len, rows), default=0)
    shape = (len(rows), slots)
    xy = np.zeros((*shape, 2), np.asarray(data[keys.KEYPOINTS_XY]).dtype)
    confidences = np.zeros(shape, np.float64)
    class_ids = np.zeros(shape, np.int64)
    names = [[""] * slots for _ in rows]
    for row, points in enumerate(rows):
        for slot, point in enumerate(points):
            xy[row, slot] = point["xy"]
            confidences[row, slot] = point["confidence"]
            class_ids[row, slot] = point["class_id"]
            names[row][slot] = point["name"]
    columns = (xy, confidences, class_ids, np.array(names, dtype=str).reshape(shape))
    return dict(zip(COLUMNS, columns, strict=True))


def _points(data: dict[str, Any], row: int) -> list[Point]:
    """The points of one row; slots with an empty name only pad the row."""
    return [
        {"xy": np.asarray(xy, np.float64), "confidence": score, "class_id": class_id, "name": name}
        for xy, score, class_id, name in zip(*(data[key][row] for key in COLUMNS), strict=True)
        if name
    ]


def _joined(
    points: Sequence[Point], distance: float, confidence_of: Callable[[Any], Any]
) -> list[Point]:
    """The points with those of one name that are near each other made one, by falling score."""
    left = sorted(points, key=lambda point: -point["confidence"])
    result = []
    while left:
        best = left[0]
        same = [
            point
            for point in left
            if point["name"] == best["name"] and np.hypot(*(point["xy"] - best["xy"])) <= distance
        ]
        result.append(
            {
                **best,
                "xy": np.mean([point["xy"] for point in same], axis=0),
                "confidence": float(confidence_of([point["confidence"] for point in same])),
            }
        )
        left = [point for point in left if not any(point is other for other in same)]
    return sorted(result, key=lambda point: point["class_id"])
