from __future__ import annotations

from typing import Any

import cv2
import numpy as np
import pytest
import supervision as sv
from pydantic import ValidationError

from blocks.classical_cv.camera_focus.family import brenner, mean_in_boxes, tenengrad
from blocks.classical_cv.camera_focus.overlays import (
    draw_center_marker,
    draw_focus_peaking,
    draw_grid,
    draw_panel,
    draw_zebra,
)
from blocks.classical_cv.camera_focus.v1 import CameraFocusBlockV1
from blocks.classical_cv.camera_focus.v2 import CameraFocusBlockV2, CameraFocusManifestV2

NOTHING_DRAWN = {
    "show_zebra_warnings": False,
    "grid_overlay": "None",
    "show_hud": False,
    "show_focus_peaking": False,
    "show_center_marker": False,
}


class TestBrenner:
    def test_brute_force(self, noise: np.ndarray) -> None:
        """The larger rise over two pixels to the right or down, squared."""
        gray = noise[:12, :15, 0].astype(int)
        expected = np.zeros(gray.shape, int)
        for y in range(12):
            for x in range(15):
                right = gray[y, x + 2] - gray[y, x] if x + 2 < 15 else 0
                down = gray[y + 2, x] - gray[y, x] if y + 2 < 12 else 0
                expected[y, x] = max(right, down, 0) ** 2
        assert np.array_equal(brenner(noise[:12, :15, 0].copy()), expected)

    @pytest.mark.parametrize("shape", [(1, 1), (1, 5), (2, 2, 3), (9, 1)])
    def test_small(self, shape: tuple[int, ...]) -> None:
        """Images without a partner two pixels away measure 0."""
        assert brenner(np.full(shape, 200, np.uint8)).sum() == 0


class TestTenengrad:
    def test_ramp(self) -> None:
        """A slope of 1 and 2 levels a px gives (8 * 1)^2 + (8 * 2)^2 inside."""
        y, x = np.mgrid[:10, :12]
        measure = tenengrad((x + 2 * y).astype(np.uint8))
        assert (measure[1:-1, 1:-1] == 64 + 256).all()

    def test_blur_lowers_it(self, coins: np.ndarray) -> None:
        """A blurred image measures less."""
        gray = coins[:, :, 0]
        assert tenengrad(cv2.GaussianBlur(gray, (9, 9), 0)).mean() < tenengrad(gray).mean() / 2


class TestMeanInBoxes:
    def test_means(self) -> None:
        """Boxes are cut to whole pixels and to the image; those outside give None."""
        measure = np.arange(20, dtype=np.float32).reshape(4, 5)
        boxes = np.array(
            [[1.9, 1, 3, 3], [-5, -5, 1, 1], [3, 2, 99, 99], [9, 9, 12, 12], [2, 2, 2, 3]]
        )
        expected = [measure[1:3, 1:3].mean(), 0, measure[2:, 3:].mean(), None, None]
        assert mean_in_boxes(measure, boxes) == expected

    def test_no_boxes(self) -> None:
        """Zero boxes give an empty list."""
        assert mean_in_boxes(np.zeros((2, 2)), np.empty((0, 4))) == []


