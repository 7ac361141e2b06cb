from __future__ import annotations

import warnings
from typing import Any

import numpy as np
import pytest
from skimage import exposure

from blocks.classical_cv.contrast_equalization.family import equalize
from blocks.classical_cv.contrast_equalization.v1 import ContrastEqualizationBlockV1

TYPES = ("Contrast Stretching", "Histogram Equalization", "Adaptive Equalization")


@pytest.fixture
def dull() -> np.ndarray:
    """(96, 128, 3): a smooth coloured scene of low contrast."""
    y, x = np.mgrid[:96, :128]
    waves = [80 + 30 * np.sin(x / (9 + 4 * i)) * np.cos(y / (7 + 3 * i)) for i in range(3)]
    return np.stack(waves, axis=2).astype(np.uint8)


class TestContrastStretching:
    def test_oracle(self, dull: np.ndarray, coins: np.ndarray) -> None:
        """Colour and gray agree with scikit-image between the 2nd and 98th percentile."""
        for pixels in (dull, dull[:, :, 1].copy(), coins):
            limits = tuple(np.percentile(pixels, (2, 98)))
            expected = exposure.rescale_intensity(pixels, in_range=limits)
            assert np.array_equal(equalize(pixels, "Contrast Stretching"), expected)


class TestHistogramEqualization:
    def test_oracle(self, dull: np.ndarray, coins: np.ndarray) -> None:
        """Colour and gray agree with scikit-image, all channels under one mapping."""
        for pixels in (dull, dull[:, :, 1].copy(), coins):
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                expected = exposure.equalize_hist(pixels.astype(np.float32) / 255) * 255
            result = equalize(pixels, "Histogram Equalization").astype(int)
            assert np.abs(result - expected.astype(np.uint8)).max() <= 1


class TestAdaptiveEqualization:
    def test_oracle(self, dull: np.ndarray, coins: np.ndarray) -> None:
        """Colour, gray and sizes that tiles do not divide agree with scikit-image."""
        for pixels in (dull, dull[:, :, 1].copy(), dull[:37, :51].copy(), coins):
            expected = exposure.equalize_adapthist(pixels.astype(np.float32) / 255, clip_limit=0.03)
            result = equalize(pixels, "Adaptive Equalization").astype(int)
            assert np.abs(result - (expected * 255).astype(np.uint8)).max() <= 1

    def test_hue_is_kept(self, dull: np.ndarray) -> None:
        """The channels of a pixel keep their ratios."""
        result = equalize(dull, "Adaptive Equalization").astype(float)
        bright = result.max(axis=2) > 100
        before, after = dull[bright].astype(float), result[bright]
        before /= before.max(axis=1, keepdims=True)
        after /= after.max(axis=1, keepdims=True)
        assert np.abs(before - after).max() < 0.02

    def test_black_stays_gray(self) -> None:
        """Black pixels of a colour image never turn coloured."""
        pixels = np.zeros((40, 40, 3), np.uint8)
        pixels[:20] = (0, 0, 200)
        result = equalize(pixels, "Adaptive Equalization")[20:]
        assert (result == result[:, :, :1]).all()


class TestEqualize:
    @pytest.mark.parametrize("equalization_type", TYPES)
    def test_contrast_rises(self, equalization_type: str, dull: np.ndarray) -> None:
        """A dull image gets more contrast."""
        assert equalize(dull, equalization_type).std() > 1.5 * dull.std()

    @pytest.mark.parametrize("equalization_type", TYPES)
    @pytest.mark.parametrize("shape", [(1, 1), (1, 1, 3), (9, 2), (5, 17, 3)])
    def test_shapes(self, equalization_type: str, shape: tuple[int, ...]) -> None:
        """Small and odd images keep shape and dtype."""
        pixels = np.arange(np.prod(shape)).reshape(shape).astype(np.uint8)
        result = equalize(pixels, equalization_type)
        assert result.shape == shape
        assert result.dtype == np.uint8

    @pytest.mark.parametrize("equalization_type", ["Contrast Stretching", "Adaptive Equalization"])
    def test_flat(self, equalization_type: str) -> None:
        """An image of one level stays as it is."""
        pixels = np.full((6, 6, 3), 40, np.uint8)
        assert np.array_equal(equalize(pixels, equalization_type), pixels)

    def test_unknown(self) -> None:
        """An unknown type is refused with the known ones."""
        with pytest.raises(ValueError, match="Field `equalization_type` must be one of `Contrast"):
            equalize(np.zeros((2, 2), np.uint8), "Gamma")


class TestContrastEqualizationBlockV1:
    def test_default(self, as_image: Any, run_block: Any, dull: np.ndarray) -> None:
        """The histogram is equalised unless told otherwise."""
        result = run_block(ContrastEqualizationBlockV1, {"image": as_image(dull)})["image"]
        assert np.array_equal(result.numpy_image, equalize(dull, "Histogram Equalization"))
