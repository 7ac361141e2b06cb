"""What counts as an image."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from inference_models.errors import ModelInputError
from inference_models.preprocessing import as_image_list


class TestAsImageList:
    """`as_image_list`."""

    def test_one_image_or_several(self) -> None:
        """An array is one image, a list is as many as it holds; gray and colour may be mixed."""
        colour, gray = np.zeros((4, 5, 3), np.uint8), np.zeros((4, 5), np.uint8)
        assert [one.shape for one in as_image_list(colour)] == [(4, 5, 3)]
        assert [one.shape for one in as_image_list([gray, colour])] == [(4, 5), (4, 5, 3)]
        assert as_image_list(gray[:, :, None])[0].shape == (4, 5)

    def test_rgb_arrays_are_swapped(self) -> None:
        """The declared order decides."""
        image = np.zeros((1, 1, 3), np.uint8)
        image[0, 0] = (1, 2, 3)
        assert as_image_list(image, "rgb")[0].tolist() == [[[3, 2, 1]]]
        assert as_image_list(image, "bgr")[0].tolist() == [[[1, 2, 3]]]

    def test_pixels_are_not_copied(self) -> None:
        """An array in the usual form is handed on as it is."""
        image = np.zeros((4, 5, 3), np.uint8)
        assert as_image_list([image])[0] is image

    @pytest.mark.parametrize(
        ("images", "message"),
        [
            ([], "images is empty"),
            ("cat.jpg", "got str"),
            (None, "got NoneType"),
            ([np.zeros((4, 4, 3), np.uint8), "cat"], r"images\[1\] must be .* got str"),
            (np.zeros((4, 4, 3), np.float32), "uint8 values 0-255, got float32"),
            (np.zeros((4, 4, 4), np.uint8), r"got \(4, 4, 4\)"),
            (np.zeros((2, 4, 4, 3), np.uint8), r"got \(2, 4, 4, 3\)"),
            (np.zeros((0, 4, 3), np.uint8), r"has no pixels: its size is \(0, 4\)"),
        ],
    )
    def test_what_is_no_image_is_named(self, images: Any, message: str) -> None:
        """The error says which image is wrong and what was expected."""
        with pytest.raises(ModelInputError, match=message):
            as_image_list(images)

    def test_tensors_are_rgb_and_channels_first(self) -> None:
        """A torch tensor is (3, h, w) RGB unless said otherwise; a batch is several images."""
        torch = pytest.importorskip("torch")
        tensor = torch.zeros((2, 3, 4, 5), dtype=torch.uint8)
        tensor[:, 0] = 255
        images = as_image_list(tensor)
        assert [one.shape for one in images] == [(4, 5, 3)] * 2
        assert images[0][0, 0].tolist() == [0, 0, 255]
        assert as_image_list([tensor[0]], "bgr")[0][0, 0].tolist() == [255, 0, 0]
        with pytest.raises(ModelInputError, match="got float32"):
            as_image_list(tensor.float())
