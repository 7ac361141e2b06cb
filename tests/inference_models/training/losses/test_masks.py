"""Mask losses against loops over pixels."""

from __future__ import annotations

import math

import pytest

torch = pytest.importorskip("torch")

from inference_models.training.assignment import Assignment  # noqa: E402
from inference_models.training.losses.masks import (  # noqa: E402
    cells_inside,
    instance_mask_loss,
    semantic_loss,
)


def assignment_of(index: list[list[int]], boxes: list[list[list[float]]]) -> Assignment:
    """An assignment by object index, -1 for background."""
    number = torch.tensor(index)
    return Assignment(
        number >= 0, number, number.clamp(max=0), torch.tensor(boxes), (number >= 0).float()
    )


class TestInstanceMaskLoss:
    def test_against_a_loop(self) -> None:
        """Cross-entropy of the cells whose centres lie in the box, over the box's area."""
        generator = torch.Generator().manual_seed(0)
        prototypes = torch.randn(2, 3, 6, 8, generator=generator)
        coefficients = torch.randn(2, 2, 3, generator=generator)
        masks = torch.randint(0, 256, (2, 2, 6, 8), generator=generator).to(torch.uint8)
        nothing = [0.0, 0, 0, 0]
        boxes = [[[4.0, 4, 22, 18], nothing], [[0.0, 0, 32, 24], [5.0, 7, 13, 9]]]
        index = [[1, -1], [0, 1]]
        total = 0.0
        for b, a in ((0, 0), (1, 0), (1, 1)):
            x0, y0, x1, y1 = (value / 4 for value in boxes[b][a])
            entropy = 0.0
            for y in range(6):
                for x in range(8):
                    if not (x0 <= x + 0.5 < x1 and y0 <= y + 0.5 < y1):
                        continue
                    logit = float(coefficients[b, a] @ prototypes[b, :, y, x])
                    chance = 1 / (1 + math.exp(-logit))
                    wanted = float(masks[b, index[b][a], y, x]) / 255
                    entropy -= wanted * math.log(chance) + (1 - wanted) * math.log(1 - chance)
            total += entropy / max((x1 - x0) * (y1 - y0), 1)
        found = instance_mask_loss(coefficients, prototypes, assignment_of(index, boxes), masks, 4)
        assert float(found) == pytest.approx(total / 3, rel=1e-5)

    def test_no_positives(self) -> None:
        """A zero that still belongs to the graph."""
        coefficients = torch.ones(1, 2, 3, requires_grad=True)
        prototypes = torch.ones(1, 3, 4, 4, requires_grad=True)
        empty = assignment_of([[-1, -1]], [[[0.0] * 4] * 2])
        loss = instance_mask_loss(
            coefficients, prototypes, empty, torch.zeros((1, 0, 4, 4), dtype=torch.uint8), 4
        )
        loss.backward()
        assert float(loss.detach()) == 0
        assert coefficients.grad.abs().sum() == 0

    def test_limit_takes_evenly_spaced_positives(self) -> None:
        """With a limit of one of two positives the first counts alone."""
        generator = torch.Generator().manual_seed(1)
        prototypes = torch.randn(1, 3, 4, 4, generator=generator)
        coefficients = torch.randn(1, 2, 3, generator=generator)
        masks = torch.full((1, 1, 4, 4), 255, dtype=torch.uint8)
        box = [0.0, 0, 16, 16]
        both = assignment_of([[0, 0]], [[box, box]])
        first = assignment_of([[0, -1]], [[box, [0.0] * 4]])
        limited = instance_mask_loss(coefficients, prototypes, both, masks, 4, max_positives=1)
        assert torch.equal(limited, instance_mask_loss(coefficients, prototypes, first, masks, 4))

    def test_other_grid(self) -> None:
        """Masks on another grid than the prototypes' are refused."""
        with pytest.raises(ValueError, match="do not fit prototypes"):
            instance_mask_loss(
                torch.ones(1, 1, 3),
                torch.ones(1, 3, 4, 4),
                assignment_of([[0]], [[[0.0, 0, 4, 4]]]),
                torch.zeros((1, 1, 8, 8), dtype=torch.uint8),
                4,
            )


class TestCellsInside:
    def test_half_open(self) -> None:
        """A centre on the left edge is inside, on the right edge outside."""
        inside = cells_inside(torch.tensor([[0.5, 0.0, 2.5, 1.0]]), 2, 4)
        assert inside[0].tolist() == [[True, True, False, False], [False] * 4]


class TestSemanticLoss:
    def test_right_answer_costs_little(self) -> None:
        """Confident logits on the classes' cells cost less than the opposite."""
        masks = torch.zeros((1, 2, 4, 4), dtype=torch.uint8)
        masks[0, 0, :2, :2] = 255
        masks[0, 1, 2:, 2:] = 255
        labels = torch.tensor([[1, 0]])
        present = torch.ones((1, 2), dtype=torch.bool)
        right = torch.full((1, 2, 2, 2), -9.0)
        right[0, 1, 0, 0] = 9
        right[0, 0, 1, 1] = 9
        assert float(semantic_loss(right, masks, labels, present)) < 0.01
        assert float(semantic_loss(-right, masks, labels, present)) > 5

    def test_padding_does_not_count(self) -> None:
        """Rows that are no objects leave no mark on the class map."""
        masks = torch.full((1, 1, 4, 4), 255, dtype=torch.uint8)
        labels, absent = torch.zeros((1, 1), dtype=torch.int64), torch.tensor([[False]])
        background = torch.full((1, 1, 2, 2), -9.0)
        assert float(semantic_loss(background, masks, labels, absent)) < 0.01
