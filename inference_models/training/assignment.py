"""Which prediction is responsible for which object: task-aligned assignment with enlarged
candidates for small objects. No loss is computed here.

The alignment metric is that of TOOD (arXiv 2108.07755); the one-to-one reduction follows the dual
assignment of arXiv 2405.14458.
"""

from __future__ import annotations

from dataclasses import dataclass

import torch
from torch import Tensor

_EPS = 1e-9


@dataclass(frozen=True, slots=True)
class Assignment:
    """Result for b pictures and a anchors.

    Attributes:
        positive: (b, a) bool, whether an anchor is responsible for an object.
        object_index: (b, a) int64 row of the object in its picture, -1 without one.
        labels: (b, a) int64 class of the object, -1 without one.
        boxes: (b, a, 4) float32 xyxy px of the object, zeros without one.
        weights: (b, a) float32 alignment of the prediction with its object, 0 without one.
    """

    positive: Tensor
    object_index: Tensor
    labels: Tensor
    boxes: Tensor
    weights: Tensor


@dataclass(frozen=True, slots=True)
class Assigner:
    """The rules of an assignment.

    Attributes:
        top_k: most anchors an object may take.
        unique: whether each object keeps only its best anchor.
        score_power: exponent of the class score in the metric.
        iou_power: exponent of the overlap in the metric.
        small_side: sides below this many px count as `enlarged_side` when candidates are sought.
        enlarged_side: px.
    """

    top_k: int = 10
    unique: bool = False
    score_power: float = 1.0
    iou_power: float = 6.0
    small_side: float = 8.0
    enlarged_side: float = 16.0

    @torch.no_grad()
    def __call__(
        self,
        scores: Tensor,
        boxes: Tensor,
        points: Tensor,
        object_boxes: Tensor,
        object_labels: Tensor,
        present: Tensor,
        rotated_boxes: Tensor | None = None,
    ) -> Assignment:
        """Assigns anchors to objects.

        Args:
            scores: (b, a, c) class probabilities.
            boxes: (b, a, 4) predicted xyxy px.
            points: (a, 2) anchor centres px.
            object_boxes: (b, n, 4) xyxy px.
            object_labels: (b, n) int64.
            present: (b, n) bool, false for padding.
            rotated_boxes: (b, n, 5) px and radians; candidates must then lie in these.
        """
        batch, anchors = scores.shape[:2]
        if object_boxes.shape[1] == 0:
            return _nothing(batch, anchors, boxes)
        if rotated_boxes is None:
            inside = self._inside_boxes(points, object_boxes)
        else:
            inside = self._inside_rotated(points, rotated_boxes)
        inside &= present[..., None]
        labels = object_labels.clamp(min=0)[..., None].expand(-1, -1, anchors)
        object_scores = scores.transpose(1, 2).gather(1, labels)
        overlap = pairwise_iou(object_boxes, boxes)
        metric = object_scores**self.score_power * overlap**self.iou_power
        metric = torch.where(inside, metric, torch.zeros_like(metric))

        k = min(self.top_k, anchors)
        best = metric.topk(k, dim=2).indices
        chosen = torch.zeros_like(inside).scatter_(2, best, True) & inside
        chosen = _resolve_conflicts(chosen, metric)
        if self.unique:
            chosen = _keep_best(chosen, metric)

        positive = chosen.any(1)
        index = torch.where(positive, chosen.to(torch.int8).argmax(1), -1)
        safe = index.clamp(min=0)
        got_labels = torch.where(positive, object_labels.gather(1, safe), -1)
        got_boxes = object_boxes.gather(1, safe[..., None].expand(-1, -1, 4))
        got_boxes = torch.where(positive[..., None], got_boxes, torch.zeros_like(got_boxes))

        zero = torch.zeros_like(metric)
        metric = torch.where(chosen, metric, zero)
        overlap = torch.where(chosen, overlap, zero)
        scaled = metric * (overlap.amax(2, True) / (metric.amax(2, True) + _EPS))
        return Assignment(positive, index, got_labels, got_boxes, scaled.amax(1))

    def _enlarge(self, sides: Tensor) -> Tensor:
        return torch.where(
            sides < self.small_side, torch.full_like(sides, self.enlarged_side), sides
        )

    def _inside_boxes(self, points: Tensor, boxes: Tensor) -> Tensor:
        """(b, n, a) bool: anchors in the boxes, small sides enlarged, edges inclusive."""
        centre, sides = (boxes[..., :2] + boxes[..., 2:]) / 2, boxes[..., 2:] - boxes[..., :2]
        enlarged = self._enlarge(sides)
        small = enlarged != sides
        # Sides that are long enough keep their exact edges.
        low = torch.where(small, centre - enlarged / 2, boxes[..., :2])
        high = torch.where(small, centre + enlarged / 2, boxes[..., 2:])
        x, y = points[:, 0], points[:, 1]
        in_x = (x >= low[..., 0:1]) & (x <= high[..., 0:1])
        in_y = (y >= low[..., 1:2]) & (y <= high[..., 1:2])
        return in_x & in_y

    def _inside_rotated(self, points: Tensor, boxes: Tensor) -> Tensor:
        half = self._enlarge(boxes[..., 2:4]) / 2
        cos, sin = boxes[..., 4:5].cos(), boxes[..., 4:5].sin()
        dx = points[:, 0] - boxes[..., 0:1]
        dy = points[:, 1] - boxes[..., 1:2]
        along = (dx * cos + dy * sin).abs()
        across = (dy * cos - dx * sin).abs()
        return (along <= half[..., 0:1]) & (across <= half[..., 1:2])


