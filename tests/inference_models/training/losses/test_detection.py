"""The loss of the branches: its units, and that broken boxes on background do not matter."""

from __future__ import annotations

from typing import Any

import pytest

torch = pytest.importorskip("torch")

from torch.nn import functional  # noqa: E402

from inference_models.families.native.anchors import (  # noqa: E402
    boxes_to_distances,
    distances_to_boxes,
    make_anchors,
)
from inference_models.training.assignment import Assigner, Assignment  # noqa: E402
from inference_models.training.losses.boxes import ciou  # noqa: E402
from inference_models.training.losses.detection import (  # noqa: E402
    Gains,
    branch_loss,
    dual_loss,
)
from inference_models.training.targets import TargetBatch, Targets  # noqa: E402


def one_object(box: list[float]) -> TargetBatch:
    """A batch of one picture with one object of class 0."""
    return TargetBatch.pad([Targets(torch.tensor([box]), torch.zeros(1, dtype=torch.int64))])


def loss_of(boxes: Any, logits: Any, points: Any, strides: Any, targets: TargetBatch) -> Any:
    """Parts of the one-to-one branch, whose single positive has the weight of its overlap."""
    answers = (logits, boxes)
    return dual_loss(answers, answers, points, strides, targets, 0.5, Gains()).one_to_one


class TestUnits:
    """The L1 part is in units of the stride; in pixels it would drown the rest."""

    def reference_state(self) -> tuple[Any, ...]:
        """Predictions of a 128 px picture that are 0.2 strides off on every side."""
        anchors = make_anchors([(16, 16), (8, 8), (4, 4)], (8, 16, 32))
        box = torch.tensor([16.0, 16, 112, 112])
        distances = boxes_to_distances(box.expand(len(anchors.points), 4), anchors)
        boxes = distances_to_boxes(distances.clamp(min=0) + 0.2, anchors)[None]
        logits = torch.full((1, len(anchors.points), 6), -4.0)
        logits[..., 0] = 1.5
        return boxes, logits, anchors, one_object(box.tolist())

    def test_reference_state_in_strides(self) -> None:
        """Four sides of 0.2 strides, weighed by the overlap (96 / 99.2)^2, make about 0.75."""
        boxes, logits, anchors, targets = self.reference_state()
        found = loss_of(boxes, logits, anchors.points, anchors.strides, targets)
        assert float(found.l1) == pytest.approx(0.7492, abs=1e-4)

    def test_reference_state_in_pixels(self) -> None:
        """The same state is 5.99 in pixels, so the test above can fail."""
        boxes, logits, anchors, targets = self.reference_state()
        found = loss_of(boxes, logits, anchors.points, torch.ones_like(anchors.strides), targets)
        assert float(found.l1) == pytest.approx(5.9938, abs=1e-3)

    @pytest.mark.parametrize("stride", [8, 16, 32])
    def test_each_level_divides_by_its_stride(self, stride: int) -> None:
        """Only the L1 part changes, and by exactly the stride."""
        points = torch.tensor([[4.0, 4.0]])
        boxes = torch.tensor([[[1.0, 0.0, 22.0, 23.0]]])
        logits = torch.zeros(1, 1, 2)
        targets = one_object([0.0, 0.0, 24.0, 24.0])
        pixels = loss_of(boxes, logits, points, torch.ones(1, 1), targets)
        strides = loss_of(boxes, logits, points, torch.full((1, 1), float(stride)), targets)
        assert float(strides.l1) == pytest.approx(float(pixels.l1) / stride, rel=1e-5)
        assert float(strides.box) == pytest.approx(float(pixels.box), rel=1e-6)
        assert float(strides.classes) == pytest.approx(float(pixels.classes), rel=1e-6)

    def test_total_is_the_sum_of_the_parts_with_their_gains(self) -> None:
        """7.5, 0.5 and 6."""
        boxes, logits, anchors, targets = self.reference_state()
        found = loss_of(boxes, logits, anchors.points, anchors.strides, targets)
        expected = 7.5 * found.box + 0.5 * found.classes + 6 * found.l1
        assert float(found.total) == pytest.approx(float(expected), rel=1e-6)


def gathered_loss(
    logits: Any, boxes: Any, strides: Any, assignment: Assignment, gains: Gains
) -> tuple[Any, ...]:
    """The same loss computed on the positives alone."""
    positive = assignment.positive
    weights = assignment.weights[positive]
    total = assignment.weights.sum().clamp(min=1)
    wanted = torch.zeros_like(logits)
    picture, anchor = positive.nonzero(as_tuple=True)
    wanted[picture, anchor, assignment.labels[positive]] = weights
    classes = functional.binary_cross_entropy_with_logits(logits, wanted, reduction="sum") / total
    box = ((1 - ciou(boxes[positive], assignment.boxes[positive])) * weights).sum() / total
    steps = strides.expand(*positive.shape, 1)[positive]
    offsets = ((boxes[positive] - assignment.boxes[positive]).abs() / steps).sum(-1)
    return box, classes, (offsets * weights).sum() / total


