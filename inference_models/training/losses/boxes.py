"""Losses between pairs of boxes, without weights and sums."""

from __future__ import annotations

import math

import torch
from torch import Tensor

_EPS = 1e-7


def ciou(boxes: Tensor, targets: Tensor) -> Tensor:
    """Complete IoU of pairs of boxes (arXiv 2005.03572): (...,) at most 1, 1 for equal boxes.

    Args:
        boxes: (..., 4) predicted xyxy px; sides below 0 count as 0.
        targets: (..., 4) xyxy px.
    """
    inner_low = torch.maximum(boxes[..., :2], targets[..., :2])
    inner_high = torch.minimum(boxes[..., 2:], targets[..., 2:])
    inner = (inner_high - inner_low).clamp(min=0).prod(-1)
    sides = (boxes[..., 2:] - boxes[..., :2]).clamp(min=0)
    target_sides = (targets[..., 2:] - targets[..., :2]).clamp(min=0)
    union = sides.prod(-1) + target_sides.prod(-1) - inner
    iou = inner / (union + _EPS)
    outer_low = torch.minimum(boxes[..., :2], targets[..., :2])
    outer_high = torch.maximum(boxes[..., 2:], targets[..., 2:])
    diagonal = (outer_high - outer_low).square().sum(-1)
    shift = (boxes[..., :2] + boxes[..., 2:] - targets[..., :2] - targets[..., 2:]) / 2
    distance = shift.square().sum(-1)
    turn = _aspect(target_sides) - _aspect(sides)
    aspect = (4 / math.pi**2) * turn.square()
    with torch.no_grad():
        weight = aspect / (1 - iou + aspect + _EPS)
    return iou - distance / (diagonal + _EPS) - weight * aspect


def _aspect(sides: Tensor) -> Tensor:
    return torch.atan(sides[..., 0] / (sides[..., 1] + _EPS))
