"""Where the head's predictions stand and how its numbers become boxes and points in px.

Distances and offsets are in units of the stride of their level, everything decoded is in px of the
network's input. All functions are differentiable and keep the leading axes.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import torch
from torch import Tensor


@dataclass(frozen=True, slots=True)
class Anchors:
    """Places of all predictions, level by level, each level row by row.

    Attributes:
        points: (a, 2) centres x, y in px of the network's input.
        strides: (a, 1) px between neighbours of the same level.
    """

    points: Tensor
    strides: Tensor

    def take(self, index: Tensor) -> Anchors:
        """The anchors at some places: tensors (..., n, 2) and (..., n, 1) for an index (..., n)."""
        return Anchors(self.points[index], self.strides[index])


def make_anchors(
    sizes: Sequence[tuple[int, int]],
    strides: Sequence[int],
    dtype: torch.dtype = torch.float32,
    device: torch.device | None = None,
) -> Anchors:
    """The centres of all cells.

    Args:
        sizes: (height, width) of each level's map.
        strides: px of one cell of each level.
        dtype: type of both tensors.
        device: where they live.
    """
    points, steps = [], []
    for (height, width), stride in zip(sizes, strides, strict=True):
        y = (torch.arange(height, dtype=dtype, device=device) + 0.5) * stride
        x = (torch.arange(width, dtype=dtype, device=device) + 0.5) * stride
        grid_y, grid_x = torch.meshgrid(y, x, indexing="ij")
        points.append(torch.stack([grid_x.reshape(-1), grid_y.reshape(-1)], 1))
        steps.append(torch.full((height * width, 1), stride, dtype=dtype, device=device))
    return Anchors(torch.cat(points), torch.cat(steps))


def distances_to_boxes(distances: Tensor, anchors: Anchors) -> Tensor:
    """Boxes (..., a, 4) xyxy px from distances (..., a, 4) to the left, top, right and bottom."""
    low = anchors.points - distances[..., :2] * anchors.strides
    high = anchors.points + distances[..., 2:] * anchors.strides
    return torch.cat([low, high], -1)


def boxes_to_distances(boxes: Tensor, anchors: Anchors) -> Tensor:
    """The distances (..., a, 4) that `distances_to_boxes` turns into these boxes (..., a, 4)."""
    low = (anchors.points - boxes[..., :2]) / anchors.strides
    high = (boxes[..., 2:] - anchors.points) / anchors.strides
    return torch.cat([low, high], -1)


def offsets_to_points(offsets: Tensor, anchors: Anchors) -> Tensor:
    """Points (..., a, k, 2) px from offsets (..., a, k, 2) of each point from its anchor."""
    return anchors.points.unsqueeze(-2) + offsets * anchors.strides.unsqueeze(-2)


def turn_boxes(boxes: Tensor, angles: Tensor) -> Tensor:
    """Rotated boxes (..., 5) from upright ones (..., 4) xyxy turned about their centres.

    Args:
        boxes: xyxy, px.
        angles: (..., 1) radians from the x axis towards the y axis.

    Returns:
        Centre x, y, width, height, angle in the canonical form of `canonical_rotated_boxes`.
    """
    centres = (boxes[..., :2] + boxes[..., 2:]) / 2
    sides = boxes[..., 2:] - boxes[..., :2]
    return canonical_rotated_boxes(torch.cat([centres, sides, angles], -1))


def canonical_rotated_boxes(boxes: Tensor) -> Tensor:
    """The one way to write each rotated box (..., 5): width at least height, angle in
    [-pi/4, 3 pi/4).

    A square is the same after a quarter turn, so its angle is below pi/4. Boxes that are canonical
    come back unchanged, bit for bit.
    """
    centres, width, height, angles = boxes.split([2, 1, 1, 1], -1)
    swapped = width < height
    wide, narrow = torch.where(swapped, height, width), torch.where(swapped, width, height)
    angles = _wrap(torch.where(swapped, angles + math.pi / 2, angles))
    fold = (width == height) & (angles >= math.pi / 4)
    angles = torch.where(fold, _wrap_bounds(angles - math.pi / 2), angles)
    return torch.cat([centres, wide, narrow, angles], -1)


def _wrap(angles: Tensor) -> Tensor:
    """Angles modulo half a turn in [-pi/4, 3 pi/4); those in the range stay untouched."""
    low, high, _ = _angle_bounds(angles.dtype)
    inside = (angles >= low) & (angles < high)
    wrapped = angles - math.pi * torch.floor((angles - low) / math.pi)
    return torch.where(inside, angles, _wrap_bounds(wrapped))


def _wrap_bounds(angles: Tensor) -> Tensor:
    """Angles that rounding put past a bound, put back on it."""
    low, _, below = _angle_bounds(angles.dtype)
    return angles.clamp(low, below)


def _angle_bounds(dtype: torch.dtype) -> tuple[float, float, float]:
    """-pi/4, 3 pi/4 and the last number below it, as numbers of the type."""
    number = np.float64 if dtype is torch.float64 else np.float32
    high = number(3 * math.pi / 4)
    return float(number(-math.pi / 4)), float(high), float(np.nextafter(high, number(0)))
