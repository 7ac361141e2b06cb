"""Numbers that drawing works with, and names of places."""

from __future__ import annotations

from typing import Any, get_args

import pytest
import supervision as sv

from blocks.visualizations.anchors import Anchor, position_of
from blocks.visualizations.limits import fraction, line_thickness, pixels, text_scale


class TestPixels:
    @pytest.mark.parametrize(("value", "expected"), [(0, 0), (7, 7), (7.0, 7), (32767, 32767)])
    def test_whole_numbers(self, value: float, expected: int) -> None:
        """Whole numbers in any type are taken."""
        assert pixels("radius", value) == expected

    @pytest.mark.parametrize("value", [-1, 0.5, 32768, None, "3", float("nan"), [1]])
    def test_refused(self, value: Any) -> None:
        """Others are named with their field."""
        with pytest.raises(ValueError, match="Field `radius` must be a whole number from 0 to"):
            pixels("radius", value)


class TestLineThickness:
    @pytest.mark.parametrize(("value", "expected"), [(0, 1), (1, 1), (5, 5)])
    def test_at_least_one(self, value: int, expected: int) -> None:
        """The thinnest line has one pixel."""
        assert line_thickness("thickness", value) == expected


class TestFraction:
    @pytest.mark.parametrize("value", [-0.01, 1.01, None, float("nan")])
    def test_refused(self, value: Any) -> None:
        """What does not lie from 0 to 1 is named."""
        with pytest.raises(ValueError, match=r"Field `opacity` must be a number from 0\.0 to 1\.0"):
            fraction("opacity", value)


class TestTextScale:
    @pytest.mark.parametrize("value", [0, -1.0, 1e6])
    def test_refused(self, value: Any) -> None:
        """Letters without size, and letters that fill all memory, are refused."""
        with pytest.raises(ValueError, match="Field `text_scale` must be a number from"):
            text_scale("text_scale", value)


class TestPositionOf:
    @pytest.mark.parametrize("name", get_args(Anchor))
    def test_names(self, name: str) -> None:
        """Every name is a position of supervision."""
        assert position_of("position", name) is sv.Position[name]

    def test_refused(self) -> None:
        """Another name is an error with the names that there are."""
        with pytest.raises(ValueError, match=r"`position` must be one of `CENTER`, .*, got 'MID'"):
            position_of("position", "MID")
