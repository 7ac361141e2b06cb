"""Which detections are the same object seen twice: suppression and merging. Moves nothing."""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal

import numpy as np
from numpy.typing import NDArray

from blocks.fusion.row_groups import joined_groups
from blocks.kinds.detections import keys
from blocks.kinds.detections.boxes import as_boxes, box_areas, box_iou
from blocks.kinds.detections.columns import select
from blocks.kinds.detections.masks import instance_masks
from execution_engine.errors import InvalidFieldValueError
from execution_engine.value_text import short_text
from inference_models.families.nms import suppress_overlaps
from inference_models.masks import InstanceMasks, mask_iou, union

if TYPE_CHECKING:
    import supervision as sv

OverlapFilter = Literal["none", "nms", "nmm"]


def filter_overlaps(
    detections: sv.Detections, strategy: OverlapFilter, iou_threshold: float
) -> sv.Detections:
    """The detections without repetitions of one object.

    Only detections of one class (by `class_id`) can repeat each other. What overlaps is measured by
    masks, by oriented boxes (`xyxyxyxy`) or by boxes, in this order. Of equal scores the earlier
    row counts as better.

    Args:
        detections: n rows; not changed.
        strategy: `nms` drops a detection that overlaps a better one by more than the threshold;
            `nmm` joins the best detection with those that overlap it by at least the threshold (and
            at all), with masks also those that overlap the union so far; `none` changes nothing.
        iou_threshold: 0 to 1.

    Returns:
        New detections in the order of their best rows.

    Raises:
        ValueError: the strategy is not known or the threshold is out of range.
    """
    if strategy not in ("none", "nms", "nmm"):
        raise InvalidFieldValueError(
            f"`overlap_filtering_strategy` must be none, nms or nmm, got {strategy!r:.60}"
        )
    if not 0 <= iou_threshold <= 1:
        raise InvalidFieldValueError(
            f"`iou_threshold` must lie in 0 to 1, got {short_text(iou_threshold)}"
        )
    if strategy == "none" or len(detections) < 2:
        return detections
    scores = _scores(detections)
    if strategy == "nms":
        return select(detections, np.sort(_best_rows(detections, scores, iou_threshold)))
    groups = _groups(detections, scores, iou_threshold)
    return joined_groups(detections, groups, _joined_confidence(detections, groups))


def _scores(detections: sv.Detections) -> NDArray[np.float64]:
    """(n,) confidence; rows without one come last."""
    if detections.confidence is None:
        return np.zeros(len(detections))
    scores = np.asarray(detections.confidence, dtype=np.float64)
    return np.where(np.isnan(scores), -np.inf, scores)


def _classes(detections: sv.Detections) -> list[NDArray[np.int64]]:
    """The rows of each class."""
    if detections.class_id is None:
        return [np.arange(len(detections))]
    return [np.flatnonzero(detections.class_id == item) for item in np.unique(detections.class_id)]


def _best_rows(
    detections: sv.Detections, scores: NDArray[np.float64], threshold: float
) -> NDArray[np.int64]:
    masks = instance_masks(detections)
    if masks is None and keys.ORIENTED_BOX not in detections.data:
        return suppress_overlaps(as_boxes(detections.xyxy), scores, threshold, detections.class_id)
    kept = []
    for rows in _classes(detections):
        iou = _pairwise_iou(detections, masks, rows)
        order = np.argsort(-scores[rows], kind="stable")
        hidden = np.zeros(len(rows), dtype=bool)
        for index in order:
            if not hidden[index]:
                kept.append(rows[index])
                hidden |= iou[index] > threshold
    return np.array(kept, dtype=np.int64)


def _pairwise_iou(
    detections: sv.Detections, masks: InstanceMasks | None, rows: NDArray[np.int64]
) -> NDArray[np.float64]:
    if masks is not None:
        own = masks.select(rows)
        return mask_iou(own, own)
    if keys.ORIENTED_BOX in detections.data:
        import supervision as sv

        corners = np.asarray(detections.data[keys.ORIENTED_BOX], dtype=np.float64)[rows]
        return np.asarray(sv.oriented_box_iou_batch(corners, corners), dtype=np.float64)
    return box_iou(detections.xyxy[rows], detections.xyxy[rows])


def _groups(
    detections: sv.Detections, scores: NDArray[np.float64], threshold: float
) -> list[list[int]]:
    """Rows of one object each, the best first; groups in the order of their best rows."""
    masks = instance_masks(detections)
    groups: list[list[int]] = []
    for rows in _classes(detections):
        iou = _pairwise_iou(detections, masks, rows)
        order = np.argsort(-scores[rows], kind="stable")
        left = np.ones(len(rows), dtype=bool)
        for best in order:
            if not left[best]:
                continue
            left[best] = False
            group = [int(best)]
            near = left & (iou[best] >= threshold) & (iou[best] > 0)
            while near.any():
                group += [int(index) for index in order if near[index]]
                left &= ~near
                if masks is None or not left.any():
                    break
                near = _near_union(masks, rows, group, left, threshold)
            groups.append([int(rows[index]) for index in group])
    return sorted(groups, key=lambda group: group[0])


def _near_union(
    masks: InstanceMasks,
    rows: NDArray[np.int64],
    group: list[int],
    left: NDArray[np.bool_],
    threshold: float,
) -> NDArray[np.bool_]:
    """Which of the rows that are left overlap the union of a group."""
    whole = union(masks.select(rows[group]))
    candidates = np.flatnonzero(left)
    iou = mask_iou(whole, masks.select(rows[candidates]))[0]
    near = np.zeros_like(left)
    near[candidates] = (iou >= threshold) & (iou > 0)
    return near


def _joined_confidence(
    detections: sv.Detections, groups: list[list[int]]
) -> NDArray[np.floating] | None:
    """Mean confidence of each group weighted by the areas of the boxes."""
    if detections.confidence is None:
        return None
    areas = box_areas(detections.xyxy)
    values = [
        np.average(detections.confidence[group], weights=areas[group])
        if areas[group].sum() > 0
        else detections.confidence[group[0]]
        for group in groups
    ]
    return np.array(values, dtype=detections.confidence.dtype)
