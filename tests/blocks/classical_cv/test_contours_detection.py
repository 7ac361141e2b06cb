from __future__ import annotations

from typing import Any

import cv2
import numpy as np
import pytest
from scipy import ndimage

from blocks.classical_cv.contours_detection.family import draw_contours, find_contours
from blocks.classical_cv.contours_detection.v1 import ImageContoursBlockV1


class TestFindContours:
    def test_regions_are_counted(self, noise: np.ndarray) -> None:
        """There is one outline for each 8-connected region that lies in no hole of another."""
        mask = (cv2.blur(noise[:, :, 0], (5, 5)) > 140).astype(np.uint8)
        filled = ndimage.binary_fill_holes(np.pad(mask, 1))
        _, regions = ndimage.label(filled, structure=np.ones((3, 3)))
        contours, hierarchy = find_contours(mask)
        assert len(contours) == regions > 10
        assert hierarchy.shape == (1, regions, 4)

    def test_outlines_enclose_regions(self, shapes: np.ndarray) -> None:
        """Filling the outlines gives back the shapes, holes filled."""
        contours, _ = find_contours(shapes)
        canvas = np.zeros(shapes.shape[:2], np.uint8)
        cv2.drawContours(canvas, contours, -1, 1, -1)
        assert np.array_equal(canvas > 0, ndimage.binary_fill_holes(shapes[:, :, 0] > 0))

    def test_points(self) -> None:
        """Straight runs are reduced to their ends; points are (x, y)."""
        image = np.zeros((10, 20), np.uint8)
        image[2:5, 3:12] = 255
        (contour,), _ = find_contours(image)
        assert contour.shape == (4, 1, 2)
        assert contour.dtype == np.int32
        assert {tuple(point) for point in contour[:, 0].tolist()} == {
            (3, 2), (3, 4), (11, 4), (11, 2),
        }  # fmt: skip

    def test_single_pixel(self) -> None:
        """A region of one pixel is an outline of one point."""
        image = np.zeros((5, 5), np.uint8)
        image[1, 3] = 1
        (contour,), hierarchy = find_contours(image)
        assert contour.tolist() == [[[3, 1]]]
        assert hierarchy.tolist() == [[[-1, -1, -1, -1]]]

    @pytest.mark.parametrize("shape", [(1, 1), (4, 4, 3)])
    def test_nothing(self, shape: tuple[int, ...]) -> None:
        """Without bright pixels the list is empty and the hierarchy keeps its type."""
        contours, hierarchy = find_contours(np.zeros(shape, np.uint8))
        assert contours == []
        assert hierarchy.shape == (1, 0, 4)
        assert hierarchy.dtype == np.int32

    def test_many_regions(self) -> None:
        """A thousand regions are all found."""
        image = np.zeros((100, 160), np.uint8)
        image[::4, ::4] = 255
        assert len(find_contours(image)[0]) == 25 * 40


class TestDrawContours:
    def test_magenta(self, shapes: np.ndarray) -> None:
        """Outlines are magenta, the rest of the image is kept."""
        contours, _ = find_contours(shapes)
        drawn = draw_contours(shapes, contours, 1)
        changed = (drawn != shapes).any(axis=2)
        assert (drawn[changed] == [255, 0, 255]).all()
        assert (drawn[20, 20:81] == [255, 0, 255]).all()

    def test_filled(self, shapes: np.ndarray) -> None:
        """-1 fills the outlines."""
        contours, _ = find_contours(shapes)
        assert (draw_contours(shapes, contours, -1)[140, 180] == [255, 0, 255]).all()

    @pytest.mark.parametrize("thickness", [0, -2, 256, 1.5, None])
    def test_bad_thickness(self, thickness: Any) -> None:
        """Other thicknesses are refused by field."""
        with pytest.raises(ValueError, match="Field `line_thickness` must be"):
            draw_contours(np.zeros((4, 4), np.uint8), [], thickness)


class TestImageContoursBlockV1:
    def test_recorded(self, as_image: Any, run_block: Any, shapes: np.ndarray) -> None:
        """Results agree with those of Roboflow Workflows on the same scene."""
        gray = cv2.cvtColor(shapes, cv2.COLOR_BGR2GRAY)
        binary = cv2.threshold(gray, 100, 255, cv2.THRESH_BINARY)[1]
        result = run_block(ImageContoursBlockV1, {"image": as_image(binary)}, line_thickness=2)
        assert result["number_contours"] == len(result["contours"]) == 4
        assert result["hierarchy"].tolist() == [
            [[1, -1, -1, -1], [2, 0, -1, -1], [3, 1, -1, -1], [-1, 2, -1, -1]]
        ]
        drawn = result["image"].numpy_image
        assert drawn.mean(axis=(0, 1)) == pytest.approx([74.434, 57.859, 74.434], abs=0.05)
        assert drawn.std(axis=(0, 1)) == pytest.approx([115.932, 106.801, 115.932], abs=0.05)

    def test_default_thickness(self, as_image: Any, run_block: Any, shapes: np.ndarray) -> None:
        """The default thickness is 3."""
        drawn = run_block(ImageContoursBlockV1, {"image": as_image(shapes)})["image"].numpy_image
        contours, _ = find_contours(shapes)
        assert np.array_equal(drawn, draw_contours(shapes, contours, 3))
        assert not np.array_equal(drawn, draw_contours(shapes, contours, 1))
