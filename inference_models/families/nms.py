"""Non-maximum suppression of upright boxes, in numpy. Deterministic: of equals the one with the
lower index stays."""

from __future__ import annotations

import numpy as np

_BLOCK = 64


def suppress_overlaps(
    boxes: np.ndarray,
    scores: np.ndarray,
    iou_threshold: float,
    class_ids: np.ndarray | None = None,
    limit: int | None = None,
) -> np.ndarray:
    """Greedy suppression: a box goes when a better one that stays overlaps it by more than the
    threshold.

    Boxes are taken in blocks: a block is first compared with all that stay so far, then inside
    itself, so that the work is in a few matrices and ends as soon as `limit` boxes stay.

    Args:
        boxes: (n, 4) xyxy; the unit does not matter.
        scores: (n,).
        iou_threshold: overlap up to this is allowed, 0..1.
        class_ids: (n,) boxes of different classes ignore each other; None to compare all.
        limit: most boxes to keep, all when None.

    Returns:
        Indices of the boxes that stay, (k,) int64, by falling score, equal scores by rising index.
    """
    order = np.argsort(-scores, kind="stable")
    count = len(order) if limit is None else min(limit, len(order))
    # Double precision: areas of boxes of some thousand px do not fit into float32 exactly.
    sorted_boxes = boxes[order].astype(np.float64)
    sorted_classes = None if class_ids is None else class_ids[order]
    kept: list[np.ndarray] = []
    kept_count = 0
    for start in range(0, len(order), _BLOCK):
        if kept_count >= count:
            break
        block = np.arange(start, min(start + _BLOCK, len(order)))
        if kept:
            before = np.concatenate(kept)
            hidden = _overlaps(sorted_boxes, sorted_classes, before, block, iou_threshold)
            block = block[~hidden.any(axis=0)]
        inside = _overlaps(sorted_boxes, sorted_classes, block, block, iou_threshold)
        stays = _resolve(inside)
        kept.append(block[stays])
        kept_count += int(stays.sum())
    if not kept:
        return np.zeros(0, dtype=np.int64)
    return order[np.concatenate(kept)[:count]]


def _resolve(overlaps: np.ndarray) -> np.ndarray:
    """Which boxes of a block stay, given which overlap which, in the order of the scores."""
    stays = np.ones(len(overlaps), dtype=bool)
    # Only boxes that overlap a later one can hide anything.
    later = np.triu(overlaps, 1)
    for index in np.flatnonzero(later.any(axis=1)):
        if stays[index]:
            stays &= ~later[index]
    return stays


def _overlaps(
    boxes: np.ndarray,
    class_ids: np.ndarray | None,
    first: np.ndarray,
    second: np.ndarray,
    iou_threshold: float,
) -> np.ndarray:
    """(len(first), len(second)) bool: intersection over union above the threshold, and the same
    class."""
    a, b = boxes[first][:, None, :], boxes[second][None, :, :]
    width = np.minimum(a[..., 2], b[..., 2]) - np.maximum(a[..., 0], b[..., 0])
    height = np.minimum(a[..., 3], b[..., 3]) - np.maximum(a[..., 1], b[..., 1])
    intersection = np.maximum(width, 0.0) * np.maximum(height, 0.0)
    areas = (boxes[:, 2] - boxes[:, 0]) * (boxes[:, 3] - boxes[:, 1])
    union = areas[first][:, None] + areas[second][None, :] - intersection
    # Written as a product so that boxes without an area need no division; two equal ones are one
    # object.
    overlaps = intersection > iou_threshold * union
    flat = union <= 0.0
    if flat.any():
        overlaps |= flat & (a == b).all(axis=-1)
    if class_ids is not None:
        overlaps &= class_ids[first][:, None] == class_ids[second][None, :]
    return overlaps
