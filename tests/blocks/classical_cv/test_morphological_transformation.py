from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from blocks.classical_cv.morphological_transformation.family import OPERATIONS, transform
from blocks.classical_cv.morphological_transformation.v1 import MorphologicalTransformationBlockV1
from blocks.classical_cv.morphological_transformation.v2 import (
    OPERATIONS_V2,
    MorphologicalTransformationBlockV2,
)


def extreme(gray: np.ndarray, size: int, largest: bool) -> np.ndarray:
    """Brute force: the largest or smallest value of the part of each window inside the image."""
    height, width = gray.shape
    before, after = size // 2, size - size // 2
    result = np.empty_like(gray)
    for y in range(height):
        for x in range(width):
            window = gray[max(y - before, 0) : y + after, max(x - before, 0) : x + after]
            result[y, x] = window.max() if largest else window.min()
    return result


def erode(gray: np.ndarray, size: int) -> np.ndarray:
    return extreme(gray, size, largest=False)


def dilate(gray: np.ndarray, size: int) -> np.ndarray:
    return extreme(gray, size, largest=True)


def open_(gray: np.ndarray, size: int) -> np.ndarray:
    return dilate(erode(gray, size), size)


def close(gray: np.ndarray, size: int) -> np.ndarray:
    return erode(dilate(gray, size), size)


ORACLES = {
    "Erosion": erode,
    "Dilation": dilate,
    "Opening": open_,
    "Closing": close,
    "Gradient": lambda gray, size: dilate(gray, size) - erode(gray, size),
    "Top Hat": lambda gray, size: gray - np.minimum(open_(gray, size), gray),
    "Black Hat": lambda gray, size: np.maximum(close(gray, size), gray) - gray,
    "Opening then Closing": lambda gray, size: close(open_(gray, size), size),
}


class TestTransform:
    @pytest.mark.parametrize("operation", list(ORACLES))
    @pytest.mark.parametrize("size", [1, 3, 5])
    def test_brute_force(self, operation: str, size: int, noise: np.ndarray) -> None:
        """Every operation agrees with brute force on odd windows."""
        gray = noise[:13, :17, 0].copy()
        result = transform(gray, size, operation, OPERATIONS_V2)
        assert np.array_equal(result, ORACLES[operation](gray, size))

    @pytest.mark.parametrize(("operation", "oracle"), [("Erosion", erode), ("Dilation", dilate)])
    @pytest.mark.parametrize("size", [2, 4])
    def test_even_window(self, operation: str, oracle: Any, size: int, noise: np.ndarray) -> None:
        """An even window reaches one pixel further to the top and left."""
        gray = noise[:9, :11, 1].copy()
        assert np.array_equal(transform(gray, size, operation), oracle(gray, size))

    @pytest.mark.parametrize("operation", list(OPERATIONS))
    def test_window_larger_than_the_image(self, operation: str, noise: np.ndarray) -> None:
        """Once the window covers the image, a larger one changes nothing."""
        gray = noise[:5, :8, 2].copy()
        assert np.array_equal(transform(gray, 1_000_001, operation), ORACLES[operation](gray, 41))

    @pytest.mark.parametrize("size", [0, -1, 2.5, "5"])
    def test_bad_size(self, size: Any) -> None:
        """A bad size is refused by field."""
        with pytest.raises(ValueError, match="Field `kernel_size` must be a whole number"):
            transform(np.zeros((3, 3), np.uint8), size, "Erosion")

    def test_unknown_operation(self) -> None:
        """The operation of a later version is unknown to the first."""
        with pytest.raises(ValueError, match="Field `operation` must be one of `Erosion`"):
            transform(np.zeros((3, 3), np.uint8), 3, "Opening then Closing")


class TestMorphologicalTransformationBlockV1:
    def test_gray_result(self, as_image: Any, run_block: Any) -> None:
        """Colour becomes one channel; the default closes gaps up to 4 px wide."""
        pixels = np.full((20, 20, 3), 200, np.uint8)
        pixels[:, 5:9] = 0
        pixels[:, 12:18] = 0
        image = as_image(pixels)
        result = run_block(MorphologicalTransformationBlockV1, {"image": image})["image"]
        assert result.numpy_image.shape == (20, 20)
        assert (result.numpy_image[:, 5:9] == 200).all()
        assert (result.numpy_image[:, 13:17] == 0).all()

    def test_single_channel(self, as_image: Any, run_block: Any) -> None:
        """A gray image is taken as it is."""
        image = as_image(np.array([[0, 9, 0]], np.uint8))
        result = run_block(
            MorphologicalTransformationBlockV1, {"image": image},
            operation="Dilation", kernel_size=3,
        )  # fmt: skip
        assert result["image"].numpy_image.tolist() == [[9, 9, 9]]


class TestMorphologicalTransformationBlockV2:
    def test_channels_apart(self, as_image: Any, run_block: Any, noise: np.ndarray) -> None:
        """Each channel is treated for itself; the default opens, then closes."""
        part = noise[:12, :14].copy()
        result = run_block(MorphologicalTransformationBlockV2, {"image": as_image(part)})
        expected = [ORACLES["Opening then Closing"](part[:, :, i], 5) for i in range(3)]
        assert np.array_equal(result["image"].numpy_image, np.stack(expected, axis=2))

    def test_gray_becomes_colour(self, as_image: Any, run_block: Any) -> None:
        """A gray image gives a colour image of equal channels."""
        image = as_image(np.array([[0, 9, 0]], np.uint8))
        result = run_block(
            MorphologicalTransformationBlockV2, {"image": image},
            operation="Dilation", kernel_size=3,
        )  # fmt: skip
        assert result["image"].numpy_image.tolist() == [[[9] * 3] * 3]
