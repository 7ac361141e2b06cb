"""Task-aligned assignment, enlarged candidates and the one-to-one reduction."""

from __future__ import annotations

from typing import Any

import pytest

torch = pytest.importorskip("torch")

from inference_models.families.native.anchors import make_anchors  # noqa: E402
from inference_models.training.assignment import Assigner, pairwise_iou  # noqa: E402

# The finest level of a 640 px picture, and all levels.
FINE = make_anchors([(80, 80)], (8,))
ANCHORS = make_anchors([(80, 80), (40, 40), (20, 20)], (8, 16, 32))


def assign(
    assigner: Assigner,
    boxes: list[list[float]],
    predicted: Any = None,
    scores: Any = None,
    rotated: list[list[float]] | None = None,
    anchors: Any = ANCHORS,
) -> Any:
    """Assigns the anchors of a picture; every prediction is the first object's box."""
    count = len(anchors.points)
    wanted = torch.tensor([boxes])
    if predicted is None:
        predicted = wanted[:, :1].expand(1, count, 4)
    if scores is None:
        scores = torch.full((1, count, 2), 0.5)
    labels = torch.zeros((1, len(boxes)), dtype=torch.int64)
    present = torch.ones((1, len(boxes)), dtype=torch.bool)
    turned = None if rotated is None else torch.tensor([rotated])
    return assigner(scores, predicted, anchors.points, wanted, labels, present, turned)


def box_at(x: float, y: float, w: float, h: float) -> list[float]:
    """xyxy of a box round a centre."""
    return [x - w / 2, y - h / 2, x + w / 2, y + h / 2]


class TestEnlargedCandidates:
    # A corner shared by four cells.
    CENTRE = (104.0, 104.0)

    @pytest.mark.parametrize("sides", [(6, 6), (6, 20), (20, 6)])
    def test_small_object_gets_four_candidates(self, sides: tuple[int, int]) -> None:
        """A side below 8 px counts as 16 px, so the cells around become candidates."""
        box = box_at(*self.CENTRE, *sides)
        plain = assign(Assigner(10, small_side=0), [box], anchors=FINE)
        enlarged = assign(Assigner(10), [box], anchors=FINE)
        assert plain.positive.sum() == 0
        assert enlarged.positive.sum() == 4

    def test_only_candidacy_is_enlarged(self) -> None:
        """The object keeps its own box, and the overlap is measured with it."""
        box = box_at(*self.CENTRE, 6, 6)
        predicted = torch.tensor(box_at(*self.CENTRE, 16, 16)).expand(1, len(FINE.points), 4)
        result = assign(Assigner(10), [box], predicted, anchors=FINE)
        assert result.boxes[result.positive].unique(dim=0).tolist() == [box]
        assert result.weights.max() == pytest.approx(36 / 256, rel=1e-3)

    def test_long_sides_stay(self) -> None:
        """Of a 6 x 20 box only the short side is enlarged."""
        inside = Assigner()._inside_boxes(
            torch.tensor([[0.0, 9.9], [0.0, 10.1], [7.9, 0.0], [8.1, 0.0]]),
            torch.tensor([[box_at(0, 0, 6, 20)]]),
        )
        assert inside[0, 0].tolist() == [True, False, True, False]

    def test_edges_are_inside(self) -> None:
        """An anchor exactly on an edge is a candidate."""
        points = torch.tensor([[4.0, 4.0], [20.0, 20.0], [20.001, 20.0]])
        inside = Assigner()._inside_boxes(points, torch.tensor([[[4.0, 4.0, 20.0, 20.0]]]))
        assert inside[0, 0].tolist() == [True, True, False]


class TestCounts:
    OBJECTS = [box_at(100, 100, 90, 90), box_at(300, 100, 90, 90), box_at(300, 400, 90, 90)]

    def perfect(self) -> Any:
        """Each anchor predicts the object whose centre is nearest."""
        wanted = torch.tensor(self.OBJECTS)
        centres = (wanted[:, :2] + wanted[:, 2:]) / 2
        return wanted[torch.cdist(ANCHORS.points, centres).argmin(1)][None]

    def test_one_to_many(self) -> None:
        """Every object takes ten anchors."""
        result = assign(Assigner(10), self.OBJECTS, self.perfect())
        assert result.object_index[result.positive].bincount().tolist() == [10, 10, 10]

    def test_one_to_one(self) -> None:
        """Every object takes one anchor."""
        result = assign(Assigner(7, unique=True), self.OBJECTS, self.perfect())
        assert result.object_index[result.positive].bincount().tolist() == [1, 1, 1]

    def test_background_has_no_object(self) -> None:
        """Anchors without an object carry -1, zero boxes and zero weights."""
        result = assign(Assigner(10), self.OBJECTS, self.perfect())
        rest = ~result.positive
        assert (result.object_index[rest] == -1).all()
        assert (result.labels[rest] == -1).all()
        assert (result.boxes[rest] == 0).all()
        assert (result.weights[rest] == 0).all()

    def test_padding_takes_no_anchor(self) -> None:
        """Rows that are no objects assign nothing."""
        wanted = torch.tensor([self.OBJECTS])
        count = len(ANCHORS.points)
        result = Assigner(10)(
            torch.full((1, count, 2), 0.5),
            self.perfect(),
            ANCHORS.points,
            wanted,
            torch.zeros((1, 3), dtype=torch.int64),
            torch.tensor([[True, False, False]]),
        )
        assert set(result.object_index[result.positive].tolist()) == {0}

    def test_no_objects_at_all(self) -> None:
        """An empty batch is all background."""
        count = len(ANCHORS.points)
        result = Assigner()(
            torch.rand(2, count, 3),
            torch.rand(2, count, 4),
            ANCHORS.points,
            torch.zeros(2, 0, 4),
            torch.zeros((2, 0), dtype=torch.int64),
            torch.zeros((2, 0), dtype=torch.bool),
        )
        assert not result.positive.any()
        assert (result.object_index == -1).all()