def pairwise_iou(objects: Tensor, boxes: Tensor) -> Tensor:
    """(b, n, a) intersection over union of (b, n, 4) with (b, a, 4) xyxy boxes."""
    x0 = torch.maximum(objects[:, :, None, 0], boxes[:, None, :, 0])
    y0 = torch.maximum(objects[:, :, None, 1], boxes[:, None, :, 1])
    x1 = torch.minimum(objects[:, :, None, 2], boxes[:, None, :, 2])
    y1 = torch.minimum(objects[:, :, None, 3], boxes[:, None, :, 3])
    inner = (x1 - x0).clamp_(min=0) * (y1 - y0).clamp_(min=0)
    object_area = _area(objects)[:, :, None]
    box_area = _area(boxes)[:, None, :]
    return inner / (object_area + box_area - inner + _EPS)


def _area(boxes: Tensor) -> Tensor:
    return (boxes[..., 2:] - boxes[..., :2]).clamp(min=0).prod(-1)


def _resolve_conflicts(chosen: Tensor, metric: Tensor) -> Tensor:
    """An anchor that several objects want goes to the best aligned one, the first of equals."""
    wanted = torch.where(chosen, metric, torch.full_like(metric, -1.0))
    winner = wanted.argmax(1, keepdim=True)
    return torch.zeros_like(chosen).scatter_(1, winner, True) & chosen


def _keep_best(chosen: Tensor, metric: Tensor) -> Tensor:
    """Each object keeps the best of the anchors it still has."""
    wanted = torch.where(chosen, metric, torch.full_like(metric, -1.0))
    best = wanted.argmax(2, keepdim=True)
    return torch.zeros_like(chosen).scatter_(2, best, True) & chosen


def _nothing(batch: int, anchors: int, like: Tensor) -> Assignment:
    index = torch.full((batch, anchors), -1, dtype=torch.int64, device=like.device)
    return Assignment(
        positive=torch.zeros((batch, anchors), dtype=torch.bool, device=like.device),
        object_index=index,
        labels=index.clone(),
        boxes=torch.zeros((batch, anchors, 4), dtype=like.dtype, device=like.device),
        weights=torch.zeros((batch, anchors), dtype=like.dtype, device=like.device),
    )
