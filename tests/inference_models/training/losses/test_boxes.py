"""Losses of pairs of boxes, upright and rotated."""

from __future__ import annotations

import math

import numpy as np
import pytest

torch = pytest.importorskip("torch")

from inference_models.training.losses.boxes import ciou  # noqa: E402
from inference_models.training.losses.rotated_boxes import (  # noqa: E402
    angle_loss,
    bhattacharyya_distance,
    prob_iou_loss,
)


class TestCiou:
    def test_equal_boxes(self) -> None:
        """Equal boxes score 1."""
        boxes = torch.tensor([[3.0, 4.0, 30.0, 20.0], [0.0, 0.0, 1.0, 1.0]])
        assert torch.allclose(ciou(boxes, boxes), torch.ones(2), atol=1e-5)

    def test_closed_form(self) -> None:
        """IoU minus the distance and the aspect terms, computed by hand."""
        found = float(ciou(torch.tensor([0.0, 0, 4, 2]), torch.tensor([2.0, 0, 4, 4])))
        iou = 4 / 12
        distance = (1 + 1) / (16 + 16)
        aspect = 4 / math.pi**2 * (math.atan(0.5) - math.atan(2)) ** 2
        weight = aspect / (1 - iou + aspect)
        assert found == pytest.approx(iou - distance - weight * aspect, abs=1e-6)

    def test_gradient_of_boxes_without_area(self) -> None:
        """Collapsed and crossed boxes give finite gradients."""
        boxes = torch.tensor([[5.0, 5, 5, 5], [9, 9, 1, 1]], requires_grad=True)
        ciou(boxes, torch.tensor([[0.0, 0, 4, 4], [0, 0, 4, 4]])).sum().backward()
        assert torch.isfinite(boxes.grad).all()


class TestBhattacharyyaDistance:
    def test_reference_pair(self) -> None:
        """A pair computed independently."""
        pair = torch.tensor([3.0, 4, 9, 2, 0.4]), torch.tensor([5.0, 1, 7, 3, -0.2])
        assert float(bhattacharyya_distance(*pair)) == pytest.approx(1.8495, abs=1e-4)
        assert float(prob_iou_loss(*pair)) == pytest.approx(0.9180, abs=1e-4)

    def test_against_the_definition(self) -> None:
        """The distance of two Gaussians by matrices, in double precision."""
        rng = np.random.default_rng(0)
        for _ in range(50):
            pair = rng.uniform([-5, -5, 1, 1, -3], [5, 5, 20, 20, 3], (2, 5))
            covariances = []
            for _, _, w, h, t in pair:
                turn = np.array([[np.cos(t), -np.sin(t)], [np.sin(t), np.cos(t)]])
                covariances.append(turn @ np.diag([w * w / 12, h * h / 12]) @ turn.T)
            mean = (covariances[0] + covariances[1]) / 2
            shift = pair[0, :2] - pair[1, :2]
            dets = [np.linalg.det(one) for one in covariances]
            expected = shift @ np.linalg.solve(mean, shift) / 8
            expected += np.log(np.linalg.det(mean) / np.sqrt(dets[0] * dets[1])) / 2
            found = bhattacharyya_distance(*torch.from_numpy(pair))
            assert float(found) == pytest.approx(expected, rel=1e-9)

    def test_close_boxes_in_single_precision(self) -> None:
        """An offset of a ten-thousandth is measured, not lost in rounding."""
        first = torch.tensor([0.0, 0, 100, 50, 0.3])
        second = torch.tensor([1e-4, 0, 100, 50, 0.3])
        exact = float(bhattacharyya_distance(first.double(), second.double()))
        assert float(bhattacharyya_distance(first, second)) == pytest.approx(exact, rel=1e-3)

    def test_thin_boxes_are_finite(self) -> None:
        """A box a thousand times longer than wide gives a finite loss and gradient."""
        boxes = torch.tensor([0.0, 0, 1000, 1, 0.2], requires_grad=True)
        loss = prob_iou_loss(boxes, torch.tensor([1.0, 0, 1, 1000, 0.2]))
        loss.backward()
        assert torch.isfinite(loss)
        assert torch.isfinite(boxes.grad).all()


class TestProbIouLoss:
    def test_equal_boxes(self) -> None:
        """The loss and its gradient are exactly zero, and no square root of zero is derived."""
        boxes = torch.tensor([3.0, 4, 9, 2, 0.4], requires_grad=True)
        loss = prob_iou_loss(boxes, boxes.detach())
        loss.backward()
        assert float(loss.detach()) == 0
        assert boxes.grad.tolist() == [0] * 5


class TestAngleLoss:
    @pytest.mark.parametrize(
        ("ratio", "weight"), [(1, 1), (2, 0.948), (5, 0.750), (10, 0.555), (20, 0.369)]
    )
    def test_weight_falls_with_the_aspect_ratio(self, ratio: float, weight: float) -> None:
        """An eighth of a turn is the greatest loss, weighed by the ratio of the sides."""
        loss = angle_loss(torch.tensor(math.pi / 4), torch.tensor(0.0), torch.tensor([ratio, 1.0]))
        assert float(loss) == pytest.approx(weight, abs=1e-3)

    def test_quarter_turns_of_a_square(self) -> None:
        """Both ways to write a square cost nothing."""
        loss = angle_loss(
            torch.tensor(0.3 + math.pi / 2), torch.tensor(0.3), torch.tensor([5.0, 5])
        )
        assert float(loss) == pytest.approx(0, abs=1e-10)