class TestConflicts:
    # The same cell lies in both objects.
    SHARED = [box_at(36, 36, 8, 8), box_at(36, 36, 10, 10)]

    def test_better_aligned_object_wins(self) -> None:
        """An anchor wanted twice goes to the object it overlaps more."""
        predicted = torch.tensor(self.SHARED[1]).expand(1, len(FINE.points), 4)
        result = assign(Assigner(10), self.SHARED, predicted, anchors=FINE)
        assert result.object_index[result.positive].tolist() == [1]

    def test_equal_objects_go_by_order(self) -> None:
        """Of equal claims the first object's counts."""
        result = assign(Assigner(10), [self.SHARED[0], self.SHARED[0]], anchors=FINE)
        assert result.object_index[result.positive].tolist() == [0]

    def test_one_to_one_reduces_after_conflicts(self) -> None:
        """An object that loses its best anchor keeps the best of the rest."""
        first, second = box_at(36, 36, 8, 8), box_at(40, 36, 16, 8)
        anchors = torch.tensor([[36.0, 36.0], [44.0, 36.0]])
        # Both anchors predict something that the second object likes; the first anchor likes the
        # first object more.
        predicted = torch.tensor([[box_at(37, 36, 10, 8), box_at(42, 36, 20, 8)]])
        result = Assigner(7, unique=True)(
            torch.full((1, 2, 1), 0.5),
            predicted,
            anchors,
            torch.tensor([[first, second]]),
            torch.zeros((1, 2), dtype=torch.int64),
            torch.ones((1, 2), dtype=torch.bool),
        )
        assert result.object_index.tolist() == [[0, 1]]


class TestWeights:
    def test_closed_form(self) -> None:
        """The weight is t * max IoU / max t over the positives of the object."""
        box = box_at(36, 36, 16, 16)
        anchors = torch.tensor([[34.0, 34.0], [38.0, 38.0]])
        predicted = torch.tensor([[box, box_at(36, 36, 16, 8)]])
        scores = torch.tensor([[[0.25], [0.5]]])
        result = Assigner(10)(
            scores,
            predicted,
            anchors,
            torch.tensor([[box]]),
            torch.zeros((1, 1), dtype=torch.int64),
            torch.ones((1, 1), dtype=torch.bool),
        )
        metric = [0.25, 0.5 * 0.5**6]
        assert result.weights[0].tolist() == pytest.approx([1.0, metric[1] / metric[0]], rel=1e-5)


class TestRotatedCandidates:
    def test_point_must_lie_in_the_turned_box(self) -> None:
        """Corners of the upright box outside of the rotated one give no candidates."""
        box = box_at(320, 320, 120, 120)
        # A bar of 160 x 8 along the diagonal.
        turned = [320.0, 320.0, 160.0, 8.0, torch.pi / 4]
        result = assign(Assigner(1000), [box], rotated=[turned])
        points = ANCHORS.points[result.positive[0]]
        assert len(points) > 5
        away = (points[:, 0] - points[:, 1]).abs() / 2**0.5
        assert away.max() <= 4 + 1e-4


class TestPairwiseIou:
    def test_against_plain_arithmetic(self) -> None:
        """Overlap of boxes of whole numbers, counted cell by cell."""
        generator = torch.Generator().manual_seed(0)
        low = torch.randint(0, 10, (2, 5, 2), generator=generator)
        boxes = torch.cat([low, low + torch.randint(1, 10, (2, 5, 2), generator=generator)], -1)
        first, second = boxes[:, :2].float(), boxes[:, 2:].float()
        result = pairwise_iou(first, second)
        for b in range(2):
            for n in range(2):
                for a in range(3):
                    cells = []
                    for x0, y0, x1, y1 in (boxes[b, n].tolist(), boxes[b, 2 + a].tolist()):
                        cells.append({(x, y) for x in range(x0, x1) for y in range(y0, y1)})
                    expected = len(cells[0] & cells[1]) / len(cells[0] | cells[1])
                    assert float(result[b, n, a]) == pytest.approx(expected, abs=1e-6)
