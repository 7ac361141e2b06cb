"""Dense masks for the scoring of trainings."""

from __future__ import annotations

import numpy as np
import pytest

torch = pytest.importorskip("torch")

from inference_models.families.native.decoding.masks import (  # noqa: E402
    assemble_masks,
    inside_boxes,
    mask_logits,
)


class TestInsideBoxes:
    """`inside_boxes`."""

    def test_pixel_centres(self) -> None:
        """A pixel is in when its centre is; the box is half-open."""
        inside = inside_boxes(torch.tensor([[0.5, 1.6, 2.5, 3.0]]), (4, 5))[0]
        expected = np.zeros((4, 5), bool)
        expected[2, :2] = True
        assert inside.numpy().tolist() == expected.tolist()

    def test_a_box_inside_out_holds_nothing(self) -> None:
        """Crossed corners hold no pixel."""
        assert not inside_boxes(torch.tensor([[3.0, 3, 1, 1]]), (4, 4)).any()


class TestAssembleMasks:
    """`assemble_masks`."""

    def test_probabilities_are_enlarged(self) -> None:
        """The weighted sum becomes a probability on the grid, then bilinear on the canvas, then
        one above a half, all inside of the box only."""
        torch.manual_seed(0)
        prototypes, coefficients = torch.randn(4, 8, 8) * 5, torch.randn(20, 4)
        boxes = torch.tensor([[3.0, 2, 30, 25]]).repeat(20, 1)
        masks = assemble_masks(coefficients, prototypes, boxes, (32, 32))
        assert masks.dtype is torch.bool
        logits = np.einsum("nk,khw->nhw", coefficients.numpy(), prototypes.numpy())
        chances = 1 / (1 + np.exp(-logits))
        # Bilinear by hand: cell centres lie at 1.5, 5.5, ... of a canvas four times as large.
        places = np.clip((np.arange(32) + 0.5) / 4 - 0.5, 0, 7)
        low = np.minimum(places.astype(int), 6)
        matrix = np.zeros((32, 8))
        matrix[np.arange(32), low] = 1 - (places - low)
        matrix[np.arange(32), low + 1] = places - low
        enlarged = matrix @ chances @ matrix.T
        inside = np.zeros((32, 32), bool)
        inside[2:25, 3:30] = True
        doubtful = np.abs(enlarged - 0.5) < 1e-5
        expected = (enlarged > 0.5) & inside
        assert ((masks.numpy() == expected) | doubtful).all()
        assert 0.1 < expected.mean() < 0.9

    def test_no_instances(self) -> None:
        """No instance gives no mask of the canvas's size."""
        masks = assemble_masks(torch.zeros(0, 4), torch.zeros(4, 8, 8), torch.zeros(0, 4), (32, 48))
        assert masks.shape == (0, 32, 48)

    def test_logits(self) -> None:
        """The logits are the sum of the weighted prototypes."""
        logits = mask_logits(torch.tensor([[2.0, -1.0]]), torch.ones(2, 1, 3))
        assert logits.tolist() == [[[1, 1, 1]]]
