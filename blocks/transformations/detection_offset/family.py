"""Enlarging boxes. Knows no manifest."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, Literal

import numpy as np

from blocks.kinds.detections import keys
from blocks.kinds.detections.columns import with_columns
from blocks.kinds.detections.lineage import detection_ids
from execution_engine.errors import InvalidFieldValueError

if TYPE_CHECKING:
    import supervision as sv

Units = Literal["Percent (%)", "Pixels"]


def enlarged(
    detections: sv.Detections, offset_width: float, offset_height: float, units: Units
) -> sv.Detections:
    """The detections with larger boxes, clipped to their image, as children of the given ones.

    Each side moves out by half of the offset, rounded down to whole px; a negative offset moves it
    in, at most to the middle of the box. Masks and keypoints stay. The old `detection_id` becomes
    `parent_id`, the new ids are fresh.

    Args:
        detections: n rows; not changed. Without `image_dimensions` only the left and upper edge of
            the image clip.
        offset_width: px, or percent of the width of each box.
        offset_height: px, or percent of the height of each box.
        units: unit of the offsets.

    Raises:
        ValueError: the detections have no ids, or the unit is not known.
    """
    count = len(detections)
    if count == 0:
        return detections
    require_ids(detections.data)
    boxes = np.asarray(detections.xyxy, dtype=np.float64)
    sizes = boxes[:, 2:] - boxes[:, :2]
    offsets = np.array([offset_width, offset_height])
    if units == "Pixels":
        half = np.broadcast_to(offsets // 2, sizes.shape).astype(np.float64)
    elif units == "Percent (%)":
        half = np.trunc(sizes * offsets / 200)
    else:
        raise InvalidFieldValueError(
            f'`units` must be "Percent (%)" or "Pixels", got {units!r:.60}'
        )
    half = np.maximum(half, -sizes / 2)
    corners = np.concatenate([boxes[:, :2] - half, boxes[:, 2:] + half], axis=1)
    columns: dict[str, Any] = {
        "xyxy": np.clip(corners, 0, box_limits(detections.data)).astype(np.float32),
        keys.PARENT_ID: np.asarray(detections.data[keys.DETECTION_ID]).copy(),
        keys.DETECTION_ID: detection_ids(count),
    }
    return with_columns(detections, columns)


def require_ids(data: Mapping[str, Any]) -> None:
    """Raises `ValueError` when detections have no ids to become parents by."""
    if keys.DETECTION_ID not in data:
        raise InvalidFieldValueError(
            f"the detections must carry `{keys.DETECTION_ID}` to become parents"
        )


def box_limits(data: Mapping[str, Any]) -> np.ndarray | None:
    """(n, 4) largest x, y, x, y of boxes by the sizes of their images, px; None when not known."""
    if keys.IMAGE_DIMENSIONS not in data:
        return None
    column = data[keys.IMAGE_DIMENSIONS]
    heights_widths = np.asarray(list(column), dtype=np.float64).reshape(-1, 2)
    return heights_widths[:, [1, 0, 1, 0]]
