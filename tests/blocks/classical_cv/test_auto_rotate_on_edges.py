from __future__ import annotations

from collections.abc import Callable
from typing import Any

import cv2
import numpy as np
import pytest

from blocks.classical_cv.auto_rotate_on_edges.family import correction
from blocks.classical_cv.auto_rotate_on_edges.v1 import AutoRotateOnEdgesBlockV1
from blocks.classical_cv.image_preprocessing.family import rotate, turned
from execution_engine.errors import InvalidFieldValueError

ANGLES = [-89.0, -60.0, -44.0, -12.5, -3.0, -0.7, 0.7, 3.0, 12.5, 44.0, 60.0, 89.0]
LARGEST_ERROR = 0.25


def bars(angle: float, gray: bool = False) -> np.ndarray:
    """(400, 400, 3): upright bars, turned counter-clockwise by degrees; no border in view."""
    image = np.full((400, 400), 225, np.uint8)
    across, along = np.meshgrid(np.arange(400) - 199.5, np.arange(400) - 199.5)
    radians = np.deg2rad(angle)
    # Where a turned pixel was before: y points down.
    x = across * np.cos(radians) - along * np.sin(radians)
    phase = np.clip((np.abs(x % 60 - 30) - 10) + 0.5, 0, 1)
    image = np.rint(60 + 165 * phase).astype(np.uint8)
    return image if gray else np.repeat(image[:, :, None], 3, axis=2)


def wrapped(angle: float, period: float) -> float:
    """The same direction, from -period / 2 (exclusive) to period / 2."""
    result = angle % period
    return result - period if result > period / 2 else result


