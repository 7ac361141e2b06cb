"""One detection out of each group that sources agree on. Finds no groups itself."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal

import numpy as np
from numpy.typing import NDArray

from blocks.kinds.detections import keys
from blocks.kinds.detections.boxes import as_boxes, box_areas
from blocks.kinds.detections.lineage import detection_ids, image_level_values, repeated
from blocks.kinds.detections.masks import mask_fields, tight_boxes
from inference_models.masks import InstanceMasks, union

if TYPE_CHECKING:
    import supervision as sv

Aggregation = Literal["average", "max", "min"]
MaskAggregation = Literal["union", "intersection", "max", "min"]


@dataclass(frozen=True, slots=True)
class Aggregations:
    """How the members of a group become one detection.

    Attributes:
        confidence: `max` and `min` also take the class of that member, `average` the most frequent
            class.
        coordinates: mean of the corners, or the largest or smallest box.
        mask: union or intersection of the masks, or the largest or smallest one.
    """

    confidence: Aggregation
    coordinates: Aggregation
    mask: MaskAggregation


def merged_groups(
    rows: sv.Detections,
    groups: Sequence[Sequence[int]],
    masks: InstanceMasks | None,
    how: Aggregations,
) -> sv.Detections:
    """One detection a group, with class, confidence, box, mask and a fresh id.

    Args:
        rows: the detections of all sources.
        groups: positions of the members of each group.
        masks: a mask a row, None to leave masks out. With masks the box is the one around the
            merged mask, as far as that has pixels.
        how: how members become one.

    Returns:
        New detections in the order of the groups, in the image of `rows`.
    """
    import supervision as sv

    count = len(groups)
    members = np.concatenate([np.zeros(0, np.int64), *map(np.asarray, groups)]).astype(np.int64)
    splits = np.cumsum([0, *map(len, groups)])
    scores = _confidence(rows)
    chosen = np.array(
        [_representative(rows, scores, group, how.confidence) for group in groups], dtype=np.int64
    )
    boxes = _boxes(as_boxes(rows.xyxy)[members], splits, how.coordinates)
    shared = image_level_values(rows)
    mask = None
    mask_columns: dict[str, Any] = {}
    if masks is not None:
        merged = _masks(masks, members, splits, how.mask)
        boxes = tight_boxes(merged, boxes).astype(np.float64)
        mask, mask_columns = mask_fields(merged, keys.RLE_MASK in rows.data)
    elif rows.mask is not None or keys.RLE_MASK in rows.data:
        shared[keys.PREDICTION_TYPE] = "object-detection"
    return sv.Detections(
        xyxy=boxes.astype(np.float32),
        mask=mask,
        confidence=_reduced(scores[members], splits, how.confidence),
        class_id=None if rows.class_id is None else rows.class_id[chosen],
        data={
            keys.CLASS_NAME: np.asarray(rows.data[keys.CLASS_NAME])[chosen],
            keys.DETECTION_ID: detection_ids(count),
            **repeated(shared, count),
            **mask_columns,
        },
        metadata={} if count else shared,
    )


def _confidence(rows: sv.Detections) -> NDArray[np.float64]:
    if rows.confidence is None:
        return np.ones(len(rows))
    return np.nan_to_num(np.asarray(rows.confidence, dtype=np.float64), nan=1.0)


def _reduced(
    values: NDArray[np.float64], splits: NDArray[np.int64], how: Aggregation
) -> NDArray[np.float64]:
    """(groups, ...) values of the members of each group made one; no group is empty."""
    if len(splits) < 2:
        return values[:0]
    if how == "max":
        return np.maximum.reduceat(values, splits[:-1], axis=0)
    if how == "min":
        return np.minimum.reduceat(values, splits[:-1], axis=0)
    sums = np.add.reduceat(values, splits[:-1], axis=0)
    sizes = np.diff(splits).astype(np.float64)
    return sums / sizes.reshape(-1, *[1] * (values.ndim - 1))


def _representative(
    rows: sv.Detections, scores: NDArray[np.float64], group: Sequence[int], how: Aggregation
) -> int:
    """Position of the member whose class the merged detection takes."""
    members = list(group)
    if len(members) == 1:
        return members[0]
    if how == "max":
        return members[int(np.argmax(scores[members]))]
    if how == "min":
        return members[int(np.argmin(scores[members]))]
    names = [rows.data[keys.CLASS_NAME][member] for member in members]
    return members[names.index(Counter(names).most_common(1)[0][0])]


def _extremes(
    sizes: NDArray[Any], splits: NDArray[np.int64], how: Literal["max", "min"]
) -> NDArray[np.int64]:
    """(groups,) position of the first largest or smallest of each group."""
    pick = np.argmax if how == "max" else np.argmin
    pairs = zip(splits[:-1].tolist(), splits[1:].tolist(), strict=True)
    return np.array([start + int(pick(sizes[start:stop])) for start, stop in pairs], np.int64)


def _boxes(
    boxes: NDArray[np.float64], splits: NDArray[np.int64], how: Aggregation
) -> NDArray[np.float64]:
    if how == "average":
        return _reduced(boxes, splits, "average")
    return boxes[_extremes(box_areas(boxes), splits, how)]


def _masks(
    masks: InstanceMasks,
    members: NDArray[np.int64],
    splits: NDArray[np.int64],
    how: MaskAggregation,
) -> InstanceMasks:
    of_members = masks.select(members)
    if how in ("max", "min"):
        return of_members.select(_extremes(of_members.areas, splits, how))
    if how == "union":
        return union(of_members, np.repeat(np.arange(len(splits) - 1), np.diff(splits)))
    crops, offsets = [], []
    for start, stop in zip(splits[:-1].tolist(), splits[1:].tolist(), strict=True):
        crop, offset = _intersection(of_members, start, stop)
        crops.append(crop)
        offsets.append(offset)
    places = np.array(offsets, dtype=np.int64).reshape(-1, 2)
    return InstanceMasks.from_crops(crops, places, masks.mask_size, masks.image_size)


def _intersection(
    masks: InstanceMasks, start: int, stop: int
) -> tuple[NDArray[np.bool_], tuple[int, int]]:
    """The pixels that all masks of a range have, as a crop and its corner (x, y)."""
    boxes = masks.boxes[start:stop]
    x0, y0 = boxes[:, :2].max(axis=0).tolist()
    x1, y1 = boxes[:, 2:].min(axis=0).tolist()
    if x1 <= x0 or y1 <= y0:
        return np.zeros((0, 0), bool), (0, 0)
    shared = np.ones((y1 - y0, x1 - x0), bool)
    for row in range(start, stop):
        left, top = masks.boxes[row, :2].tolist()
        shared &= masks.crop(row)[y0 - top : y1 - top, x0 - left : x1 - left]
    return shared, (x0, y0)
