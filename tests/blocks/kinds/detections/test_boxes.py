from __future__ import annotations

import numpy as np
import pytest
import shapely
import supervision as sv
from hypothesis import given
from hypothesis import strategies as st

from blocks.kinds.detections.boxes import (
    bounds,
    box_areas,
    box_iou,
    box_points,
    shared_areas,
)

coordinate = st.integers(0, 30)
box = st.tuples(coordinate, coordinate, coordinate, coordinate).map(
    lambda corners: (
        min(corners[0], corners[2]),
        min(corners[1], corners[3]),
        max(corners[0], corners[2]),
        max(corners[1], corners[3]),
    )
)


class TestSharedAreas:
    @given(st.lists(box, max_size=4), st.lists(box, max_size=4))
    def test_equals_polygon_intersection(self, first: list, second: list) -> None:
        """Common areas are those of the rectangles as polygons."""
        shared = shared_areas(np.array(first).reshape(-1, 4), np.array(second).reshape(-1, 4))
        assert shared.shape == (len(first), len(second))
        for row, one in enumerate(first):
            for column, other in enumerate(second):
                area = shapely.box(*one).intersection(shapely.box(*other)).area
                assert shared[row, column] == area


class TestBoxIou:
    def test_like_supervision(self) -> None:
        """For boxes with an area the values are supervision's."""
        rng = np.random.default_rng(0)
        corners = rng.uniform(0, 100, (40, 2))
        boxes = np.hstack([corners, corners + rng.uniform(1, 60, (40, 2))])
        expected = sv.box_iou_batch(boxes[:15], boxes[15:])
        assert np.allclose(box_iou(boxes[:15], boxes[15:]), expected, atol=1e-6)

    def test_without_area(self) -> None:
        """Two boxes without an area are the same object or none; nothing is divided by 0."""
        boxes = [[5, 5, 5, 9], [5, 5, 5, 8], [0, 0, 10, 10]]
        with np.errstate(all="raise"):
            iou = box_iou(boxes, boxes)
        assert iou.tolist() == [[1, 0, 0], [0, 1, 0], [0, 0, 1]]

    def test_large_boxes_are_exact(self) -> None:
        """Boxes of float32 with areas beyond its precision overlap exactly."""
        boxes = np.array([[0, 0, 8191, 8191], [0, 0, 8191, 8190]], np.float32)
        assert box_iou(boxes[:1], boxes[1:])[0, 0] == 8190 / 8191

    def test_no_boxes(self) -> None:
        """Without boxes there are no values."""
        assert box_iou(np.zeros((0, 4)), np.ones((2, 4))).shape == (0, 2)


class TestBoxAreas:
    def test_rows(self) -> None:
        """Width times height."""
        assert box_areas([[1, 2, 4, 7], [3, 3, 3, 9]]).tolist() == [15, 0]


class TestBoxPoints:
    @pytest.mark.parametrize(
        ("name", "point"),
        [
            ("CENTER", [12.5, 30]),
            ("CENTER_LEFT", [10, 30]),
            ("CENTER_RIGHT", [15, 30]),
            ("TOP_CENTER", [12.5, 20]),
            ("TOP_LEFT", [10, 20]),
            ("TOP_RIGHT", [15, 20]),
            ("BOTTOM_LEFT", [10, 40]),
            ("BOTTOM_CENTER", [12.5, 40]),
            ("BOTTOM_RIGHT", [15, 40]),
        ],
    )
    def test_names(self, name: str, point: list[float]) -> None:
        """Every named point is where its name says."""
        assert box_points([[10, 20, 15, 40]], name).tolist() == [point]  # type: ignore[arg-type]


class TestBounds:
    def test_rows(self) -> None:
        """The smallest box around all."""
        assert bounds([[5, 1, 9, 9], [2, 3, 4, 12]]).tolist() == [2, 1, 9, 12]
