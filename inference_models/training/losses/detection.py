"""The loss of the two branches on boxes and classes."""

from __future__ import annotations

from dataclasses import dataclass

import torch
from torch import Tensor
from torch.nn import functional

from inference_models.training.assignment import Assigner, Assignment
from inference_models.training.losses.boxes import ciou
from inference_models.training.targets import TargetBatch


@dataclass(frozen=True, slots=True)
class Gains:
    """Factors of the parts of the loss."""

    box: float = 7.5
    classes: float = 0.5
    l1: float = 6.0
    mask: float = 2.5
    semantic: float = 0.5


@dataclass(frozen=True, slots=True)
class BranchLoss:
    """Parts of one branch's loss, scalars before their gains, and their weighted sum."""

    box: Tensor
    classes: Tensor
    l1: Tensor
    total: Tensor


def branch_loss(
    logits: Tensor,
    boxes: Tensor,
    strides: Tensor,
    assignment: Assignment,
    gains: Gains,
) -> BranchLoss:
    """Loss of one branch.

    The terms of all anchors are computed, and those of anchors without an object are replaced by
    zero. They are not multiplied by zero: the boxes there may be anything, and zero times infinity
    is not a number.

    Args:
        logits: (b, a, c) class logits.
        boxes: (b, a, 4) predicted xyxy px.
        strides: (a, 1) px; the L1 part is in units of it.
        assignment: who is responsible for what.
        gains: factors of the parts.
    """
    positive, weights = assignment.positive, assignment.weights.to(logits.dtype)
    total_weight = weights.sum().clamp(min=1)
    columns = torch.arange(logits.shape[-1], device=logits.device)
    is_class = (assignment.labels[..., None] == columns) & positive[..., None]
    wanted = torch.where(is_class, weights[..., None], torch.zeros_like(logits))
    classes = functional.binary_cross_entropy_with_logits(logits, wanted, reduction="sum")
    zero = torch.zeros_like(weights)
    # Anchors without an object get a harmless pair: gradients of the unused side of `where` are
    # computed too.
    safe = torch.where(positive[..., None], boxes, torch.zeros_like(boxes))
    box_terms = torch.where(positive, (1 - ciou(safe, assignment.boxes)) * weights, zero)
    offsets = ((safe - assignment.boxes).abs() / strides).sum(-1)
    l1_terms = torch.where(positive, offsets * weights, zero)
    box, l1 = box_terms.sum() / total_weight, l1_terms.sum() / total_weight
    classes = classes / total_weight
    total = gains.box * box + gains.classes * classes + gains.l1 * l1
    return BranchLoss(box, classes, l1, total)


@dataclass(frozen=True, slots=True)
class DualLoss:
    """Loss of both branches and what each was responsible for.

    Attributes:
        total: share * one-to-many + (1 - share) * one-to-one.
        one_to_many: parts of that branch.
        one_to_one: parts of that branch.
        many_assignment: its positives, for further terms.
        one_assignment: its positives, for further terms.
    """

    total: Tensor
    one_to_many: BranchLoss
    one_to_one: BranchLoss
    many_assignment: Assignment
    one_assignment: Assignment


def dual_loss(
    many: tuple[Tensor, Tensor],
    one: tuple[Tensor, Tensor],
    points: Tensor,
    strides: Tensor,
    targets: TargetBatch,
    share: float,
    gains: Gains,
    many_assigner: Assigner | None = None,
    one_assigner: Assigner | None = None,
) -> DualLoss:
    """Loss of the branch that answers many times and the branch that answers once.

    Args:
        many: (b, a, c) logits and (b, a, 4) xyxy px boxes of the one-to-many branch.
        one: the same of the one-to-one branch.
        points: (a, 2) px.
        strides: (a, 1) px.
        targets: the objects.
        share: weight of the one-to-many branch, 0..1.
        gains: factors of the parts.
        many_assigner: rules of the one-to-many branch; ten anchors an object when None.
        one_assigner: rules of the one-to-one branch; the best of seven when None.
    """
    rules = (many_assigner or Assigner(10), one_assigner or Assigner(7, unique=True))
    parts = []
    for (logits, boxes), assigner in zip((many, one), rules, strict=True):
        assignment = assigner(
            logits.detach().sigmoid(),
            boxes.detach(),
            points,
            targets.boxes,
            targets.labels,
            targets.present,
            targets.rotated_boxes,
        )
        parts.append((branch_loss(logits, boxes, strides, assignment, gains), assignment))
    (many_loss, many_assignment), (one_loss, one_assignment) = parts
    total = share * many_loss.total + (1 - share) * one_loss.total
    return DualLoss(total, many_loss, one_loss, many_assignment, one_assignment)