class TestBackground:
    """Computing all anchors and choosing afterwards is the same as gathering the positives."""

    BROKEN = [
        [5.0, 5.0, 5.0, 5.0],
        [9.0, 9.0, 1.0, 1.0],
        [0.0, 0.0, 0.0, 0.0],
        [3.0, 8.0, 3.0, 2.0],
        [float("inf"), 0.0, 1.0, 1.0],
        [float("nan"), 0.0, 1.0, 1.0],
    ]

    def random_state(self, seed: int, share: float) -> tuple[Any, ...]:
        generator = torch.Generator().manual_seed(seed)
        batch, anchors, classes, count = 3, 40, 4, 5
        low = torch.rand(batch, anchors, 2, generator=generator) * 50
        boxes = torch.cat(
            [low, low + 2 + torch.rand(batch, anchors, 2, generator=generator) * 40], -1
        )
        positive = torch.rand(batch, anchors, generator=generator) < share
        positive[1] = False
        index = torch.randint(0, count, (batch, anchors), generator=generator)
        objects = torch.rand(batch, count, 4, generator=generator) * 30
        objects[..., 2:] += objects[..., :2] + 4
        wanted = objects.gather(1, index[..., None].expand(-1, -1, 4))
        labels = torch.randint(0, classes, (batch, anchors), generator=generator)
        assignment = Assignment(
            positive,
            torch.where(positive, index, -1),
            torch.where(positive, labels, -1),
            torch.where(positive[..., None], wanted, 0.0),
            torch.where(positive, torch.rand(batch, anchors, generator=generator), 0.0),
        )
        background = (~positive).nonzero()
        for row, values in enumerate(self.BROKEN):
            picture, anchor = background[row * 7 % len(background)]
            boxes[picture, anchor] = torch.tensor(values)
        logits = torch.randn(batch, anchors, classes, generator=generator)
        strides = torch.full((anchors, 1), 8.0)
        return logits.requires_grad_(), boxes.requires_grad_(), strides, assignment

    @pytest.mark.parametrize("share", [0.3, 0.0])
    @pytest.mark.parametrize("seed", range(3))
    def test_values_and_gradients(self, seed: int, share: float) -> None:
        """Equal to the gathered form, a picture or a whole batch without objects included."""
        logits, boxes, strides, assignment = self.random_state(seed, share)
        found = branch_loss(logits, boxes, strides, assignment, Gains())
        found.total.backward()
        gradients = logits.grad.clone(), boxes.grad.clone()
        logits.grad = boxes.grad = None
        box, classes, l1 = gathered_loss(logits, boxes, strides, assignment, Gains())
        (7.5 * box + 0.5 * classes + 6 * l1).backward()
        for one, other in ((found.box, box), (found.classes, classes), (found.l1, l1)):
            assert float(one.detach()) == pytest.approx(float(other.detach()), abs=1e-6, rel=1e-5)
        assert torch.allclose(gradients[0], logits.grad, atol=1e-6)
        assert torch.isfinite(gradients[1]).all()
        assert torch.allclose(gradients[1], boxes.grad, atol=1e-6)

    def test_nothing_to_find(self) -> None:
        """A batch of background has finite parts that belong to the graph."""
        logits, boxes, strides, assignment = self.random_state(0, 0.0)
        found = branch_loss(logits, boxes, strides, assignment, Gains())
        assert float(found.box.detach()) == 0
        assert float(found.l1.detach()) == 0
        assert found.box.requires_grad
        assert found.l1.requires_grad


class TestDualLoss:
    def test_share_mixes_the_branches(self) -> None:
        """share * one-to-many + (1 - share) * one-to-one."""
        points, strides = torch.tensor([[4.0, 4.0], [12.0, 4.0]]), torch.full((2, 1), 8.0)
        targets = one_object([0.0, 0.0, 16.0, 8.0])
        many = (torch.randn(1, 2, 3), torch.tensor([[[0.0, 0, 10, 8], [2, 0, 16, 8]]]))
        one = (torch.randn(1, 2, 3), torch.tensor([[[0.0, 0, 10, 9], [2, 0, 16, 9]]]))
        found = dual_loss(many, one, points, strides, targets, 0.7, Gains())
        expected = 0.7 * found.one_to_many.total + 0.3 * found.one_to_one.total
        assert float(found.total) == pytest.approx(float(expected), rel=1e-6)
        assert int(found.many_assignment.positive.sum()) == 2
        assert int(found.one_assignment.positive.sum()) == 1

    def test_small_total_weight_is_not_amplified(self) -> None:
        """The sum of weights counts as one at least."""
        points, strides = torch.tensor([[4.0, 4.0]]), torch.full((1, 1), 8.0)
        logits, boxes = torch.full((1, 1, 1), -4.0), torch.tensor([[[0.0, 0, 4, 8]]])
        targets = one_object([0.0, 0.0, 8.0, 8.0])
        assignment = Assigner()(
            logits.sigmoid(), boxes, points, targets.boxes, targets.labels, targets.present
        )
        weight = float(assignment.weights.sum())
        found = branch_loss(logits, boxes, strides, assignment, Gains())
        assert weight < 1
        assert float(found.l1) == pytest.approx(weight * 4 / 8, rel=1e-5)