class TestCorrection:
    @pytest.mark.parametrize("angle", ANGLES)
    def test_vertical(self, angle: float) -> None:
        """What was turned by an angle is turned back by it."""
        assert correction(bars(angle), "vertical", 1000) == pytest.approx(-angle, abs=LARGEST_ERROR)

    @pytest.mark.parametrize("angle", ANGLES)
    def test_horizontal(self, angle: float) -> None:
        """The edges come to lie, by the shorter way."""
        expected = wrapped(90 - angle, 180)
        assert correction(bars(angle), "horizontal", 1000) == pytest.approx(
            expected, abs=LARGEST_ERROR
        )

    @pytest.mark.parametrize("angle", ANGLES)
    def test_either(self, angle: float) -> None:
        """The nearer of the two, at most half a quarter turn."""
        expected = wrapped(-angle, 90)
        found = correction(bars(angle), "either", 1000)
        assert found == pytest.approx(expected, abs=LARGEST_ERROR)
        assert -45 < found <= 45

    def test_straight(self) -> None:
        """Upright bars need no turn."""
        assert abs(correction(bars(0), "vertical", 1000)) < 0.05

    @pytest.mark.parametrize("resolution", [32, 120, 400, 5000])
    def test_resolution(self, resolution: int) -> None:
        """A small copy gives the angle of the image, less exactly."""
        tolerance = 3.0 if resolution == 32 else 0.5
        found = correction(bars(8), "vertical", resolution)
        assert found == pytest.approx(-8, abs=tolerance)

    def test_document(self) -> None:
        """A page of text is set upright by its letters."""
        page = np.full((500, 700), 250, np.uint8)
        for line in range(11):
            place = (40, 50 + 40 * line)
            cv2.putText(
                page, "The lines of a page of text", place, cv2.FONT_HERSHEY_SIMPLEX, 1.2, 10, 2,
                cv2.LINE_AA,
            )  # fmt: skip
        for angle in (-9.0, 4.0):
            skewed = turned(page, angle)
            height, width = skewed.shape
            inner = skewed[height // 5 : -height // 5, width // 5 : -width // 5]
            assert correction(inner, "either", 1000) == pytest.approx(-angle, abs=0.5)

    @pytest.mark.parametrize("orientation", ["vertical", "horizontal", "either"])
    def test_nothing_stands_out(self, orientation: str) -> None:
        """Flat images, noise, discs and images too small for an edge have no direction."""
        disc = np.zeros((300, 300), np.uint8)
        cv2.circle(disc, (150, 150), 100, 255, -1, cv2.LINE_AA)
        noise = np.random.default_rng(0).integers(0, 256, (300, 300, 3)).astype(np.uint8)
        faint = bars(20).astype(np.float32) / 165 + 100
        images = [
            disc, noise, faint.astype(np.uint8), np.full((50, 50), 7, np.uint8),
            np.zeros((1, 1, 3), np.uint8), np.array([[0, 255]], np.uint8),
        ]  # fmt: skip
        assert [correction(image, orientation, 1000) for image in images] == [0.0] * len(images)

    def test_gray(self) -> None:
        """Gray images give what colour images of the same levels give."""
        assert correction(bars(8, gray=True), "either", 1000) == correction(bars(8), "either", 1000)

    @pytest.mark.parametrize(
        ("orientation", "resolution", "text"),
        [
            (
                "up",
                1000,
                "Field `target_orientation` must be one of `vertical`, `horizontal`, `either`, "
                "got 'up'.",
            ),
            (
                "either",
                31,
                "Field `internal_resolution` must be a whole number from 32 to 32767, got 31.",
            ),
        ],
    )
    def test_bad_fields(self, orientation: str, resolution: int, text: str) -> None:
        """The error names field, range and value."""
        with pytest.raises(InvalidFieldValueError) as caught:
            correction(bars(3), orientation, resolution)
        assert str(caught.value) == text


class TestTurned:
    def test_whole_degrees(self) -> None:
        """The same as turning by a whole number of degrees."""
        image = bars(0)[:200]
        assert np.array_equal(turned(image, 33.0), rotate(image, 33))

    def test_too_long(self) -> None:
        """A canvas beyond what OpenCV can hold is refused by its size."""
        with pytest.raises(InvalidFieldValueError, match=r"got 32814 x 3571 px"):
            turned(np.zeros((3000, 32767), np.uint8), 1.0)


class TestAutoRotateOnEdges:
    def test_becomes_straight(
        self, as_image: Callable[..., Any], run_block: Callable[..., dict[str, Any]]
    ) -> None:
        """The turned image is upright, its canvas as large as needed, the angle what was done."""
        result = run_block(AutoRotateOnEdgesBlockV1, {"image": as_image(bars(20))})
        assert result["angle"] == pytest.approx(-20, abs=LARGEST_ERROR)
        straight = result["image"].numpy_image
        side = 400 * (np.sin(np.deg2rad(20)) + np.cos(np.deg2rad(20)))
        assert straight.shape[:2] == pytest.approx((side, side), abs=3)
        middle = straight[150:-150, 150:-150, 0].astype(int)
        assert np.abs(np.diff(middle, axis=0)).mean() < np.abs(np.diff(middle, axis=1)).mean() / 4
        assert result["image"].parent_metadata.parent_id == "image"

    @pytest.mark.parametrize(
        ("angle", "literals"),
        [
            (0.3, {}),
            (5, {"skip_below_degrees": 6}),
            (20, {"max_correction_degrees": 15}),
            (0, {"skip_below_degrees": 0}),
        ],
    )
    def test_stays(
        self,
        angle: float,
        literals: dict[str, Any],
        as_image: Callable[..., Any],
        run_block: Callable[..., dict[str, Any]],
    ) -> None:
        """An image that is straight enough or turned too far is handed on as it is."""
        image = as_image(bars(angle) if angle else np.full((50, 50, 3), 9, np.uint8))
        result = run_block(AutoRotateOnEdgesBlockV1, {"image": image}, **literals)
        assert result["image"] is image
        assert result["angle"] == 0.0

    def test_limits_are_included(
        self, as_image: Callable[..., Any], run_block: Callable[..., dict[str, Any]]
    ) -> None:
        """An image is turned when its angle is just at a limit."""
        angle = correction(bars(20), "vertical", 1000)
        limits = {"skip_below_degrees": -angle, "max_correction_degrees": -angle}
        result = run_block(AutoRotateOnEdgesBlockV1, {"image": as_image(bars(20))}, **limits)
        assert result["angle"] == angle

    @pytest.mark.parametrize("field", ["skip_below_degrees", "max_correction_degrees"])
    def test_bad_numbers(
        self,
        field: str,
        as_image: Callable[..., Any],
        run_block: Callable[..., dict[str, Any]],
    ) -> None:
        """A negative limit is refused."""
        with pytest.raises(InvalidFieldValueError, match=f"Field `{field}` must be .*, got -1"):
            run_block(AutoRotateOnEdgesBlockV1, {"image": as_image(bars(3))}, **{field: -1})
