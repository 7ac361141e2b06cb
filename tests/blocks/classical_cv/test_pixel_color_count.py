from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from blocks.classical_cv.pixel_color_count.family import count_color, read_color
from blocks.classical_cv.pixel_color_count.v1 import PixelColorCountBlockV1


class TestReadColor:
    @pytest.mark.parametrize(
        "color",
        [
            "#0a14FF", " #0A14ff ", "(10, 20, 255)", "(10,20,255)", "rgb(10, 20, 255)",
            "bgr(255, 20, 10)", (10, 20, 255), [10, 20, 255], np.array([10, 20, 255]),
        ],
    )  # fmt: skip
    def test_forms(self, color: Any) -> None:
        """Every form gives (red, green, blue)."""
        assert read_color(color) == (10, 20, 255)

    def test_short_hex(self) -> None:
        """A digit of the short form counts twice."""
        assert read_color("#1af") == (0x11, 0xAA, 0xFF)

    def test_name(self) -> None:
        """Common names are known, whatever the case."""
        assert read_color("Yellow") == (255, 255, 0)

    @pytest.mark.parametrize(
        "color", ["#12", "#12345", "#gggggg", "(1, 2)", "rgb(1, 2, x)", "blue!", "", [1], 7, None]
    )  # fmt: skip
    def test_unreadable(self, color: Any) -> None:
        """Anything else is refused by field, with the forms that are read."""
        with pytest.raises(ValueError, match="Field `target_color` must be `#rrggbb`"):
            read_color(color)

    @pytest.mark.parametrize("color", ["(0, 0, 256)", (-1, 0, 0), [0.5, 0, 0]])
    def test_outside(self, color: Any) -> None:
        """Channels outside 0..255 are refused."""
        with pytest.raises(ValueError, match="`target_color` must be a whole number from 0 to 255"):
            read_color(color)


class TestCountColor:
    @pytest.mark.parametrize("tolerance", [0, 40, 255, 1000])
    def test_brute_force(self, tolerance: int, noise: np.ndarray) -> None:
        """A pixel counts when every channel is near enough."""
        near = np.abs(noise.astype(int) - [30, 120, 200]) <= tolerance
        assert count_color(noise, (200, 120, 30), tolerance) == near.all(axis=2).sum()

    def test_edges(self) -> None:
        """The tolerance is inclusive."""
        pixels = np.array([[[10, 20, 30], [11, 20, 30], [12, 20, 30], [10, 18, 30]]], np.uint8)
        assert count_color(pixels, (30, 20, 10), 1) == 2

    def test_gray_image(self) -> None:
        """A gray pixel counts as that gray in all channels."""
        pixels = np.array([[100, 105, 120]], np.uint8)
        assert count_color(pixels, (102, 100, 101), 5) == 2
        assert count_color(pixels, (102, 100, 0), 5) == 0

    @pytest.mark.parametrize("tolerance", [255, 1000, 2**70])
    def test_any_colour(self, tolerance: int, noise: np.ndarray) -> None:
        """A tolerance over all gray levels takes every pixel."""
        assert count_color(noise, "#000", tolerance) == noise.shape[0] * noise.shape[1]

    @pytest.mark.parametrize("tolerance", [-1, 0.5, "10"])
    def test_bad_tolerance(self, tolerance: Any) -> None:
        """A bad tolerance is refused by field."""
        with pytest.raises(ValueError, match="Field `tolerance` must be a whole number"):
            count_color(np.zeros((1, 1, 3), np.uint8), "#000", tolerance)


class TestPixelColorCountBlockV1:
    @pytest.mark.parametrize("color", ["#ff0000", [255, 0, 0], "red"])
    def test_default_tolerance(self, as_image: Any, run_block: Any, color: Any) -> None:
        """By default channels may differ by 10."""
        image = as_image(np.array([[[0, 10, 245], [0, 11, 245]]], np.uint8))
        result = run_block(PixelColorCountBlockV1, {"image": image}, target_color=color)
        assert result == {"matching_pixels_count": 1}
