"""How much of each detection another set covers. Knows no manifest."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from blocks.kinds.detections import keys
from blocks.kinds.detections.boxes import as_boxes, box_areas, shared_areas
from blocks.kinds.detections.masks import instance_masks
from execution_engine.errors import InvalidFieldValueError
from inference_models.masks import InstanceMasks, intersection_areas

if TYPE_CHECKING:
    import supervision as sv


def overlap_records(
    reference: sv.Detections, candidate: sv.Detections, min_overlap: float
) -> list[dict[str, Any]]:
    """One record for each pair that overlaps enough, by reference, then by candidate.

    The overlap of a pair is the area both have in common over the area of the reference. Areas are
    those of masks where a set has them and of boxes otherwise; a box meets a mask in the pixels
    whose centre lies inside it.

    Args:
        reference: n rows.
        candidate: m rows on the same image.
        min_overlap: least overlap of a record, 0 to 1; pairs without any are never recorded.

    Returns:
        Records with class, confidence and, where known, `detection_id` of both, and
        `overlap_ratio`.

    Raises:
        ValueError: the masks of the two sets lie in images of different sizes.
    """
    ratios = overlap_ratios(reference, candidate)
    rows, columns = np.nonzero((ratios >= min_overlap) & (ratios > 0))
    references, candidates = _named(reference, "reference"), _named(candidate, "candidate")
    return [
        {**references[row], **candidates[column], "overlap_ratio": ratio}
        for row, column, ratio in zip(
            rows.tolist(), columns.tolist(), ratios[rows, columns].tolist(), strict=True
        )
    ]


def overlap_ratios(reference: sv.Detections, candidate: sv.Detections) -> NDArray[np.float64]:
    """(n, m) shares of each reference that each candidate covers; 0 for references without area."""
    if not len(reference) or not len(candidate):
        return np.zeros((len(reference), len(candidate)))
    masks, other_masks = instance_masks(reference), instance_masks(candidate)
    if masks is None and other_masks is None:
        shared = shared_areas(reference.xyxy, candidate.xyxy)
        areas = box_areas(reference.xyxy)
    else:
        size = (masks if masks is not None else other_masks).mask_size  # type: ignore[union-attr]
        shared = _shared_pixels(
            _boxes_as_masks(reference.xyxy, size) if masks is None else masks,
            _boxes_as_masks(candidate.xyxy, size) if other_masks is None else other_masks,
        )
        areas = box_areas(reference.xyxy) if masks is None else masks.areas.astype(np.float64)
    filled = areas > 0
    ratios = shared / np.where(filled, areas, 1)[:, None]
    return np.minimum(np.where(filled[:, None], ratios, 0), 1)


def _shared_pixels(first: InstanceMasks, second: InstanceMasks) -> NDArray[np.float64]:
    if first.mask_size != second.mask_size:
        raise InvalidFieldValueError(
            "overlaps are those of detections on one image, got masks in images of (height, width) "
            f"{first.mask_size} and {second.mask_size}"
        )
    return intersection_areas(first, second).astype(np.float64)


def _boxes_as_masks(boxes: Any, size: tuple[int, int]) -> InstanceMasks:
    """The pixels whose centres lie in boxes (n, 4) xyxy, as one run a column."""
    height, width = size
    corners = np.ceil(as_boxes(boxes) - 0.5)
    corners = np.clip(corners, 0, [width, height, width, height]).astype(np.int64)
    left, top, right, bottom = corners.T
    widths = np.where(bottom > top, np.maximum(right - left, 0), 0)
    splits = np.concatenate(([0], np.cumsum(widths)))
    box = np.repeat(np.arange(len(widths)), widths)
    column = left[box] + np.arange(len(box)) - splits[box]
    runs = np.stack([column, top[box], bottom[box]]).astype(np.int32)
    return InstanceMasks.from_runs(runs, splits, mask_size=size)


def _named(detections: sv.Detections, side: str) -> list[dict[str, Any]]:
    count = len(detections)
    names = detections.data.get(keys.CLASS_NAME)
    scores = detections.confidence
    members = {
        f"{side}_class": [None] * count if names is None else [str(name) for name in names],
        f"{side}_confidence": (
            [None] * count
            if scores is None
            else [None if score != score else score for score in scores.tolist()]
        ),
    }
    if keys.DETECTION_ID in detections.data:
        members[f"{side}_detection_id"] = [str(item) for item in detections.data[keys.DETECTION_ID]]
    return [dict(zip(members, row, strict=True)) for row in zip(*members.values(), strict=True)]
