from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from blocks.classical_cv.image_preprocessing.family import flip, resize, rotate
from blocks.classical_cv.image_preprocessing.v1 import ImagePreprocessingBlockV1


@pytest.fixture
def four_colors() -> np.ndarray:
    """(80, 120, 3): blue, green, red and light gray quarters, the last with a dark stripe."""
    image = np.zeros((80, 120, 3), np.uint8)
    image[:40, :60] = (255, 0, 0)
    image[:40, 60:] = (0, 255, 0)
    image[40:, :60] = (0, 0, 255)
    image[40:, 60:] = (200, 200, 200)
    image[40:, 60:70] = (10, 10, 10)
    return image


class TestResize:
    def test_mean_of_area(self, noise: np.ndarray) -> None:
        """Shrinking by whole numbers takes the mean of each block."""
        expected = noise.reshape(30, 3, 60, 2, 3).mean(axis=(1, 3))
        assert np.abs(resize(noise, width=60, height=30) - expected).max() <= 0.51

    def test_repeats(self, noise: np.ndarray) -> None:
        """Growing by whole numbers repeats pixels."""
        expected = noise[:5, :4].repeat(3, axis=0).repeat(2, axis=1)
        assert np.array_equal(resize(noise[:5, :4].copy(), width=8, height=15), expected)

    @pytest.mark.parametrize("shape", [(7, 5), (7, 5, 3), (1, 1)])
    def test_shape(self, shape: tuple[int, ...]) -> None:
        """Sizes are width and height; channels are kept."""
        result = resize(np.zeros(shape, np.uint8), width=9, height=2)
        assert result.shape == (2, 9, *shape[2:])

    @pytest.mark.parametrize(
        ("field", "size"), [("width", (0, 5)), ("height", (5, -1)), ("width", (2**31, 5))]
    )
    def test_bad_size(self, field: str, size: tuple[int, int]) -> None:
        """A size below 1, or one that would take all memory, is refused by field."""
        with pytest.raises(ValueError, match=f"Field `{field}` must be a whole number from 1 to"):
            resize(np.zeros((3, 3), np.uint8), *size)


class TestRotate:
    def test_quarter_turn(self, noise: np.ndarray) -> None:
        """90 degrees turn counter-clockwise, shifted down by one row."""
        result = rotate(noise, 90)
        assert result.shape == (120, 90, 3)
        assert np.array_equal(result[1:], np.rot90(noise)[:-1])

    @pytest.mark.parametrize("degrees", [0, 360, -720])
    def test_full_turn(self, degrees: int, noise: np.ndarray) -> None:
        """Whole turns change nothing."""
        assert np.array_equal(rotate(noise, degrees), noise)

    @pytest.mark.parametrize("degrees", [30, -45, 179, 765])
    def test_canvas(self, degrees: int, noise: np.ndarray) -> None:
        """The canvas has the size of the turned rectangle's bounding box."""
        angle = np.deg2rad(degrees)
        width = 120 * abs(np.cos(angle)) + 90 * abs(np.sin(angle))
        height = 90 * abs(np.cos(angle)) + 120 * abs(np.sin(angle))
        assert rotate(noise, degrees).shape[:2] == (int(height + 1e-6), int(width + 1e-6))

    @pytest.mark.parametrize("degrees", [90, 180, 270, -90, 3690])
    @pytest.mark.parametrize("shape", [(1, 1), (1, 9), (9, 1), (2, 3, 3)])
    def test_right_angles_lose_no_row(self, degrees: int, shape: tuple[int, ...]) -> None:
        """Turns by right angles keep or swap the sides exactly."""
        swap = degrees % 180 != 0
        expected = shape[1::-1] if swap else shape[:2]
        assert rotate(np.zeros(shape, np.uint8), degrees).shape[:2] == expected

    def test_bad_angle(self) -> None:
        """A fraction of a degree is refused by field."""
        with pytest.raises(ValueError, match="Field `rotation_degrees` must be a whole number"):
            rotate(np.zeros((3, 3), np.uint8), 1.5)  # type: ignore[arg-type]


class TestFlip:
    @pytest.mark.parametrize(
        ("flip_type", "expected"),
        [
            ("vertical", [[3, 4], [1, 2]]),
            ("horizontal", [[2, 1], [4, 3]]),
            ("both", [[4, 3], [2, 1]]),
        ],
    )
    def test_directions(self, flip_type: str, expected: list[list[int]]) -> None:
        """`vertical` swaps top and bottom, `horizontal` left and right."""
        assert flip(np.array([[1, 2], [3, 4]], np.uint8), flip_type).tolist() == expected

    def test_unknown(self) -> None:
        """An unknown type is refused with the known ones."""
        with pytest.raises(ValueError, match="`flip_type` must be one of `vertical`, `horizontal`"):
            flip(np.zeros((2, 2), np.uint8), "diagonal")


class TestImagePreprocessingBlockV1:
    @pytest.mark.parametrize(
        ("literals", "shape", "mean", "std"),
        [
            (
                {"task_type": "resize", "width": 100, "height": 50},
                (50, 100, 3), [105.835] * 3, [115.555] * 3,
            ),
            (
                {"task_type": "rotate"},
                (120, 80, 3), [104.771, 105.833, 104.771], [115.524, 115.728, 115.524],
            ),
            (
                {"task_type": "rotate", "rotation_degrees": 30},
                (129, 143, 3), [55.071, 55.077, 55.073], [97.905, 98.14, 97.913],
            ),
            ({"task_type": "flip"}, (80, 120, 3), [105.833] * 3, [115.728] * 3),
        ],
    )  # fmt: skip
    def test_recorded(
        self, as_image: Any, run_block: Any, four_colors: np.ndarray,
        literals: dict[str, Any], shape: tuple[int, ...], mean: list[float], std: list[float],
    ) -> None:  # fmt: skip
        """Results agree with those of Roboflow Workflows on the same scene."""
        image = as_image(four_colors)
        result = run_block(ImagePreprocessingBlockV1, {"image": image}, **literals)["image"]
        assert result.numpy_image.shape == shape
        assert result.numpy_image.mean(axis=(0, 1)) == pytest.approx(mean, abs=0.05)
        assert result.numpy_image.std(axis=(0, 1)) == pytest.approx(std, abs=0.05)

    def test_default_flip(self, as_image: Any, run_block: Any, four_colors: np.ndarray) -> None:
        """A flip is vertical unless told otherwise."""
        image = as_image(four_colors)
        result = run_block(ImagePreprocessingBlockV1, {"image": image}, task_type="flip")
        assert np.array_equal(result["image"].numpy_image, four_colors[::-1])

    def test_default_size(self, as_image: Any, run_block: Any, four_colors: np.ndarray) -> None:
        """Without sizes an image is resized to 640 x 640."""
        image = as_image(four_colors)
        result = run_block(ImagePreprocessingBlockV1, {"image": image}, task_type="resize")
        assert result["image"].size == (640, 640)
