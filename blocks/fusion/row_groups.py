"""One detection out of each group of detections of the same object. Finds no groups itself."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from blocks.kinds.detections import keys
from blocks.kinds.detections.boxes import as_boxes
from blocks.kinds.detections.columns import select
from blocks.kinds.detections.lineage import detection_ids
from blocks.kinds.detections.masks import instance_masks, mask_fields
from inference_models.masks import union

if TYPE_CHECKING:
    import supervision as sv

# Measures of a turned rectangle around one mask, which is none around the union of several.
_DROPPED = (keys.RECT, keys.WIDTH, keys.HEIGHT, keys.ANGLE)


def joined_groups(
    detections: sv.Detections,
    groups: Sequence[Sequence[int]],
    confidences: NDArray[np.floating[Any]] | None,
) -> sv.Detections:
    """One row a group: box around and union of masks of its members, the rest from its first.

    A group of one row is that row. A joined row has a fresh `detection_id`, no polygon, and an
    oriented box around the corners of all members in the direction of the first one's.

    Args:
        detections: n rows; not changed.
        groups: positions of rows; the first of a group gives class, tracker id and columns.
        confidences: one a group, None when the detections have none.

    Returns:
        New detections in the order of the groups.
    """
    import supervision as sv

    first = select(detections, np.array([group[0] for group in groups], dtype=np.int64))
    joined = np.array([len(group) > 1 for group in groups], dtype=bool)
    if not joined.any():
        return first
    members = np.concatenate([np.asarray(group, dtype=np.int64) for group in groups])
    starts = np.cumsum([0, *map(len, groups[:-1])])
    data = {key: column for key, column in first.data.items() if key not in _DROPPED}
    boxes = as_boxes(detections.xyxy)[members]
    if keys.ORIENTED_BOX in data:
        corners = np.asarray(detections.data[keys.ORIENTED_BOX], dtype=np.float64)
        data[keys.ORIENTED_BOX] = np.stack(
            [_oriented_box_around(corners[np.asarray(group)]) for group in groups]
        ).astype(np.asarray(detections.data[keys.ORIENTED_BOX]).dtype)
    if keys.POLYGON in data:
        data[keys.POLYGON] = _without(data[keys.POLYGON], joined)
    if keys.DETECTION_ID in data:
        ids = np.asarray(data[keys.DETECTION_ID]).astype(object)
        ids[joined] = detection_ids(int(joined.sum()))
        data[keys.DETECTION_ID] = ids.astype(str)
    masks = instance_masks(detections)
    mask = None
    if masks is not None:
        owners = np.repeat(np.arange(len(groups)), [len(group) for group in groups])
        of_groups = union(masks.select(members), owners)
        mask, columns = mask_fields(of_groups, keys.RLE_MASK in data)
        data.update(columns)
    around = np.concatenate(
        [
            np.minimum.reduceat(boxes[:, :2], starts, axis=0),
            np.maximum.reduceat(boxes[:, 2:], starts, axis=0),
        ],
        axis=1,
    )
    return sv.Detections(
        xyxy=around.astype(np.float32),
        mask=mask,
        confidence=confidences,
        class_id=first.class_id,
        tracker_id=first.tracker_id,
        data=data,
        metadata=dict(first.metadata),
    )


def _without(column: Any, rows: NDArray[np.bool_]) -> NDArray[np.object_]:
    """A column of outlines with None in some rows."""
    result = np.empty(len(column), dtype=object)
    for row, outline in enumerate(column):
        result[row] = None if rows[row] else outline
    return result


def _oriented_box_around(corners: NDArray[np.float64]) -> NDArray[np.float64]:
    """(4, 2) smallest rectangle in the direction of the first box around boxes (k, 4, 2)."""
    if len(corners) == 1:
        return corners[0]
    edge = corners[0, 1] - corners[0, 0]
    length = np.hypot(*edge)
    x, y = edge / length if length > 0 else np.array([1.0, 0.0])
    turn = np.array([[x, y], [-y, x]])
    turned = corners.reshape(-1, 2) @ turn.T
    low, high = turned.min(axis=0), turned.max(axis=0)
    rectangle = np.array([low, [high[0], low[1]], high, [low[0], high[1]]])
    return rectangle @ turn