class TestOverlays:
    def test_zebra(self) -> None:
        """Stripes half as wide as their period are blue where too dark, red where too bright."""
        gray = np.full((32, 48), 128, np.uint8)
        gray[:, :16], gray[:, 32:] = 2, 250
        image = cv2.cvtColor(gray, cv2.COLOR_GRAY2BGR)
        drawn = draw_zebra(image, gray, 7, 247).astype(int)
        assert np.array_equal(drawn[:, 16:32], image[:, 16:32])
        dark, bright = drawn[:, :16], drawn[:, 32:]
        assert (dark[:, :, 0] > dark[:, :, 2]).mean() == 0.5
        assert (bright[:, :, 2] > bright[:, :, 0]).mean() == 0.5

    def test_zebra_limits_are_exclusive(self) -> None:
        """A pixel at the limit is not marked."""
        gray = np.array([[7, 247]], np.uint8)
        image = cv2.cvtColor(gray, cv2.COLOR_GRAY2BGR)
        assert np.array_equal(draw_zebra(image, gray, 7, 247), image)

    def test_peaking(self) -> None:
        """Green is laid over what is above 30 % of the sharpest place."""
        measure = np.array([[0, 70, 80, 255]], np.float32)
        drawn = draw_focus_peaking(np.zeros((1, 4, 3), np.uint8), measure)
        assert drawn[0, :, 1].tolist() == [0, 0, 153, 153]

    def test_peaking_of_a_flat_image(self) -> None:
        """Where nothing is sharp nothing is drawn."""
        image = np.zeros((2, 2, 3), np.uint8)
        assert draw_focus_peaking(image, np.zeros((2, 2), np.float32)) is image

    @pytest.mark.parametrize("divisions", [2, 3, 5])
    def test_grid(self, divisions: int) -> None:
        """The lines part the image into equal columns and rows."""
        drawn = draw_grid(np.zeros((60, 90, 3), np.uint8), divisions)[:, :, 0] == 128
        expected = [90 * part // divisions for part in range(1, divisions)]
        assert np.flatnonzero(drawn[1]).tolist() == expected
        assert drawn.all(axis=1).sum() == divisions - 1

    def test_center_marker(self) -> None:
        """The cross lies in the middle and is white."""
        drawn = draw_center_marker(np.zeros((61, 81, 3), np.uint8))
        ys, xs = np.nonzero(drawn[:, :, 0])
        assert ys.mean() == pytest.approx(30, abs=0.5)
        assert xs.mean() == pytest.approx(40, abs=0.5)

    @pytest.mark.parametrize("shape", [(1, 1), (20, 30), (720, 1280)])
    def test_panel(self, shape: tuple[int, int]) -> None:
        """The panel darkens the top left corner only and fits images of any size."""
        image = np.full((*shape, 3), 200, np.uint8)
        drawn = draw_panel(image, 12.5, image, image[:, :, 0].copy())
        assert drawn.shape == image.shape
        if shape == (720, 1280):
            changed = (drawn != image).any(axis=2)
            ys, xs = np.nonzero(changed)
            assert ys.max() < 200
            assert xs.max() < 400
            assert drawn[14, 14].tolist() == [60, 60, 60]

    def test_inputs_are_kept(self, noise: np.ndarray) -> None:
        """No overlay draws into its input."""
        noise.flags.writeable = False
        gray = noise[:, :, 0]
        draw_zebra(noise, gray, 90, 180)
        draw_focus_peaking(noise, gray.astype(np.float32))
        draw_center_marker(noise)
        draw_grid(noise, 3)
        draw_panel(noise, 1, noise, gray.copy())


class TestCameraFocusBlockV1:
    def test_outputs(self, as_image: Any, run_block: Any, noise: np.ndarray) -> None:
        """The value is the mean of the measure; the picture is gray with the value on it."""
        result = run_block(CameraFocusBlockV1, {"image": as_image(noise)})
        measure = brenner(noise)
        assert result["focus_measure"] == pytest.approx(measure.mean())
        picture = result["image"].numpy_image
        assert picture.shape == (90, 120)
        assert picture.dtype == np.uint8
        free = picture[45:]
        assert np.abs(free - measure[45:] / measure.max() * 255).max() <= 1

    @pytest.mark.parametrize("shape", [(1, 1), (2, 3, 3)])
    def test_flat(self, as_image: Any, run_block: Any, shape: tuple[int, ...]) -> None:
        """A flat image measures 0."""
        result = run_block(CameraFocusBlockV1, {"image": as_image(np.full(shape, 99, np.uint8))})
        assert result["focus_measure"] == 0


class TestCameraFocusBlockV2:
    def test_measures(self, as_image: Any, run_block: Any, coins: np.ndarray) -> None:
        """The value is the mean of the squared gradient, for the image and for each box."""
        boxes = sv.Detections(xyxy=np.array([[10, 20, 60, 90], [500, 500, 600, 600]], float))
        values = {"image": as_image(coins), "detections": boxes}
        result = run_block(CameraFocusBlockV2, values)
        measure = tenengrad(coins[:, :, 0].copy())
        assert result["focus_measure"] == pytest.approx(measure.mean(), rel=1e-5)
        inside = measure[20:90, 10:60].mean()
        assert result["bbox_focus_measures"] == [pytest.approx(inside, rel=1e-5), None]

    def test_nothing_drawn(self, as_image: Any, run_block: Any, coins: np.ndarray) -> None:
        """Without drawing aids the image itself is returned."""
        image = as_image(coins)
        result = run_block(CameraFocusBlockV2, {"image": image}, **NOTHING_DRAWN)
        assert result["image"] is image
        assert result["bbox_focus_measures"] == []

    @pytest.mark.parametrize(
        ("field", "value"),
        [
            ("show_zebra_warnings", True),
            ("grid_overlay", "2x2"),
            ("show_hud", True),
            ("show_focus_peaking", True),
            ("show_center_marker", True),
        ],
    )
    def test_each_aid_draws(
        self, as_image: Any, run_block: Any, coins: np.ndarray, field: str, value: Any
    ) -> None:
        """Each drawing aid can be had alone."""
        pixels = coins.copy()
        pixels[:60] = 0
        literals = {**NOTHING_DRAWN, field: value}
        drawn = run_block(CameraFocusBlockV2, {"image": as_image(pixels)}, **literals)["image"]
        assert not np.array_equal(drawn.numpy_image, pixels)

    @pytest.mark.parametrize("shape", [(1, 1), (40, 60), (40, 60, 3)])
    def test_colour_result(self, as_image: Any, run_block: Any, shape: tuple[int, ...]) -> None:
        """With the default aids the result is in colour, whatever the input."""
        image = as_image(np.full(shape, 99, np.uint8))
        result = run_block(CameraFocusBlockV2, {"image": image})
        assert result["image"].numpy_image.shape == (*shape[:2], 3)

    def test_thresholds(self, as_image: Any, run_block: Any) -> None:
        """Percentages are of the range 0..255."""
        pixels = np.full((40, 40), 20, np.uint8)
        literals = {**NOTHING_DRAWN, "show_zebra_warnings": True}

        def draws(percent: float) -> bool:
            result = run_block(
                CameraFocusBlockV2,
                {"image": as_image(pixels)},
                underexposed_threshold_percent=percent,
                **literals,
            )
            return bool((result["image"].numpy_image != 20).any())

        assert not draws(7.8)
        assert draws(8.3)

    def test_limits(self) -> None:
        """Percentages outside 0..100 do not pass the manifest."""
        step = {"type": "roboflow_core/camera_focus@v2", "name": "s", "image": "$inputs.image"}
        with pytest.raises(ValidationError, match="overexposed_threshold_percent"):
            CameraFocusManifestV2.model_validate({**step, "overexposed_threshold_percent": 101})
