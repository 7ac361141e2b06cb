from __future__ import annotations

import numpy as np
import pytest

from blocks.classical_cv.channels import to_bgr, to_gray


class TestToGray:
    def test_weights(self) -> None:
        """Blue, green and red weigh 0.114, 0.587 and 0.299."""
        pixels = np.array([[[255, 0, 0], [0, 255, 0], [0, 0, 255]]], np.uint8)
        assert to_gray(pixels).tolist() == [[29, 150, 76]]

    @pytest.mark.parametrize("shape", [(4, 5), (4, 5, 1)])
    def test_single_channel(self, shape: tuple[int, ...]) -> None:
        """One channel comes back as (h, w) with the same values."""
        pixels = np.arange(20, dtype=np.uint8).reshape(shape)
        assert np.array_equal(to_gray(pixels), pixels.reshape(4, 5))

    def test_alpha_is_dropped(self) -> None:
        """The fourth channel does not count."""
        pixels = np.array([[[10, 20, 30, 0]]], np.uint8)
        assert np.array_equal(to_gray(pixels), to_gray(pixels[:, :, :3]))

    @pytest.mark.parametrize("shape", [(0, 5), (4, 5, 2), (5,), (1, 4, 5, 3), (4, 0, 3)])
    def test_no_image(self, shape: tuple[int, ...]) -> None:
        """Other arrays are refused with their shape."""
        with pytest.raises(ValueError, match=r"\(h, w\) or \(h, w, 3\).*got shape") as caught:
            to_gray(np.zeros(shape, np.uint8))
        assert str(shape) in str(caught.value)


class TestToBgr:
    def test_colour_is_kept(self) -> None:
        """Three channels come back as they are."""
        pixels = np.zeros((2, 2, 3), np.uint8)
        assert to_bgr(pixels) is pixels

    @pytest.mark.parametrize("shape", [(4, 5), (4, 5, 1)])
    def test_gray_is_repeated(self, shape: tuple[int, ...]) -> None:
        """A single channel is repeated three times."""
        pixels = np.arange(20, dtype=np.uint8).reshape(shape)
        expected = np.repeat(pixels.reshape(4, 5, 1), 3, axis=2)
        assert np.array_equal(to_bgr(pixels), expected)

    def test_alpha_is_dropped(self) -> None:
        """Of four channels the first three stay."""
        pixels = np.arange(16, dtype=np.uint8).reshape(2, 2, 4)
        assert np.array_equal(to_bgr(pixels), pixels[:, :, :3])
