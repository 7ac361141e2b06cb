from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from blocks.classical_cv.convert_grayscale.v1 import ConvertGrayscaleBlockV1


class TestConvertGrayscaleBlockV1:
    def test_against_weights(self, as_image: Any, run_block: Any, noise: np.ndarray) -> None:
        """Each pixel is 0.114 B + 0.587 G + 0.299 R, to the nearest level or the one beside it."""
        result = run_block(ConvertGrayscaleBlockV1, {"image": as_image(noise)})["image"]
        expected = noise @ np.array([0.114, 0.587, 0.299])
        assert result.numpy_image.shape == (90, 120)
        assert result.numpy_image.dtype == np.uint8
        assert np.abs(result.numpy_image - expected).max() <= 0.51

    @pytest.mark.parametrize("shape", [(1, 1), (1, 1, 3), (7, 2), (7, 2, 3)])
    def test_shapes(self, as_image: Any, run_block: Any, shape: tuple[int, ...]) -> None:
        """Odd sizes, one pixel and one channel all give (h, w)."""
        image = as_image(np.full(shape, 77, np.uint8))
        result = run_block(ConvertGrayscaleBlockV1, {"image": image})["image"]
        assert result.numpy_image.shape == shape[:2]
        assert (result.numpy_image == 77).all()

    def test_lineage(self, as_image: Any, run_block: Any) -> None:
        """The result keeps the parent of the image."""
        image = as_image(np.zeros((4, 4, 3), np.uint8), "frame")
        result = run_block(ConvertGrayscaleBlockV1, {"image": image})["image"]
        assert result.parent_metadata.parent_id == "frame"
