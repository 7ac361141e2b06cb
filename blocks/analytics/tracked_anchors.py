"""Where tracked objects are: their ids and one place of each. Counts and times nothing."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Literal, get_args

import numpy as np
from numpy.typing import NDArray

from blocks.kinds.detections.boxes import box_points
from blocks.kinds.detections.masks import instance_masks
from blocks.parameters import choice
from execution_engine.errors import InvalidFieldValueError
from execution_engine.value_text import short_text

if TYPE_CHECKING:
    import supervision as sv

    from inference_models.masks import InstanceMasks

AnchorName = Literal[
    "CENTER", "CENTER_LEFT", "CENTER_RIGHT", "TOP_CENTER", "TOP_LEFT", "TOP_RIGHT", "BOTTOM_LEFT",
    "BOTTOM_CENTER", "BOTTOM_RIGHT", "CENTER_OF_MASS",
]  # fmt: skip
CORNERS = ("TOP_LEFT", "TOP_RIGHT", "BOTTOM_LEFT", "BOTTOM_RIGHT")
_CENTER_OF_MASS = "CENTER_OF_MASS"
_NAMES = {name: name for name in get_args(AnchorName)}


def tracker_ids(detections: sv.Detections) -> NDArray[np.int64]:
    """(n,) ids of tracks; negative where a track is not confirmed yet.

    Raises:
        ValueError: there are rows without ids; a tracker must come before.
    """
    if detections.tracker_id is None:
        if len(detections):
            raise ValueError(
                "the detections have no tracker ids; put a tracker, such as byte_tracker, before "
                "this step"
            )
        return np.zeros(0, np.int64)
    return np.asarray(detections.tracker_id, np.int64)


def anchor_points(detections: sv.Detections, anchor: str) -> NDArray[np.float64]:
    """(n, 2) x, y of a place of each object, px, from the box as it is, also beyond the image.

    The centre of mass is the mean of the pixels of the mask, or the centre of the box where the
    mask has none.

    Raises:
        InvalidFieldValueError: there is no such anchor, or it needs masks and there are none.
    """
    name = choice("triggering_anchor", anchor, _NAMES)
    if name != _CENTER_OF_MASS:
        return box_points(detections.xyxy, name)
    centres = box_points(detections.xyxy, "CENTER")
    if not len(detections):
        return centres
    masks = instance_masks(detections)
    if masks is None:
        raise InvalidFieldValueError(
            "CENTER_OF_MASS is a place of masks, and the detections have none; use CENTER"
        )
    return _centres_of_mass(masks, centres)


def number_pairs(field: str, value: Any, fewest: int) -> NDArray[np.float64]:
    """(k, 2) x, y of the points of a field, px.

    Raises:
        InvalidFieldValueError: it is no list of pairs of finite numbers, or there are fewer than
            `fewest`.
    """
    try:
        points = np.asarray(value, np.float64)
    except (TypeError, ValueError, OverflowError):
        points = np.zeros(0)
    if points.ndim != 2 or points.shape[1] != 2 or not np.isfinite(points).all():
        raise InvalidFieldValueError(
            f"Field `{field}` must be a list of points [x, y], got {short_text(value)}"
        )
    if len(points) < fewest:
        raise InvalidFieldValueError(
            f"Field `{field}` must have at least {fewest} points, got {len(points)}"
        )
    return points


def _centres_of_mass(masks: InstanceMasks, otherwise: NDArray[np.float64]) -> NDArray[np.float64]:
    columns, tops, bottoms = masks.runs.astype(np.float64)
    lengths = bottoms - tops
    owners = np.repeat(np.arange(len(masks.boxes)), np.diff(masks.splits))
    count = len(masks.boxes)
    areas = np.bincount(owners, lengths, count)
    x = np.bincount(owners, lengths * columns, count)
    y = np.bincount(owners, lengths * (tops + bottoms - 1) / 2, count)
    filled = areas > 0
    centres = otherwise.copy()
    for axis, sums in enumerate((x, y)):
        corner = masks.boxes[filled, axis]
        centres[filled, axis] = sums[filled] / areas[filled] + corner
    return centres
