from __future__ import annotations

from collections.abc import Callable
from typing import Any

import cv2
import numpy as np
import pytest
from pydantic import ValidationError

from blocks.classical_cv.contrast_enhancement.family import enhance
from blocks.classical_cv.contrast_enhancement.v1 import (
    ContrastEnhancementBlockV1,
    ContrastEnhancementManifest,
)
from execution_engine.errors import InvalidFieldValueError


@pytest.fixture
def dull() -> np.ndarray:
    """(60, 80, 3): each channel in a narrow range of its own."""
    rng = np.random.default_rng(2)
    channels = [rng.integers(low, high, (60, 80)) for low, high in ((40, 90), (100, 220), (7, 60))]
    return np.stack(channels, axis=2).astype(np.uint8)


class TestStretch:
    def test_formula(self, dull: np.ndarray) -> None:
        """(level - min) / (max - min) * 255 in each channel."""
        low, high = dull.min(axis=(0, 1)).astype(float), dull.max(axis=(0, 1)).astype(float)
        expected = np.rint((dull - low) / (high - low) * 255)
        assert np.array_equal(enhance(dull, 0, 1.0, False), expected)

    def test_gray(self, dull: np.ndarray) -> None:
        """A gray image is one channel, with or without an axis for it."""
        channel = np.ascontiguousarray(dull[:, :, 0])
        expected = enhance(dull, 3, 1.3, False)[:, :, 0]
        assert np.array_equal(enhance(channel, 3, 1.3, False), expected)
        assert np.array_equal(enhance(channel[:, :, None], 3, 1.3, False), expected[:, :, None])

    def test_full_range_stays(self) -> None:
        """An image that has all levels is not changed."""
        image = np.arange(256, dtype=np.uint8).reshape(16, 16)
        assert np.array_equal(enhance(image, 0, 1.0, False), image)

    @pytest.mark.parametrize("clip", [0, 2, 50])
    @pytest.mark.parametrize("level", [0, 90, 255])
    def test_one_level(self, clip: int, level: int) -> None:
        """A channel of one level stays as it is."""
        image = np.full((5, 5, 3), level, np.uint8)
        assert np.array_equal(enhance(image, clip, 1.0, True), image) or level == 90
        assert np.array_equal(enhance(image, clip, 1.0, False), image)

    def test_transparency(self, dull: np.ndarray) -> None:
        """A fourth channel is transparency and stays."""
        with_alpha = np.dstack([dull, dull[:, :, 0]])
        result = enhance(with_alpha, 0, 2.0, True)
        assert np.array_equal(result[:, :, 3], dull[:, :, 0])
        assert np.array_equal(result[:, :, :3], enhance(dull, 0, 2.0, True))

    def test_one_pixel(self) -> None:
        """The smallest image works."""
        assert enhance(np.full((1, 1), 90, np.uint8), 0, 1.0, False).tolist() == [[90]]


class TestClip:
    @pytest.mark.parametrize("clip", [1, 5, 20, 49])
    def test_brute_force(self, dull: np.ndarray, clip: int) -> None:
        """The range goes from the pixel at `clip` percent of the sorted ones to its mirror."""
        result = enhance(dull, clip, 1.0, False)
        for channel in range(3):
            ordered = np.sort(dull[:, :, channel].ravel()).astype(float)
            skipped = len(ordered) * clip // 100
            low, high = ordered[skipped], ordered[-1 - skipped]
            expected = np.clip((dull[:, :, channel] - low) / (high - low), 0, 1) * 255
            assert np.array_equal(result[:, :, channel], np.rint(expected))

    def test_outliers(self) -> None:
        """Single dark and bright pixels do not decide with a clip, and do without."""
        image = np.tile(np.arange(100, 120, dtype=np.uint8), (20, 1))
        image[0, 0], image[0, 1] = 0, 255
        assert np.ptp(enhance(image, 0, 1.0, False)[1:]) < 25
        assert np.ptp(enhance(image, 1, 1.0, False)[1:]) == 255

    def test_mostly_one_level(self) -> None:
        """Where clipping leaves one level, the channel stays as it is."""
        image = np.full((10, 10), 200, np.uint8)
        image[0, :3] = 10
        assert np.array_equal(enhance(image, 5, 1.0, False), image)


