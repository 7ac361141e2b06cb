"""Overlap of rotated boxes. Needs no torch."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from inference_models.families.native.decoding.rotated_boxes import (
    rotated_corners,
    rotated_iou,
    suppress_rotated_overlaps,
)
from inference_models.predictions.detections import OrientedDetections

# Area common to two squares of side 2 of which one is turned by an eighth.
OCTAGON = 8 * (math.sqrt(2) - 1)


def _random_boxes(rng: np.random.Generator, count: int, shift: float = 0.0) -> np.ndarray:
    return np.column_stack(
        [
            rng.uniform(0, 40, (count, 2)) + shift,
            rng.uniform(1, 40, (count, 2)),
            rng.uniform(-4, 4, count),
        ]
    )


class TestRotatedCorners:
    """`rotated_corners`."""

    def test_order(self) -> None:
        """Corners go round the box from the one at minus width, minus height."""
        corners = rotated_corners(np.array([[10, 20, 6, 2, math.pi / 2]]))[0]
        np.testing.assert_allclose(corners, [[11, 17], [11, 23], [9, 23], [9, 17]], atol=1e-12)

    def test_agrees_with_the_predictions(self) -> None:
        """The corners are those of `OrientedDetections.from_xywhr`."""
        boxes = _random_boxes(np.random.default_rng(0), 5).astype(np.float32)
        found = OrientedDetections.from_xywhr(
            boxes, confidence=np.ones(5), class_id=np.zeros(5), image_size=(9, 9)
        )
        np.testing.assert_allclose(found.corners, rotated_corners(boxes), atol=1e-4)


class TestRotatedIou:
    """`rotated_iou`."""

    @pytest.mark.parametrize("shift", [0.0, 1e5])
    def test_against_shapely(self, shift: float) -> None:
        """The overlap is that of the polygons, near the origin and far from it."""
        geometry = pytest.importorskip("shapely.geometry")
        rng = np.random.default_rng(2)
        first, second = _random_boxes(rng, 40, shift), _random_boxes(rng, 30, shift)
        found = rotated_iou(first, second)
        polygons = [
            [geometry.Polygon(corners - shift) for corners in rotated_corners(boxes)]
            for boxes in (first, second)
        ]
        expected = np.array(
            [[a.intersection(b).area / a.union(b).area for b in polygons[1]] for a in polygons[0]]
        )
        assert (expected > 0).mean() > 0.3
        np.testing.assert_allclose(found, expected, atol=1e-6)

    @given(
        st.floats(0.5, 50),
        st.floats(0.5, 50),
        st.floats(-7, 7),
        st.floats(-3, 3),
        st.floats(0.2, 9),
    )
    @settings(deadline=None, max_examples=80)
    def test_turning_and_scaling_both_changes_nothing(
        self, width: float, height: float, angle: float, turn: float, scale: float
    ) -> None:
        """The overlap of two boxes is the same after both are turned about 0 and scaled."""
        pair = np.array([[0.0, 0, width, height, angle], [1, -0.5, height, width, angle / 2]])
        cos, sin = math.cos(turn), math.sin(turn)
        moved = pair.copy()
        moved[:, :2] = pair[:, :2] @ np.array([[cos, sin], [-sin, cos]]) * scale
        moved[:, 2:4] *= scale
        moved[:, 4] += turn
        np.testing.assert_allclose(
            rotated_iou(pair[:1], pair[1:]), rotated_iou(moved[:1], moved[1:]), atol=1e-9
        )

    @pytest.mark.parametrize(
        ("first", "second", "expected"),
        [
            ([5, 5, 4, 2, 0.3], [5, 5, 4, 2, 0.3], 1.0),
            ([5, 5, 4, 2, 0.3], [5, 5, 2, 4, 0.3 + math.pi / 2], 1.0),
            ([5, 5, 4, 2, 0.3], [5, 5, 4, 2, 0.3 + math.pi], 1.0),
            ([0, 0, 2, 2, 0], [1, 0, 2, 2, 0], 1 / 3),
            ([0, 0, 2, 2, 0], [2, 0, 2, 2, 0], 0.0),
            ([0, 0, 10, 10, 0.2], [0, 0, 2, 2, 1.1], 0.04),
            ([0, 0, 2, 2, 0], [0, 0, 2, 2, math.pi / 4], OCTAGON / (8 - OCTAGON)),
            ([0, 0, 0, 0, 0], [0, 0, 0, 0, 0], 0.0),
            ([0, 0, 4, 0, 1], [0, 0, 4, 4, 0], 0.0),
        ],
    )  # fmt: skip
    def test_known_pairs(self, first: list[float], second: list[float], expected: float) -> None:
        """Equal, touching, nested, turned and empty boxes."""
        found = rotated_iou(np.array([first]), np.array([second]))
        assert found[0, 0] == pytest.approx(expected, abs=1e-9)

    def test_no_boxes(self) -> None:
        """Nothing against something is an empty table."""
        boxes = np.array([[0, 0, 2, 2, 0.0]])
        assert rotated_iou(np.zeros((0, 5)), boxes).shape == (0, 1)
        assert rotated_iou(boxes, np.zeros((0, 5))).shape == (1, 0)


class TestSuppressRotatedOverlaps:
    """`suppress_rotated_overlaps`."""

    @pytest.mark.parametrize("with_classes", [False, True])
    def test_against_a_loop(self, with_classes: bool) -> None:
        """The plain definition, box by box, keeps the same ones in the same order."""
        rng = np.random.default_rng(4)
        boxes = _random_boxes(rng, 60)
        scores = rng.integers(0, 20, 60) / 20
        classes = rng.integers(0, 2, 60) if with_classes else None
        overlap = rotated_iou(boxes, boxes)
        kept: list[int] = []
        for index in sorted(range(60), key=lambda one: (-scores[one], one)):
            rivals = [k for k in kept if classes is None or classes[k] == classes[index]]
            if all(overlap[rival, index] <= 0.3 for rival in rivals):
                kept.append(index)
        found = suppress_rotated_overlaps(boxes, scores, 0.3, classes)
        assert found.tolist() == kept
        assert suppress_rotated_overlaps(boxes, scores, 0.3, classes, limit=4).tolist() == kept[:4]

    def test_no_boxes(self) -> None:
        """Nothing stays of nothing."""
        found = suppress_rotated_overlaps(np.zeros((0, 5)), np.zeros(0), 0.5)
        assert found.shape == (0,)
        assert found.dtype == np.int64
