from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from skimage.filters import threshold_otsu

from blocks.classical_cv.threshold.family import threshold
from blocks.classical_cv.threshold.v1 import ImageThresholdBlockV1

RULES = {
    "binary": lambda v, t, m: np.where(v > t, m, 0),
    "binary_inv": lambda v, t, m: np.where(v > t, 0, m),
    "trunc": lambda v, t, m: np.minimum(v, t),
    "tozero": lambda v, t, m: np.where(v > t, v, 0),
    "tozero_inv": lambda v, t, m: np.where(v > t, 0, v),
}
ALL_TYPES = (*RULES, "otsu", "adaptive_mean", "adaptive_gaussian")


class TestThreshold:
    @pytest.mark.parametrize("threshold_type", list(RULES))
    @pytest.mark.parametrize(("level", "maximum"), [(100, 200), (0, 255), (255, 255), (127, 1)])
    def test_fixed(self, threshold_type: str, level: int, maximum: int) -> None:
        """The five simple rules hold for every gray level."""
        levels = np.arange(256, dtype=np.uint8).reshape(16, 16)
        expected = RULES[threshold_type](levels.astype(int), level, maximum)
        assert np.array_equal(threshold(levels, threshold_type, level, maximum), expected)

    @pytest.mark.parametrize("threshold_type", list(RULES))
    def test_channels_apart(self, threshold_type: str, noise: np.ndarray) -> None:
        """The simple rules work on each channel for itself."""
        result = threshold(noise, threshold_type, 90, 180)
        apart = [threshold(noise[:, :, i].copy(), threshold_type, 90, 180) for i in range(3)]
        assert np.array_equal(result, np.stack(apart, axis=2))

    def test_otsu(self, coins: np.ndarray) -> None:
        """`otsu` splits where scikit-image's threshold does, up to one level."""
        gray = coins[:, :, 0]
        result = threshold(gray, "otsu", 0, 200)
        assert set(np.unique(result)) == {0, 200}
        assert abs(int(gray[result == 0].max()) - threshold_otsu(gray)) <= 1

    def test_adaptive_mean(self, noise: np.ndarray) -> None:
        """`adaptive_mean` compares with the mean of the 11 x 11 px around less 2."""
        gray = noise[:, :, 0]
        padded = np.pad(gray.astype(float), 5, mode="edge")
        mean = np.lib.stride_tricks.sliding_window_view(padded, (11, 11)).mean(axis=(2, 3))
        expected = np.where(gray > np.rint(mean) - 2, 255, 0)
        differs = threshold(gray, "adaptive_mean", 0, 255) != expected
        # A mean half way between two levels may round either way.
        assert differs.mean() < 0.002

    @pytest.mark.parametrize("threshold_type", ["otsu", "adaptive_mean", "adaptive_gaussian"])
    def test_colour_becomes_gray(self, threshold_type: str, coins: np.ndarray) -> None:
        """Types that find their own level turn colour into one channel."""
        result = threshold(coins, threshold_type, 0, 255)
        assert result.shape == coins.shape[:2]
        assert np.array_equal(result, threshold(coins[:, :, 0], threshold_type, 0, 255))

    @pytest.mark.parametrize("threshold_type", ALL_TYPES)
    @pytest.mark.parametrize("shape", [(1, 1), (1, 1, 3), (2, 9), (9, 2, 3)])
    def test_small_images(self, threshold_type: str, shape: tuple[int, ...]) -> None:
        """Images smaller than the adaptive window work."""
        assert threshold(np.full(shape, 5, np.uint8), threshold_type, 3, 255).shape[:2] == shape[:2]

    @pytest.mark.parametrize(("maximum", "expected"), [(300, 255), (-5, 0)])
    @pytest.mark.parametrize("threshold_type", ["binary", "otsu", "adaptive_mean"])
    def test_maximum_is_clipped(self, threshold_type: str, maximum: int, expected: int) -> None:
        """A maximum outside 0..255 counts as the nearest level."""
        pixels = np.array([[0, 255]], np.uint8)
        assert threshold(pixels, threshold_type, 10, maximum).max() == expected

    @pytest.mark.parametrize(("field", "values"), [
        ("threshold_type", ("zero", 1, 1)),
        ("thresh_value", ("binary", 1.5, 1)),
        ("max_value", ("otsu", 1, None)),
    ])  # fmt: skip
    def test_bad_values(self, field: str, values: tuple[Any, ...]) -> None:
        """Bad values are refused by field, also where a type would not use them."""
        with pytest.raises(ValueError, match=f"Field `{field}` must be"):
            threshold(np.zeros((2, 2), np.uint8), *values)


class TestImageThresholdBlockV1:
    @pytest.mark.parametrize(
        ("threshold_type", "mean", "std"),
        [
            ("binary", 83.993, 98.711),
            ("binary_inv", 116.007, 98.711),
            ("trunc", 75.538, 26.525),
            ("tozero", 63.314, 77.192),
            ("tozero_inv", 33.542, 32.938),
            ("otsu", 77.553, 97.448),
            ("adaptive_mean", 116.882, 98.565),
            ("adaptive_gaussian", 122.351, 97.47),
        ],
    )
    def test_recorded(
        self, as_image: Any, run_block: Any, coins: np.ndarray,
        threshold_type: str, mean: float, std: float,
    ) -> None:  # fmt: skip
        """Statistics agree with those of Roboflow Workflows on the same photograph."""
        result = run_block(
            ImageThresholdBlockV1,
            {"image": as_image(coins[:, :, 0])},
            threshold_type=threshold_type, thresh_value=100, max_value=200,
        )["image"].numpy_image  # fmt: skip
        assert result.shape == (303, 384)
        assert result.mean() == pytest.approx(mean, abs=0.05)
        assert result.std() == pytest.approx(std, abs=0.05)

    def test_defaults(self, as_image: Any, run_block: Any) -> None:
        """By default pixels above the threshold become 255."""
        image = as_image(np.array([[99, 100, 101]], np.uint8))
        result = run_block(ImageThresholdBlockV1, {"image": image}, thresh_value=100)
        assert result["image"].numpy_image.tolist() == [[0, 0, 255]]
