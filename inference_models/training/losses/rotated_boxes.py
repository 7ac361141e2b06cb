"""Losses between pairs of rotated boxes, without weights and sums.

A box is centre x, y, width, height in px and the angle in radians.
"""

from __future__ import annotations

import math

import torch
from torch import Tensor

_SMALLEST_SIDE = 1e-4
_SMALLEST_RADICAND = 1e-20
# Aspect ratio's logarithm at which the weight of the angle has fallen to 1 / e is 3.
_ASPECT_SPREAD = 9.0


def bhattacharyya_distance(boxes: Tensor, targets: Tensor) -> Tensor:
    """(...,) Bhattacharyya distance of the Gaussians of two rotated boxes; 0 for equal boxes.

    A box stands for the Gaussian with the variances of a uniform rectangle (arXiv 2106.06072). The
    form used here has no differences of nearly equal numbers, so it is exact for close boxes too.

    Args:
        boxes: (..., 5).
        targets: (..., 5).
    """
    dx, dy = (boxes[..., i] - targets[..., i] for i in (0, 1))
    (p1, q1), (p2, q2) = _deviations(boxes), _deviations(targets)
    (w1, h1), (w2, h2) = (p1.square(), q1.square()), (p2.square(), q2.square())
    u1, v1 = _own_axes(dx, dy, boxes[..., 4])
    u2, v2 = _own_axes(dx, dy, targets[..., 4])
    delta = boxes[..., 4] - targets[..., 4]
    cos2, sin2 = delta.cos().square(), delta.sin().square()
    # The inverse of the sum of both covariances is its adjugate over its determinant.
    along = h1 * u1.square() + w1 * v1.square() + h2 * u2.square() + w2 * v2.square()
    determinant = w1 * h1 + w2 * h2 + (w1 * h2 + w2 * h1) * cos2 + (w1 * w2 + h1 * h2) * sin2
    distance = along / (4 * determinant)
    spread = (
        (p1 * q1 - p2 * q2).square()
        + (p1 * q2 - p2 * q1).square() * cos2
        + (p1 * p2 - q1 * q2).square() * sin2
    ) / (4 * p1 * q1 * p2 * q2)
    return distance + torch.log1p(spread) / 2


def prob_iou_loss(boxes: Tensor, targets: Tensor) -> Tensor:
    """(...,) Hellinger distance of the Gaussians of two rotated boxes, 0 to 1.

    At equal boxes both the value and the gradient are exactly zero.

    Args:
        boxes: (..., 5).
        targets: (..., 5).
    """
    radicand = -torch.expm1(-bhattacharyya_distance(boxes, targets))
    apart = radicand > _SMALLEST_RADICAND
    root = torch.where(apart, radicand, torch.ones_like(radicand)).sqrt()
    return torch.where(apart, root, torch.zeros_like(root))


def angle_loss(angles: Tensor, targets: Tensor, sides: Tensor) -> Tensor:
    """(...,) loss of angles that counts little for square boxes' quarter turns.

    A quarter turn of a box is another box unless it is square, so the residual is folded to an
    eighth of a turn and long boxes, whose overlap already tells the angle, weigh less.

    Args:
        angles: (...,) radians.
        targets: (...,) radians.
        sides: (..., 2) width and height of the target.
    """
    residual = torch.remainder(angles - targets + math.pi / 4, math.pi / 2) - math.pi / 4
    ratio = sides.clamp(min=_SMALLEST_SIDE).log()
    weight = torch.exp(-(ratio[..., 0] - ratio[..., 1]).square() / _ASPECT_SPREAD)
    return weight * torch.sin(2 * residual).square()


def _deviations(boxes: Tensor) -> tuple[Tensor, Tensor]:
    """Standard deviations along the two axes of a box."""
    spread = boxes[..., 2:4].clamp(min=_SMALLEST_SIDE) / math.sqrt(12)
    return spread[..., 0], spread[..., 1]


def _own_axes(dx: Tensor, dy: Tensor, angle: Tensor) -> tuple[Tensor, Tensor]:
    cos, sin = angle.cos(), angle.sin()
    return dx * cos + dy * sin, dy * cos - dx * sin
