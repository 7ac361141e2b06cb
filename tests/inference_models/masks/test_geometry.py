"""Sizes and places of masks, and of the boxes that belong to them."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from inference_models.masks import MaskError, MaskGeometry, plan_mask_geometry
from inference_models.preprocessing.geometry import ImageTransform


class TestPlanMaskGeometry:
    def test_letterboxed_4k(self) -> None:
        """A 4K frame in a 640 square leaves 90 of 160 rows, and a quarter of the way is 608 x
        1080."""
        sizes = {
            factor: plan_mask_geometry(
                (160, 160),
                inference_size=(640, 640),
                image_size=(2160, 3840),
                pads=(0, 140, 0, 140),
                factor=factor,
            )
            for factor in (0.0, 0.25, 0.5, 1.0)
        }
        assert all(geometry.inner_size == (90, 160) for geometry in sizes.values())
        assert [geometry.mask_size for geometry in sizes.values()] == [
            (90, 160), (608, 1080), (1125, 2000), (2160, 3840),
        ]  # fmt: skip

    def test_lower_is_not_always_smaller(self) -> None:
        """Of an image smaller than the grid, a lower factor makes larger masks."""
        zero, one = (
            plan_mask_geometry(
                (160, 160), inference_size=(640, 640), image_size=(100, 100), factor=factor
            )
            for factor in (0.0, 1.0)
        )
        assert zero.mask_size == (160, 160)
        assert one.mask_size == (100, 100)

    def test_crop_at_the_origin(self) -> None:
        """A static crop that begins at (0, 0) still lies on a canvas of the whole image."""
        geometry = plan_mask_geometry(
            (16, 16), inference_size=(64, 64), image_size=(100, 80), crop_size=(50, 40)
        )
        assert geometry.target_size == (50, 40)
        assert geometry.mask_size == (100, 80)
        assert geometry.origin == (0, 0)

    def test_thinner_than_a_cell(self) -> None:
        """An image so thin that rounding trims all rows keeps the one it lies in."""
        geometry = plan_mask_geometry(
            (16, 16), inference_size=(64, 64), image_size=(1, 1000), pads=(0, 31, 0, 32)
        )
        assert geometry.inner_size == (1, 16)
        assert geometry.mask_size == (1, 1000)

    @pytest.mark.parametrize("factor", [-0.01, 1.01, float("nan"), float("inf"), True, "0.5", None])
    def test_bad_factor(self, factor: object) -> None:
        """The factor is a finite number in [0, 1]."""
        with pytest.raises(MaskError, match=r"must be finite and in \[0\.0, 1\.0\], got"):
            plan_mask_geometry(
                (16, 16), inference_size=(64, 64), image_size=(9, 9), factor=factor,  # type: ignore[arg-type]
            )  # fmt: skip

    def test_bad_size(self) -> None:
        """A size without pixels is refused by name."""
        with pytest.raises(MaskError, match=r"image_size must be \(height, width\).*got \(0, 9\)"):
            plan_mask_geometry((16, 16), inference_size=(64, 64), image_size=(0, 9))

    def test_pads_without_image(self) -> None:
        """Pads that leave nothing of the input are refused."""
        with pytest.raises(MaskError, match=r"pads \(32, 0, 32, 0\) leave nothing"):
            plan_mask_geometry(
                (16, 16), inference_size=(64, 64), image_size=(9, 9), pads=(32, 0, 32, 0)
            )

    @pytest.mark.parametrize(
        ("image", "offset", "factor", "expected"),
        [(21, 7, 0.5, 23), (21, 15, 0.5, 39), (26, 14, 0.25, 33), (30, 10, 0.75, 29)],
    )
    def test_canvas_is_not_a_pixel_short(
        self, image: int, offset: int, factor: float, expected: int
    ) -> None:
        """Where offset and size round up and the canvas down, the canvas grows to hold the grid."""
        geometry = plan_mask_geometry(
            (16, 16),
            inference_size=(64, 64),
            image_size=(image, image),
            crop_offset=(offset, offset),
            crop_size=(image - offset, image - offset),
            factor=factor,
        )
        assert geometry.mask_size == (expected, expected)

    @given(
        image=st.tuples(st.integers(1, 4000), st.integers(1, 4000)),
        share=st.tuples(*[st.floats(0, 1)] * 4),
        factor=st.floats(0, 1),
    )
    def test_canvas_holds_the_masks(
        self, image: tuple[int, int], share: tuple[float, ...], factor: float
    ) -> None:
        """Whatever the static crop and the factor, the resized grid lies inside of the canvas."""
        y0, x0 = int(share[0] * (image[0] - 1)), int(share[1] * (image[1] - 1))
        crop = (1 + int(share[2] * (image[0] - y0 - 1)), 1 + int(share[3] * (image[1] - x0 - 1)))
        geometry = plan_mask_geometry(
            (40, 40),
            inference_size=(160, 160),
            image_size=image,
            crop_offset=(y0, x0),
            crop_size=crop,
            factor=factor,
        )
        for axis in range(2):
            end = geometry.origin[axis] + geometry.target_size[axis]
            assert 0 < end <= geometry.mask_size[axis]
        if factor == 1:
            assert geometry.mask_size == image

    def test_from_transform(self) -> None:
        """The placement that pixels and boxes follow is the one masks follow."""
        transform = ImageTransform((60, 100), (0, 0), (60, 100), (38, 64), (64, 64), (0, 13, 0, 13))
        geometry = MaskGeometry.from_transform(transform, (16, 16), 0.0)
        assert geometry.trim == (0, 3, 0, 3)
        assert geometry.mask_size == (10, 16)
        assert geometry.scale_wh == transform.scale_wh


class TestPlaceBoxes:
    def test_on_the_image(self) -> None:
        """On the image's own pixels boxes are whole numbers, half rounded to even, and stay
        inside."""
        geometry = plan_mask_geometry((16, 16), inference_size=(64, 64), image_size=(128, 128))
        placed = geometry.place_boxes([[0.25, 0.75, 200, -3]])
        assert placed.dtype == np.int32
        assert placed.tolist() == [[0, 2, 128, 0]]

    def test_on_a_grid_of_its_own(self) -> None:
        """On another grid boxes are not rounded."""
        geometry = plan_mask_geometry(
            (16, 16), inference_size=(64, 64), image_size=(128, 128), factor=0
        )
        placed = geometry.place_boxes([[1, 2, 63, 64]])
        assert placed.dtype == np.float32
        assert placed.tolist() == [[0.25, 0.5, 15.75, 16]]

    def test_empty(self) -> None:
        """No boxes keep shape and type."""
        geometry = plan_mask_geometry((16, 16), inference_size=(64, 64), image_size=(128, 128))
        placed = geometry.place_boxes(np.zeros((0, 4)))
        assert placed.shape == (0, 4)
        assert placed.dtype == np.int32

    @given(
        boxes=st.lists(st.tuples(*[st.floats(-1e4, 1e4)] * 4), max_size=5),
        factor=st.sampled_from([0, 0.3, 1]),
    )
    def test_inside_of_the_canvas(self, boxes: list[tuple[float, ...]], factor: float) -> None:
        """Boxes never leave the masks' grid."""
        geometry = plan_mask_geometry(
            (16, 24),
            inference_size=(64, 96),
            image_size=(75, 101),
            crop_offset=(10, 20),
            crop_size=(61, 43),
            factor=factor,
        )
        placed = geometry.place_boxes(np.array(boxes, np.float32).reshape(-1, 4))
        height, width = geometry.mask_size
        assert (placed >= 0).all()
        assert (placed[:, ::2] <= width).all()
        assert (placed[:, 1::2] <= height).all()


class TestCropWindows:
    def test_halves_round_to_even(self) -> None:
        """Corners are rounded half to even on each axis by its own scale, then clipped."""
        geometry = plan_mask_geometry((16, 32), inference_size=(64, 64), image_size=(9, 9))
        windows = geometry.crop_windows([[1, 2, 5, 6], [-9, 10, 99, 99]])
        assert windows.tolist() == [[0, 0, 2, 2], [0, 2, 32, 16]]

    def test_not_a_number(self) -> None:
        """A box that is no number covers nothing."""
        geometry = plan_mask_geometry((16, 16), inference_size=(64, 64), image_size=(9, 9))
        assert geometry.crop_windows([[np.nan] * 4]).tolist() == [[0, 0, 0, 0]]
