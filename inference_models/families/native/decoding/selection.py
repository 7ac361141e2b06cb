"""The answers of the one-to-one branch: the best anchors, no suppression of overlaps.

The branch is trained to answer once for each object, so nothing here compares boxes.
"""

from __future__ import annotations

from dataclasses import dataclass

import torch
from torch import Tensor
from torch.nn import functional

from inference_models.families.native.anchors import (
    Anchors,
    distances_to_boxes,
    offsets_to_points,
    turn_boxes,
)
from inference_models.families.native.head import BranchOutputs

MAX_ROWS = 300
NO_ANCHOR = -1


@dataclass(frozen=True, slots=True)
class Selection:
    """The chosen answers of b images, n rows each, by falling score.

    Attributes:
        rows: (b, n, 6) x1, y1, x2, y2, score, class; with angles (b, n, 7) centre x, y, width,
            height, angle, score, class. Lengths in px of the network's input, angles in radians.
            Rows that only fill up are zero.
        anchor: (b, n) int64 index of the anchor of each row, `NO_ANCHOR` for rows that fill up.
            Whatever else belongs to a row must be taken by this index.
    """

    rows: Tensor
    anchor: Tensor


def select_top_k(
    outputs: BranchOutputs,
    anchors: Anchors,
    max_rows: int = MAX_ROWS,
    threshold: float | None = None,
) -> Selection:
    """The `max_rows` anchors with the best class scores of each image.

    Each anchor answers with its best class only. The shape does not depend on the scores.

    Args:
        outputs: answers of a branch for b images.
        anchors: their places.
        max_rows: rows an image; the result is filled up when there are fewer anchors.
        threshold: scores below it become 0; all stay when None.
    """
    # Logits order as scores do, and tell apart what the sigmoid rounds to the same number.
    best, classes = outputs.class_logits.max(-1)
    count = min(max_rows, best.shape[1])
    logits, index = best.topk(count, 1)
    scores = logits.sigmoid()
    if threshold is not None:
        scores = torch.where(scores >= threshold, scores, torch.zeros_like(scores))
    rows = _rows(outputs, anchors, index, scores, classes.gather(1, index))
    missing = max_rows - count
    if missing:
        rows = functional.pad(rows, (0, 0, 0, missing))
        index = functional.pad(index, (0, missing), value=NO_ANCHOR)
    return Selection(rows, index)


def rows_of_anchors(
    outputs: BranchOutputs, anchors: Anchors, index: Tensor
) -> tuple[Tensor, Tensor, Tensor]:
    """Boxes, best scores and their classes at some anchors.

    Args:
        outputs: answers of a branch for b images.
        anchors: their places.
        index: (b, n) int64, no fillers.

    Returns:
        (b, n, 4) xyxy or (b, n, 5) rotated boxes, (b, n) scores, (b, n) int64 classes.
    """
    logits, classes = take_anchors(outputs.class_logits, index).max(-1)
    return _boxes(outputs, anchors, index), logits.sigmoid(), classes


def take_anchors(values: Tensor, index: Tensor) -> Tensor:
    """Values (b, a, ...) at the anchors (b, n) of each image, (b, n, ...); zero for fillers."""
    batch = torch.arange(index.shape[0], device=index.device)[:, None]
    taken = values[batch, index.clamp(min=0)]
    real = (index >= 0).reshape(*index.shape, *[1] * (values.dim() - 2))
    return torch.where(real, taken, torch.zeros_like(taken))


def keypoint_rows(outputs: BranchOutputs, anchors: Anchors, index: Tensor) -> Tensor:
    """(b, n, k, 3) x, y in px and confidence of the points of chosen anchors; zero for fillers.

    Args:
        outputs: answers of a branch for b images, with keypoints.
        anchors: their places.
        index: (b, n) anchors.
    """
    assert outputs.keypoints is not None
    assert outputs.keypoint_spreads is not None
    values = decode_keypoints(
        take_anchors(outputs.keypoints, index),
        take_anchors(outputs.keypoint_spreads, index),
        anchors.take(index.clamp(min=0)),
    )
    return torch.where((index >= 0)[..., None, None], values, torch.zeros_like(values))


def decode_keypoints(offsets: Tensor, spreads: Tensor, anchors: Anchors) -> Tensor:
    """(..., a, k, 3) x, y in px and confidence of keypoints.

    The head says how far a point may be off as a share of the object's box; the confidence is one
    minus the mean of it along x and y.

    Args:
        offsets: (..., a, k, 2) in units of the stride.
        spreads: (..., a, k, 2) logits of the standard deviations.
        anchors: the a places.
    """
    confidence = 1 - spreads.sigmoid().mean(-1, keepdim=True)
    return torch.cat([offsets_to_points(offsets, anchors), confidence], -1)


def _rows(
    outputs: BranchOutputs, anchors: Anchors, index: Tensor, scores: Tensor, classes: Tensor
) -> Tensor:
    boxes = _boxes(outputs, anchors, index)
    return torch.cat([boxes, scores[..., None], classes[..., None].to(boxes.dtype)], -1)


def _boxes(outputs: BranchOutputs, anchors: Anchors, index: Tensor) -> Tensor:
    boxes = distances_to_boxes(take_anchors(outputs.distances, index), anchors.take(index))
    if outputs.angles is None:
        return boxes
    # Distances of an untrained branch may cross; a side is never negative.
    low, high = boxes[..., :2], torch.maximum(boxes[..., :2], boxes[..., 2:])
    return turn_boxes(torch.cat([low, high], -1), take_anchors(outputs.angles, index))
