"""Losses of the segmenting detector on instance masks and on the auxiliary class map."""

from __future__ import annotations

import torch
from torch import Tensor
from torch.nn import functional

from inference_models.training.assignment import Assignment


def instance_mask_loss(
    coefficients: Tensor,
    prototypes: Tensor,
    assignment: Assignment,
    masks: Tensor,
    stride: float,
    max_positives: int | None = None,
) -> Tensor:
    """Mean over the positives of the cross-entropy in the object's box, scalar.

    Without any positive it is a zero that still belongs to the graph.

    Args:
        coefficients: (b, a, k) mask coefficients.
        prototypes: (b, k, h, w).
        assignment: who is responsible for what.
        masks: (b, n, h, w) uint8 coverage of each cell, 255 for all of it.
        stride: px of a cell.
        max_positives: evenly spaced positives of the batch are used when there are more; memory and
            time grow with their number.

    Raises:
        ValueError: the masks do not lie on the prototypes' grid.
    """
    if masks.shape[-2:] != prototypes.shape[-2:]:
        raise ValueError(
            f"masks on a grid of {list(masks.shape[-2:])} do not fit prototypes on "
            f"{list(prototypes.shape[-2:])}"
        )
    picture, anchor = assignment.positive.nonzero(as_tuple=True)
    count = len(picture)
    if count == 0:
        return coefficients.sum() * 0 + prototypes.sum() * 0
    if max_positives is not None and count > max_positives:
        kept = torch.arange(max_positives, device=picture.device) * count // max_positives
        picture, anchor = picture[kept], anchor[kept]
    height, width = prototypes.shape[-2:]
    total = coefficients.new_zeros(())
    # Picture by picture, because each has its own prototypes.
    for number in range(prototypes.shape[0]):
        mine = anchor[picture == number]
        if not len(mine):
            continue
        flat = coefficients[number, mine] @ prototypes[number].flatten(1)
        logits = flat.reshape(len(mine), height, width)
        wanted = masks[number, assignment.object_index[number, mine]].to(logits.dtype) / 255
        cells = assignment.boxes[number, mine] / stride
        inside = cells_inside(cells, height, width)
        terms = functional.binary_cross_entropy_with_logits(logits, wanted, reduction="none")
        area = (cells[:, 2:] - cells[:, :2]).prod(-1).clamp(min=1)
        total = total + ((terms * inside).sum((1, 2)) / area).sum()
    return total / len(picture)


def cells_inside(boxes: Tensor, height: int, width: int) -> Tensor:
    """(n, height, width) bool, whether the centre of a cell lies in a half-open box (n, 4) in
    cells."""
    x = torch.arange(width, dtype=boxes.dtype, device=boxes.device) + 0.5
    y = torch.arange(height, dtype=boxes.dtype, device=boxes.device) + 0.5
    columns = (x >= boxes[:, 0:1]) & (x < boxes[:, 2:3])
    rows = (y >= boxes[:, 1:2]) & (y < boxes[:, 3:4])
    return rows[:, :, None] & columns[:, None, :]


def semantic_loss(logits: Tensor, masks: Tensor, labels: Tensor, present: Tensor) -> Tensor:
    """Mean cross-entropy plus mean Dice loss of the class map, scalar.

    Args:
        logits: (b, c, h, w).
        masks: (b, n, 2h, 2w) uint8 coverage, 255 for all of a cell.
        labels: (b, n) int64.
        present: (b, n) bool.
    """
    batch, classes, height, width = logits.shape
    wanted = logits.new_zeros((batch, classes, height, width))
    if masks.shape[1]:
        pooled = functional.adaptive_max_pool2d(masks.to(logits.dtype) / 255, (height, width))
        pooled = pooled * present[..., None, None]
        where = labels[..., None, None].expand_as(pooled)
        wanted = wanted.scatter_reduce(1, where, pooled, "amax")
    entropy = functional.binary_cross_entropy_with_logits(logits, wanted)
    chance = logits.sigmoid()
    shared = (chance * wanted).sum((2, 3))
    dice = 1 - (2 * shared + 1) / (chance.sum((2, 3)) + wanted.sum((2, 3)) + 1)
    return entropy + dice.mean()
