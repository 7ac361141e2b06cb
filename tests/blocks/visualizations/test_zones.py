"""Zones, lines and paths drawn on images, and how they are read."""

from __future__ import annotations

from typing import Any

import cv2
import numpy as np
import pytest

from blocks.visualizations.zone_points import read_points, read_polygons
from tests.blocks.visualizations.scenes import picture, run

ZONE = [[10, 10], [100, 20], [50, 90]]


class TestReadPoints:
    @pytest.mark.parametrize("value", [ZONE, tuple(map(tuple, ZONE)), np.array(ZONE)])
    def test_forms(self, value: Any) -> None:
        """Lists, tuples and arrays give points."""
        assert read_points("zone", value, 3).tolist() == ZONE

    def test_rounded(self) -> None:
        """Fractions are rounded, and places far away brought near."""
        assert read_points("p", [[1.4, 2.6], [1e12, 0]], 2).tolist() == [[1, 3], [1 << 20, 0]]

    @pytest.mark.parametrize(
        ("value", "message"),
        [
            ("0,0", "Field `zone` must be a list of points"),
            (None, "Field `zone` must be a list of points"),
            ([[0, 0]], "Field `zone` must be 2 points, got 1"),
            ([[0, 0]] * 3, "Field `zone` must be 2 points, got 3"),
            ([[0, 0], [1]], r"Field `zone\[1\]` must be two finite numbers"),
            ([[0, 0], [1, 2, 3]], r"Field `zone\[1\]` must be two finite numbers"),
            ([[0, "a"], [1, 2]], r"Field `zone\[0\]` must be two finite numbers"),
            ([[0, 0], [float("nan"), 2]], r"Field `zone\[1\]` must be two finite numbers"),
            ([3, 4], r"Field `zone\[0\]` must be two finite numbers"),
        ],
    )
    def test_refused(self, value: Any, message: str) -> None:
        """What is no list of points is named with its place."""
        with pytest.raises(ValueError, match=message):
            read_points("zone", value, 2, 2)


class TestReadPolygons:
    def test_one_or_several(self) -> None:
        """A list of points is one polygon, a list of lists of points several."""
        assert [polygon.tolist() for polygon in read_polygons("zone", ZONE)] == [ZONE]
        several = read_polygons("zone", [ZONE, ZONE[::-1]])
        assert [polygon.tolist() for polygon in several] == [ZONE, ZONE[::-1]]

    @pytest.mark.parametrize(
        ("value", "message"),
        [
            ([[0, 0], [1, 1]], "Field `zone` must be at least 3 points, got 2"),
            ([], "Field `zone` must be at least 3 points, got 0"),
            ([ZONE, ZONE[:2]], r"Field `zone\[1\]` must be at least 3 points, got 2"),
        ],
    )
    def test_refused(self, value: Any, message: str) -> None:
        """A polygon of fewer than three points is named."""
        with pytest.raises(ValueError, match=message):
            read_polygons("zone", value)


class TestPolygonZone:
    def test_fill(self) -> None:
        """The polygon is filled with a share of the colour, nothing else changes."""
        result = run("polygon_zone_v1", zone=ZONE, color="#0000ff", opacity=0.4)
        expected = cv2.fillPoly(picture(), [np.array(ZONE)], (255, 0, 0))
        expected = cv2.addWeighted(expected, 0.4, picture(), 0.6, 0)
        assert np.abs(result.astype(int) - expected).max() <= 1

    def test_several(self) -> None:
        """Several zones are shaded alike, overlaps once."""
        one = run("polygon_zone_v1", zone=ZONE)
        assert (run("polygon_zone_v1", zone=[ZONE, ZONE]) == one).all()


class TestReferencePath:
    def test_line(self) -> None:
        """The path is an open line."""
        result = run("reference_path_v1", reference_path=ZONE, color="RED", thickness=3)
        expected = cv2.polylines(picture(), [np.array(ZONE)], False, (0, 0, 255), 3)
        assert (result == expected).all()


class TestLineCounter:
    def test_line(self) -> None:
        """The line is mixed into the image between its two ends."""
        zone = [[60, 60], [150, 60]]
        result = run("line_counter_v1", zone=zone, opacity=1.0, thickness=3, text_scale=0.2)
        assert (result[59:62, 140] == (115, 181, 91)).all()
        assert (result[55, 140] == picture()[55, 140]).all()

    def test_counts(self) -> None:
        """The counts are written in black on white, and other counts look different."""
        zone = [[60, 60], [150, 60]]
        pictures = [run("line_counter_v1", zone=zone, count_in=count) for count in (0, 7)]
        assert (pictures[0] != pictures[1]).any()
        assert (pictures[0][50:70, 40:80] == 255).all(axis=2).any()

    def test_text_stays_inside(self) -> None:
        """At the border of the image the counts are moved into it, not cut off."""
        black = np.zeros((120, 160, 3), np.uint8)
        boxes = []
        for x in (0, 80, 159):
            zone = [[x, 60], [80, 119]]
            result = run("line_counter_v1", None, black, zone=zone, opacity=0.0, text_scale=0.5)
            boxes.append(cv2.boundingRect((result == 255).all(axis=2).view(np.uint8)))
        assert len({(width, height) for _, _, width, height in boxes}) == 1

    @pytest.mark.parametrize("zone", [[[0, 0]], [[0, 0], [1, 1], [2, 2]]])
    def test_no_line(self, zone: Any) -> None:
        """A line has two ends."""
        with pytest.raises(ValueError, match="`zone` must be 2 points"):
            run("line_counter_v1", zone=zone)
