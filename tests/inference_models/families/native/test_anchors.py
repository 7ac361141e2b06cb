"""Anchors and what the head's numbers become."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

torch = pytest.importorskip("torch")

from inference_models.families.native.anchors import (  # noqa: E402
    Anchors,
    boxes_to_distances,
    canonical_rotated_boxes,
    distances_to_boxes,
    make_anchors,
    offsets_to_points,
    turn_boxes,
)
from inference_models.families.native.decoding.rotated_boxes import rotated_corners  # noqa: E402

LOW, HIGH = float(np.float32(-math.pi / 4)), float(np.float32(3 * math.pi / 4))


class TestMakeAnchors:
    """`make_anchors`."""

    @pytest.mark.parametrize(("side", "count"), [(640, 8400), (320, 2100), (160, 525)])
    def test_counts(self, side: int, count: int) -> None:
        """Three levels together have the known number of anchors."""
        sizes = [(side // stride, side // stride) for stride in (8, 16, 32)]
        assert make_anchors(sizes, (8, 16, 32)).points.shape == (count, 2)

    def test_places(self) -> None:
        """Centres of cells, row by row, level by level."""
        anchors = make_anchors([(1, 2), (1, 1)], (8, 16))
        assert anchors.points.tolist() == [[4, 4], [12, 4], [8, 8]]
        assert anchors.strides.tolist() == [[8], [8], [16]]

    def test_take(self) -> None:
        """Some anchors of each image, by an index with a batch axis."""
        anchors = make_anchors([(1, 2), (1, 1)], (8, 16)).take(torch.tensor([[2, 0], [1, 1]]))
        assert anchors.points.tolist() == [[[8, 8], [4, 4]], [[12, 4], [12, 4]]]
        assert anchors.strides.tolist() == [[[16], [8]], [[8], [8]]]


class TestDistances:
    """`distances_to_boxes` and its inverse."""

    def test_formula(self) -> None:
        """A distance of one is a stride."""
        anchors = make_anchors([(1, 2), (1, 1)], (8, 16))
        boxes = distances_to_boxes(torch.tensor([[1.0, 0, 0.5, 2]] * 3), anchors)
        assert boxes.tolist() == [[-4, 4, 8, 20], [4, 4, 16, 20], [-8, 8, 16, 40]]

    def test_round_trip(self) -> None:
        """Boxes become distances and the same boxes again, with leading axes."""
        anchors = make_anchors([(4, 4), (2, 2)], (8, 16))
        boxes = torch.rand(3, 20, 4) * 30
        torch.testing.assert_close(
            distances_to_boxes(boxes_to_distances(boxes, anchors), anchors), boxes
        )


class TestOffsetsToPoints:
    """`offsets_to_points`."""

    def test_formula(self) -> None:
        """Points stand at the anchor plus their offset in strides."""
        anchors = Anchors(torch.tensor([[4.0, 12.0]]), torch.tensor([[8.0]]))
        points = offsets_to_points(torch.tensor([[[[0.0, 0.0], [1.0, -0.5]]]]), anchors)
        assert points.tolist() == [[[[4, 12], [12, 8]]]]


class TestCanonicalRotatedBoxes:
    """`canonical_rotated_boxes`."""

    @given(
        st.lists(
            st.tuples(
                st.floats(0, 500, width=32),
                st.floats(0, 500, width=32),
                st.floats(-20, 20, width=32),
            ),
            min_size=1,
            max_size=20,
        )
    )
    @settings(deadline=None, max_examples=60)
    def test_same_rectangle_in_canonical_form(
        self, sides: list[tuple[float, float, float]]
    ) -> None:
        """The corners stay the same set, width is at least height, the angle is in its range, and
        a second time changes nothing, bit for bit."""
        boxes = torch.tensor([[50, 60, *one] for one in sides], dtype=torch.float32)
        canonical = canonical_rotated_boxes(boxes)
        assert (canonical[:, 2] >= canonical[:, 3]).all()
        angles = canonical[:, 4]
        assert ((angles >= LOW) & (angles < HIGH)).all()
        square = canonical[:, 2] == canonical[:, 3]
        assert (angles[square] < math.pi / 4).all()
        assert torch.equal(canonical_rotated_boxes(canonical), canonical)
        before, after = rotated_corners(boxes.numpy()), rotated_corners(canonical.numpy())
        gaps = np.linalg.norm(before[:, :, None] - after[:, None], axis=-1)
        assert gaps.min(axis=1).max() < 2e-3
        assert gaps.min(axis=2).max() < 2e-3

    @pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
    @pytest.mark.parametrize("bound", [-math.pi / 4, 3 * math.pi / 4])
    def test_bounds(self, dtype: torch.dtype, bound: float) -> None:
        """Two steps to each side of both bounds, angles come out in range and stay there."""
        angle = torch.tensor(bound, dtype=dtype)
        row = []
        for goal in (-10.0, 10.0):
            near = angle.clone()
            for _ in range(3):
                row.append(near)
                near = torch.nextafter(near, torch.tensor(goal, dtype=dtype))
        boxes = torch.tensor([[0, 0, 4, 2, 0]] * len(row), dtype=dtype)
        boxes[:, 4] = torch.stack(row)
        once = canonical_rotated_boxes(boxes)
        low = torch.tensor(-math.pi / 4, dtype=dtype)
        high = torch.tensor(3 * math.pi / 4, dtype=dtype)
        assert ((once[:, 4] >= low) & (once[:, 4] < high)).all()
        assert torch.equal(canonical_rotated_boxes(once), once)

    def test_swapped_sides(self) -> None:
        """A box that is higher than wide is turned by a quarter."""
        box = canonical_rotated_boxes(torch.tensor([[0.0, 0, 2, 6, 0.25]]))[0]
        assert box.tolist() == pytest.approx([0, 0, 6, 2, 0.25 + math.pi / 2])


class TestTurnBoxes:
    """`turn_boxes`."""

    def test_about_the_centre(self) -> None:
        """The upright rectangle is turned about its own centre."""
        box = turn_boxes(torch.tensor([[2.0, 4, 12, 8]]), torch.tensor([[0.5]]))
        assert box.tolist() == [[7, 6, 10, 4, 0.5]]
