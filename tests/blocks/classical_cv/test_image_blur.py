from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from blocks.classical_cv.image_blur.family import blur
from blocks.classical_cv.image_blur.v1 import ImageBlurBlockV1


def windows(gray: np.ndarray, size: int) -> np.ndarray:
    """(h, w, size, size) neighbourhoods; the border mirrors the inside without its edge."""
    padded = np.pad(gray, size // 2, mode="reflect")
    return np.lib.stride_tricks.sliding_window_view(padded, (size, size))


class TestBlur:
    def test_average(self, noise: np.ndarray) -> None:
        """`average` is the mean of the window."""
        gray = noise[:, :, 0]
        expected = windows(gray.astype(float), 5).mean(axis=(2, 3))
        assert np.abs(blur(gray, "average", 5) - expected).max() <= 0.51

    def test_median(self, noise: np.ndarray) -> None:
        """`median` is the median of the window, away from the border."""
        gray = noise[:, :, 0]
        expected = np.median(windows(gray, 5), axis=(2, 3))
        assert np.array_equal(blur(gray, "median", 5)[2:-2, 2:-2], expected[2:-2, 2:-2])

    @pytest.mark.parametrize("size", [5, 9])
    def test_gaussian(self, noise: np.ndarray, size: int) -> None:
        """`gaussian` weighs with binomial numbers, from 9 px on with the sigma of the size."""
        gray, half = noise[:, :, 0], size // 2
        sigma = 0.3 * (half - 1) + 0.8
        weights = np.exp(-(np.arange(-half, half + 1) ** 2) / (2 * sigma**2))
        if size == 5:
            weights = np.array([1, 4, 6, 4, 1])
        kernel = np.outer(weights, weights) / weights.sum() ** 2
        expected = (windows(gray.astype(float), size) * kernel).sum(axis=(2, 3))
        assert np.abs(blur(gray, "gaussian", size) - expected).max() <= 1

    def test_bilateral_keeps_edges(self) -> None:
        """`bilateral` smooths either side of a strong edge, not the edge."""
        gray = np.zeros((20, 20), np.uint8)
        gray[:, 10:] = 250
        gray[::2] += 4
        result = blur(gray, "bilateral", 5).astype(int)
        assert (result[:, 9] < 10).all()
        assert (result[:, 10] > 240).all()
        assert result[5:15, :8].std() < gray[5:15, :8].std()

    @pytest.mark.parametrize("blur_type", ["average", "gaussian", "median", "bilateral"])
    @pytest.mark.parametrize("shape", [(1, 1), (1, 1, 3), (3, 7), (5, 2, 3)])
    def test_small_images(self, blur_type: str, shape: tuple[int, ...]) -> None:
        """Images smaller than the window work, and a flat image stays flat."""
        pixels = np.full(shape, 9, np.uint8)
        assert np.array_equal(blur(pixels, blur_type, 7), pixels)

    @pytest.mark.parametrize("blur_type", ["gaussian", "median"])
    def test_even_size(self, blur_type: str) -> None:
        """An even size is refused where the window needs a middle."""
        with pytest.raises(ValueError, match="Field `kernel_size` must be odd"):
            blur(np.zeros((4, 4), np.uint8), blur_type, 4)

    @pytest.mark.parametrize("blur_type", ["average", "gaussian", "median", "bilateral"])
    @pytest.mark.parametrize("size", [0, -3, 2.5, None, 1_000_001])
    def test_bad_size(self, blur_type: str, size: Any) -> None:
        """A size below 1, a fraction, nothing, and a window that would take minutes are refused by
        field.
        """
        with pytest.raises(ValueError, match="Field `kernel_size` must be a whole number"):
            blur(np.zeros((4, 4), np.uint8), blur_type, size)

    def test_unknown_type(self) -> None:
        """An unknown type is refused with the known ones."""
        with pytest.raises(ValueError, match="`blur_type` must be one of `average`, `gaussian`"):
            blur(np.zeros((4, 4), np.uint8), "box", 3)


class TestImageBlurBlockV1:
    @pytest.mark.parametrize(
        ("literals", "mean", "std"),
        [
            ({"blur_type": "average", "kernel_size": 7}, 96.866, 47.094),
            ({"blur_type": "gaussian", "kernel_size": 9}, 96.866, 48.036),
            ({"blur_type": "median", "kernel_size": 5}, 96.233, 50.529),
            ({"blur_type": "bilateral", "kernel_size": 9}, 96.762, 51.707),
            ({}, 96.866, 49.827),
        ],
    )
    def test_recorded(
        self, as_image: Any, run_block: Any, coins: np.ndarray,
        literals: dict[str, Any], mean: float, std: float,
    ) -> None:  # fmt: skip
        """Statistics agree with those of Roboflow Workflows on the same photograph."""
        result = run_block(ImageBlurBlockV1, {"image": as_image(coins)}, **literals)["image"]
        assert result.numpy_image.mean() == pytest.approx(mean, abs=0.05)
        assert result.numpy_image.std() == pytest.approx(std, abs=0.05)
