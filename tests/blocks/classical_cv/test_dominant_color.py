from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from pydantic import ValidationError

from blocks.classical_cv.dominant_color.family import dominant_color
from blocks.classical_cv.dominant_color.v1 import DominantColorBlockV1, DominantColorManifest


def stripes(*parts: tuple[int, tuple[int, int, int]]) -> np.ndarray:
    """(20, w, 3) BGR: columns of the given widths and (red, green, blue) colours."""
    columns = [color[::-1] for width, color in parts for _ in range(width)]
    return np.tile(np.array(columns, np.uint8), (20, 1, 1))


class TestDominantColor:
    def test_largest_area(self) -> None:
        """The colour of the largest area wins, as (red, green, blue)."""
        image = stripes((10, (250, 10, 20)), (30, (10, 20, 200)), (15, (0, 255, 0)))
        assert dominant_color(image, 4, 100, 100) == (10, 20, 200)

    def test_similar_colours_count_together(self) -> None:
        """Shades of one colour outweigh a single more frequent one; their mean is returned."""
        shades = [(7, (200 + shade, 40, 40)) for shade in range(-3, 4)]
        image = stripes((20, (0, 0, 255)), *shades)
        assert dominant_color(image, 2, 100, 100) == (200, 40, 40)

    def test_one_cluster_is_the_mean(self, noise: np.ndarray) -> None:
        """One group has the mean of all pixels."""
        blue, green, red = noise.reshape(-1, 3).mean(axis=0)
        assert dominant_color(noise, 1, 100, 100) == (round(red), round(green), round(blue))

    def test_thinning_out(self) -> None:
        """Every n-th pixel counts, n being the shorter side over the target size."""
        image = np.zeros((40, 60, 3), np.uint8)
        image[::4, ::4] = (1, 2, 3)
        assert dominant_color(image, 1, 100, 10) == (3, 2, 1)
        assert dominant_color(image, 1, 100, 250) == (0, 0, 0)

    @pytest.mark.parametrize("shape", [(1, 1), (1, 1, 3), (2, 30, 3)])
    def test_fewer_colours_than_groups(self, shape: tuple[int, ...]) -> None:
        """An image with fewer colours than groups is no problem; gray counts as equal channels."""
        assert dominant_color(np.full(shape, 9, np.uint8), 10, 1, 1) == (9, 9, 9)

    @settings(max_examples=25, deadline=None)
    @given(st.integers(0, 2**32 - 1), st.integers(1, 10))
    def test_converged(self, seed: int, clusters: int) -> None:
        """The answer is repeatable and lies within the range of the colours."""
        pixels = np.random.default_rng(seed).integers(30, 220, (9, 11, 3), dtype=np.uint8)
        color = dominant_color(pixels, clusters, 500, 250)
        assert color == dominant_color(pixels.copy(), clusters, 500, 250)
        assert all(
            pixels[:, :, 2 - i].min() <= color[i] <= pixels[:, :, 2 - i].max() for i in range(3)
        )

    @pytest.mark.parametrize(
        ("field", "values"),
        [
            ("color_clusters", (0, 1, 1)),
            ("color_clusters", (11, 1, 1)),
            ("max_iterations", (1, 501, 1)),
            ("target_size", (1, 1, 251)),
        ],
    )
    def test_bad_values(self, field: str, values: tuple[int, int, int]) -> None:
        """Values outside the limits are refused by field."""
        with pytest.raises(ValueError, match=f"Field `{field}` must be a whole number from 1 to"):
            dominant_color(np.zeros((2, 2, 3), np.uint8), *values)


class TestDominantColorBlockV1:
    def test_defaults(self, as_image: Any, run_block: Any) -> None:
        """The defaults work on a plain scene."""
        image = as_image(stripes((30, (200, 100, 50)), (10, (0, 0, 0))))
        assert run_block(DominantColorBlockV1, {"image": image})["rgb_color"] == (200, 100, 50)

    @pytest.mark.parametrize("field", ["color_clusters", "max_iterations", "target_size"])
    def test_limits_at_compile_time(self, field: str) -> None:
        """Literals outside the limits do not pass the manifest, references do."""
        step = {"type": "roboflow_core/dominant_color@v1", "name": "s", "image": "$inputs.image"}
        with pytest.raises(ValidationError, match=field):
            DominantColorManifest.model_validate({**step, field: 0})
        assert DominantColorManifest.model_validate({**step, field: "$inputs.value"})
