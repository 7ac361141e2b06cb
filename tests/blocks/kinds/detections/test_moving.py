from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from blocks.kinds.detections.moving import moved_into
from tests.blocks.detection_sets import (
    WITH_MASKS,
    MaskForm,
    a_crop,
    an_image,
    dense_masks,
    rle_masks,
    some,
)


class TestMovedInto:
    @pytest.mark.parametrize("form", WITH_MASKS)
    @pytest.mark.parametrize("offset", [(0, 0), (7, 5), (-6, -4), (80, 3)])
    def test_masks(self, form: MaskForm, offset: tuple[int, int], ellipse_masks: Any) -> None:
        """Masks move pixel by pixel and are cut where the other image ends."""
        masks = ellipse_masks(3, 20, 30)
        child = some([[0, 0, 9, 9]] * 3, an_image((20, 30)), masks=masks, form=form)
        expected = np.zeros((3, 40, 50), bool)
        for row, y, x in zip(*np.nonzero(masks), strict=True):
            x, y = x + offset[0], y + offset[1]
            if 0 <= x < 50 and 0 <= y < 40:
                expected[row, y, x] = True
        moved = moved_into(child, offset, (40, 50))
        assert np.array_equal(dense_masks(moved), expected)
        if "rle_mask" in moved.data:
            assert np.array_equal(rle_masks(moved), expected)

    def test_everything_else(self) -> None:
        """Boxes, keypoints, polygons, rectangles and oriented boxes move by the same."""
        corners = np.array([[[1, 2], [5, 2], [5, 8], [1, 8]]], np.float32)
        outline = np.empty(1, dtype=object)
        outline[0] = np.array([[1, 2], [5, 2], [5, 8]])
        child = some(
            [[1, 2, 5, 8]],
            an_image(),
            xyxyxyxy=corners,
            polygon=outline,
            keypoints_xy=corners,
        )
        moved = moved_into(child, (10, 20), (100, 100))
        assert moved.xyxy.tolist() == [[11, 22, 15, 28]]
        assert np.array_equal(moved.data["xyxyxyxy"], corners + np.array([10, 20]))
        assert np.array_equal(moved.data["keypoints_xy"], corners + np.array([10, 20]))
        assert moved.data["polygon"][0].tolist() == [[11, 22], [15, 22], [15, 28]]
        assert child.xyxy.tolist() == [[1, 2, 5, 8]]

    def test_offset_and_size_by_row(self) -> None:
        """Rows may go into images of their own."""
        child = some([[1, 1, 2, 2], [5, 5, 6, 6]], an_image())
        moved = moved_into(child, [[0, 0], [-5, -5]], [[9, 9], [3, 3]])
        assert moved.xyxy.tolist() == [[1, 1, 2, 2], [0, 0, 1, 1]]

    def test_scale(self) -> None:
        """An image shown at twice its size gives boxes of half."""
        moved = moved_into(some([[2, 4, 6, 8]], an_image()), (10, 0), (50, 50), 2.0)
        assert moved.xyxy.tolist() == [[11, 2, 13, 4]]

    def test_masks_without_a_known_size(self) -> None:
        """Masks that no column sizes still get the size of the other image at no offset."""
        child = some([[0, 0, 9, 9]], masks=np.ones((1, 20, 30), bool), form="compact")
        assert moved_into(child, (0, 0), (8, 10)).mask.image_shape == (8, 10)

    def test_no_rows(self) -> None:
        """Without rows there is nothing to move."""
        empty = some([], a_crop(an_image(), (1, 1, 9, 9)))
        assert moved_into(empty, (1, 1), (60, 90)) is empty