class TestMultiplier:
    @pytest.mark.parametrize("multiplier", [0.1, 0.5, 1.7, 5.0])
    def test_formula(self, dull: np.ndarray, multiplier: float) -> None:
        """Distances from the middle grow by the factor, within 0..255."""
        low, high = dull.min(axis=(0, 1)).astype(float), dull.max(axis=(0, 1)).astype(float)
        stretched = (dull - low) / (high - low) * 255
        expected = np.rint(np.clip((stretched - 127.5) * multiplier + 127.5, 0, 255))
        assert np.array_equal(enhance(dull, 0, multiplier, False), expected)


class TestBrightness:
    @pytest.mark.parametrize("power", [0.3, 3.0])
    def test_mean_comes_to_the_middle(self, power: float) -> None:
        """A dark and a bright image get nearer to the middle, and keep black and white."""
        ramp = np.linspace(0, 1, 256 * 4).reshape(32, 32) ** power * 255
        image = np.rint(ramp).astype(np.uint8)
        before, after = image.mean(), enhance(image, 0, 1.0, True).mean()
        assert abs(after - 127.5) < abs(before - 127.5) / 2
        assert enhance(image, 0, 1.0, True).min() == 0
        assert enhance(image, 0, 1.0, True).max() == 255

    def test_curve(self) -> None:
        """The power takes the mean level to one half: by hand."""
        image = np.array([[0, 51, 51, 255]], np.uint8)
        mean = (0 + 51 + 51 + 255) / 4 / 255
        gamma = np.log(0.5) / np.log(mean)
        expected = np.rint(255 * (image / 255) ** gamma)
        assert np.array_equal(enhance(image, 0, 1.0, True), expected)

    def test_gray_stays_gray(self) -> None:
        """One curve for all channels: what is gray stays gray."""
        ramp = np.tile(np.arange(0, 120, dtype=np.uint8), (9, 1))
        result = enhance(cv2.cvtColor(ramp, cv2.COLOR_GRAY2BGR), 0, 1.0, True)
        assert np.ptp(result, axis=2).max() == 0

    @pytest.mark.parametrize("level", [0, 255])
    def test_black_and_white(self, level: int) -> None:
        """No curve brings these to the middle."""
        image = np.full((4, 4, 3), level, np.uint8)
        assert np.array_equal(enhance(image, 0, 1.0, True), image)


class TestFields:
    @pytest.mark.parametrize(
        ("clip", "multiplier", "text"),
        [
            (51, 1.0, "Field `clip_limit` must be a whole number from 0 to 50, got 51."),
            (0, 0.05, "Field `contrast_multiplier` must be a number from 0.1 to 5.0, got 0.05."),
        ],
    )
    def test_bad(self, dull: np.ndarray, clip: int, multiplier: float, text: str) -> None:
        """The error names field, range and value."""
        with pytest.raises(InvalidFieldValueError) as caught:
            enhance(dull, clip, multiplier, False)
        assert str(caught.value) == text

    @pytest.mark.parametrize(
        "field", [{"clip_limit": 51}, {"clip_limit": "$inputs.x"}, {"contrast_multiplier": 6}]
    )
    def test_manifest(self, field: dict[str, Any]) -> None:
        """Limits are part of the schema, and these fields take no references."""
        step = {"type": "roboflow_core/contrast_enhancement@v1", "name": "s", "image": "$inputs.i"}
        with pytest.raises(ValidationError):
            ContrastEnhancementManifest.model_validate({**step, **field})

    def test_block(
        self,
        dull: np.ndarray,
        as_image: Callable[..., Any],
        run_block: Callable[..., dict[str, Any]],
    ) -> None:
        """By default the image is stretched and keeps its lineage."""
        result = run_block(ContrastEnhancementBlockV1, {"image": as_image(dull)})
        assert np.array_equal(result["image"].numpy_image, enhance(dull, 0, 1.0, False))
        assert result["image"].parent_metadata.parent_id == "image"
