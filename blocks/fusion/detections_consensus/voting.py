"""Which detections of several sources are the same object. Merges nothing."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from blocks.kinds.detections.boxes import as_boxes, box_iou


def matching_groups(
    boxes: ArrayLike,
    sources: ArrayLike,
    classes: ArrayLike | None,
    required_votes: int,
    iou_threshold: float,
) -> list[list[int]]:
    """Groups of detections that enough sources agree on.

    Detections are taken in their order. Each asks every other source for the detection that
    overlaps it most, by more than the threshold, and is in no group yet; with enough of them it
    founds a group.

    Args:
        boxes: (n, 4) xyxy.
        sources: (n,) number of the source of each detection.
        classes: (n,) classes that must be equal in a group, None when they need not be.
        required_votes: sources that must agree, the own one included.
        iou_threshold: 0 to 1; more than this is an overlap.

    Returns:
        Positions of each group, its founder first, then by source.
    """
    corners, source_of = as_boxes(boxes), np.asarray(sources)
    class_of = None if classes is None else np.unique(np.asarray(classes), return_inverse=True)[1]
    rows, others = _overlapping_pairs(corners, source_of, class_of, iou_threshold)
    begins = np.searchsorted(rows, np.arange(len(corners) + 1)).tolist()
    other_list, other_sources = others.tolist(), source_of[others].tolist()
    grouped = [False] * len(corners)
    groups = []
    for row in range(len(corners)):
        if grouped[row]:
            continue
        group, last_source = [row], None
        for position in range(begins[row], begins[row + 1]):
            if other_sources[position] != last_source and not grouped[other_list[position]]:
                last_source = other_sources[position]
                group.append(other_list[position])
        if len(group) >= required_votes:
            for member in group:
                grouped[member] = True
            groups.append(group)
    return groups


def _overlapping_pairs(
    boxes: NDArray[np.float64],
    sources: NDArray[np.integer],
    classes: NDArray[np.integer] | None,
    threshold: float,
) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Pairs of different sources (and one class), by row, source of the other, falling overlap."""
    found: list[tuple[NDArray[Any], ...]] = []
    for members in _by_class(classes, len(boxes)):
        places = [members[sources[members] == source] for source in np.unique(sources[members])]
        for index, own in enumerate(places):
            for other in places[index + 1 :]:
                found += _pairs(boxes, own, other, threshold)
    if not found:
        nothing = np.zeros(0, np.int64)
        return nothing, nothing
    rows, others, overlaps = (np.concatenate(part) for part in zip(*found, strict=True))
    order = np.lexsort((others, -overlaps, sources[others], rows))
    return rows[order], others[order]


def _by_class(classes: NDArray[np.integer] | None, count: int) -> Sequence[NDArray[np.int64]]:
    if classes is None:
        return [np.arange(count)]
    order = np.argsort(classes, kind="stable")
    return np.split(order, np.flatnonzero(np.diff(classes[order])) + 1) if count else []


def _pairs(
    boxes: NDArray[np.float64],
    own: NDArray[np.int64],
    other: NDArray[np.int64],
    threshold: float,
) -> list[tuple[NDArray[Any], ...]]:
    iou = box_iou(boxes[own], boxes[other])
    first, second = np.nonzero(iou > threshold)
    overlaps = iou[first, second]
    one, two = own[first], other[second]
    return [(one, two, overlaps), (two, one, overlaps)]
