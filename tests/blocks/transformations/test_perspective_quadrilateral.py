"""Geometry of Perspective Correction: reading, ordering, extending and rectifying polygons."""

from __future__ import annotations

from typing import Any

import cv2
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from blocks.transformations.perspective_correction.predictions import warp_points
from blocks.transformations.perspective_correction.quadrilateral import (
    is_polygon,
    largest_quadrilateral,
    order_vertices,
    rectify,
)

# Bottom left, top left, top right, bottom right.
SQUARE = np.array([[0, 100], [0, 0], [100, 0], [100, 100]], float)
NO_POINTS = np.empty((0, 2))


class TestIsPolygon:
    @pytest.mark.parametrize("value", [[[0, 1]], [(0, 1.5), (2, 3)], SQUARE, [np.array([1, 2])]])
    def test_pairs(self, value: Any) -> None:
        """Sequences of pairs of numbers are polygons."""
        assert is_polygon(value)

    @pytest.mark.parametrize(
        "value", [[], [1, 2], [[1, 2, 3]], [["a", "b"]], "ab", None, [[[1, 2]]]]
    )
    def test_others(self, value: Any) -> None:
        """Anything else is none."""
        assert not is_polygon(value)


class TestLargestQuadrilateral:
    def test_single(self) -> None:
        """One polygon stands for itself, as a list or an array."""
        assert np.array_equal(largest_quadrilateral(SQUARE.tolist(), "x"), SQUARE)
        assert np.array_equal(largest_quadrilateral(SQUARE, "x"), SQUARE)

    def test_largest(self) -> None:
        """Of several the largest with four vertices counts."""
        polygons = [SQUARE / 2, SQUARE.tolist(), np.concatenate([SQUARE * 9, [[1, 1]]])]
        assert np.array_equal(largest_quadrilateral(polygons, "x"), SQUARE)

    def test_none(self) -> None:
        """An empty list is no polygon and no error."""
        assert largest_quadrilateral([], "x") is None

    def test_wrong_vertices(self) -> None:
        """Polygons of other sizes only are refused, with their sizes."""
        with pytest.raises(ValueError, match=r"x must hold a polygon of four .*polygons of 3, 5"):
            largest_quadrilateral([[[0, 0]] * 3, [[0, 0]] * 5], "x")

    @pytest.mark.parametrize("value", [None, "zone", 4, [[["a", "b"]] * 4]])
    def test_no_polygons(self, value: Any) -> None:
        """Other values are refused."""
        with pytest.raises(ValueError, match="x must hold"):
            largest_quadrilateral(value, "x")


class TestOrderVertices:
    @settings(max_examples=60, deadline=None)
    @given(st.permutations(range(4)), st.floats(-20, 20), st.floats(-20, 20))
    def test_any_order(self, order: list[int], dx: float, dy: float) -> None:
        """The order of the input does not matter."""
        polygon = np.array([[20, 150], [40 + dx, 20 + dy], [200, 30 - dx], [220 + dy, 160]])
        assert np.array_equal(order_vertices(polygon[order]), polygon)

    def test_diamond(self) -> None:
        """A diamond, which is as near either way, begins at its leftmost vertex."""
        diamond = np.array([[50, 0], [100, 50], [50, 100], [0, 50]], float)
        assert order_vertices(diamond)[0].tolist() == [0, 50]


class TestRectify:
    def test_corners(self) -> None:
        """The vertices become the corners of the rectangle, in px from 0 to size - 1."""
        polygon = np.array([[20, 150], [40, 20], [200, 30], [220, 160]], float)
        result = rectify(polygon, 200, 150, NO_POINTS, "x")
        assert result.size_wh == (200, 150)
        corners = warp_points(polygon, result.homography)
        assert corners == pytest.approx(
            np.array([[0, 149], [0, 0], [199, 0], [199, 149]]), abs=1e-3
        )

    def test_points_inside_change_nothing(self) -> None:
        """An area that holds all points stays as it is."""
        inside = np.array([[0, 0], [50, 50], [100, 100]], float)
        plain, same = rectify(SQUARE, 50, 50, NO_POINTS, "x"), rectify(SQUARE, 50, 50, inside, "x")
        assert same.size_wh == plain.size_wh
        assert same.homography == pytest.approx(plain.homography)

    @pytest.mark.parametrize(
        ("point", "size_wh"),
        [
            ((-50, 50), (75, 20)),
            ((130, 50), (65, 20)),
            ((50, 150), (50, 30)),
            ((50, -100), (50, 40)),
            ((-100, 200), (100, 40)),
        ],
    )
    def test_extension_of_a_square(
        self, point: tuple[float, float], size_wh: tuple[int, int]
    ) -> None:
        """The rectangle grows by the share that the square grows."""
        result = rectify(SQUARE, 50, 20, np.array([point], float), "x")
        assert result.size_wh == size_wh
        x, y = warp_points(np.array([point]), result.homography)[0]
        assert -0.01 <= x <= size_wh[0] - 0.99
        assert -0.01 <= y <= size_wh[1] - 0.99

    @settings(max_examples=60, deadline=None)
    @given(st.lists(st.tuples(st.floats(-80, 330), st.floats(-60, 260)), min_size=1, max_size=12))
    def test_all_points_are_inside(self, points: list[tuple[float, float]]) -> None:
        """After extension every point lies in the rectangle, and at most four sides have moved."""
        polygon = np.array([[20, 150], [40, 20], [200, 30], [220, 160]], float)
        places = np.array(points)
        result = rectify(polygon, 200, 150, places, "x")
        width, height = result.size_wh
        moved = warp_points(places, result.homography)
        assert (moved >= -0.05).all()
        assert (moved <= [width - 0.95, height - 0.95]).all()

    @pytest.mark.parametrize(
        "polygon",
        [
            [[0, 0], [1, 0], [2, 0], [3, 0]],
            [[0, 0], [0, 0], [1, 1], [0, 1]],
            [[0, 0], [10, 0], [2, 2], [0, 10]],
            [[0, 0], [float("nan"), 0], [2, 2], [0, 10]],
        ],
    )
    def test_degenerate(self, polygon: list[list[float]]) -> None:
        """Polygons on a line, with equal vertices or a dent are refused."""
        with pytest.raises(ValueError, match="x must be convex with no three vertices on one line"):
            rectify(np.array(polygon), 10, 10, NO_POINTS, "x")

    def test_homography_agrees_with_opencv(self) -> None:
        """Without extension the map is OpenCV's, scaled to depth 1 in the middle."""
        polygon = np.array([[20, 150], [40, 20], [200, 30], [220, 160]], np.float32)
        target = np.array([[0, 149], [0, 0], [199, 0], [199, 149]], np.float32)
        expected = cv2.getPerspectiveTransform(polygon, target)
        result = rectify(polygon, 200, 150, NO_POINTS, "x").homography
        assert result / result[2, 2] == pytest.approx(expected / expected[2, 2])
        assert result[2] @ [*polygon.mean(axis=0), 1] == pytest.approx(1)
