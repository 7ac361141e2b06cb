"""Points against polygons and boxes, with OpenCV and shapely as oracles."""

from __future__ import annotations

import cv2
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from shapely.geometry import Point, Polygon

from execution_engine.query_language.geometry import (
    as_point,
    as_polygon,
    points_in_boxes,
    points_in_polygon,
)

GRID = np.array([[x, y] for x in range(-1, 12) for y in range(-1, 12)], dtype=np.float64)
whole = st.integers(0, 10)
corners = st.lists(st.tuples(whole, whole), min_size=3, max_size=8)


class TestPointsInPolygon:
    @given(corners)
    def test_agrees_with_opencv(self, polygon: list[tuple[int, int]]) -> None:
        """On a grid of points, inside is what OpenCV calls positive, crossings included."""
        contour = np.array(polygon, dtype=np.int32)
        expected = [cv2.pointPolygonTest(contour, (float(x), float(y)), False) > 0 for x, y in GRID]
        assert points_in_polygon(GRID, as_polygon(polygon)).tolist() == expected

    @given(corners)
    def test_agrees_with_shapely(self, polygon: list[tuple[int, int]]) -> None:
        """For valid polygons, strictly inside is what shapely calls contained."""
        shape = Polygon(polygon)
        if not shape.is_valid:
            return
        expected = [shape.contains(Point(x, y)) for x, y in GRID]
        assert points_in_polygon(GRID, as_polygon(polygon)).tolist() == expected

    @pytest.mark.parametrize("orientation", [1, -1])
    def test_edges_and_vertices_are_outside(self, orientation: int) -> None:
        """Points on the outline are not inside, whichever way the polygon runs."""
        polygon = as_polygon([[0, 0], [10, 0], [10, 10], [5, 5], [0, 10]][::orientation])
        points = np.array([[0, 0], [5, 0], [10, 5], [5, 5], [7.5, 7.5], [5, 4.999], [5, 7]])
        assert points_in_polygon(points, polygon).tolist() == [False] * 5 + [True, False]

    def test_no_points(self) -> None:
        """No points give an empty mask."""
        assert points_in_polygon(np.empty((0, 2)), as_polygon([[0, 0], [1, 0], [0, 1]])).shape == (
            0,
        )


class TestPointsInBoxes:
    @given(
        st.lists(st.tuples(whole, whole), max_size=6),
        st.lists(st.tuples(whole, whole, whole, whole), max_size=4),
    )
    def test_agrees_with_plain_loops(
        self, points: list[tuple[int, int]], boxes: list[tuple[int, int, int, int]]
    ) -> None:
        """A point is in when one box holds it, edges included; without boxes nothing is in."""
        expected = [
            any(x_1 <= x <= x_2 and y_1 <= y <= y_2 for x_1, y_1, x_2, y_2 in boxes)
            for x, y in points
        ]
        got = points_in_boxes(
            np.array(points, dtype=float).reshape(-1, 2),
            np.array(boxes, dtype=float).reshape(-1, 4),
        )
        assert got.tolist() == expected


class TestAsPoint:
    def test_shapes(self) -> None:
        """Lists, tuples and arrays of two numbers are points."""
        for point in ([1, 2], (1.0, 2.0), np.array([1, 2])):
            assert as_point(point).tolist() == [[1.0, 2.0]]

    @pytest.mark.parametrize("wrong", [5, [1], [1, 2, 3], [[1, 2]], "ab", None, {"x": 1}, [1, "b"]])
    def test_refuses(self, wrong: object) -> None:
        """Anything else is refused."""
        with pytest.raises(ValueError, match=r"a point must be two numbers \[x, y\]"):
            as_point(wrong)


class TestAsPolygon:
    @pytest.mark.parametrize(
        "wrong", [[], [[0, 0], [1, 1]], [[0, 0, 0]] * 3, [[0, 0], [1]], "abc", 3]
    )
    def test_refuses(self, wrong: object) -> None:
        """A polygon has at least three points of two numbers."""
        with pytest.raises(ValueError, match="a zone must be a list of"):
            as_polygon(wrong)
