"""Outlines of masks against full-canvas contours, shapely and pycocotools."""

from __future__ import annotations

import cv2
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp
from pycocotools import mask as coco
from shapely.geometry import Polygon as ShapelyPolygon

from inference_models.masks import (
    InstanceMasks,
    MaskError,
    largest_polygons,
    mask_polygons,
    masks_from_polygons,
    plan_mask_geometry,
)
from inference_models.masks.resize import masks_from_logits

bitmaps = hnp.arrays(np.bool_, hnp.array_shapes(min_dims=3, max_dims=3, min_side=1, max_side=14))


def filled_holes(mask: np.ndarray) -> np.ndarray:
    """The mask with its holes filled: what a union of outer outlines can say."""
    outside = np.zeros((mask.shape[0] + 2, mask.shape[1] + 2), np.uint8)
    outside[1:-1, 1:-1] = mask
    cv2.floodFill(outside, None, (0, 0), 2)
    return outside[1:-1, 1:-1] != 2


def ellipses(size: tuple[int, int]) -> InstanceMasks:
    dense = np.zeros((4, *size), np.uint8)
    height, width = size
    cv2.ellipse(dense[0], (width // 2, height // 2), (width // 3, height // 4), 30, 0, 360, 1, -1)
    cv2.ellipse(dense[1], (0, 0), (width // 3, height // 3), 0, 0, 360, 1, -1)
    cv2.ellipse(dense[2], (width, height), (width // 4, height // 2), 80, 0, 360, 1, -1)
    dense[3, 5, 7] = 1
    return InstanceMasks.from_dense(dense)


class TestMaskPolygons:
    def test_equals_contours_of_the_canvas(self) -> None:
        """Vertices, their order and that of the parts are those of contours found on the full
        frame."""
        dense = np.zeros((1, 90, 120), np.uint8)
        cv2.circle(dense[0], (30, 30), 20, 1, -1)
        cv2.circle(dense[0], (90, 60), 15, 1, -1)
        cv2.rectangle(dense[0], (0, 80), (119, 89), 1, -1)
        expected, _ = cv2.findContours(dense[0], cv2.RETR_EXTERNAL, cv2.CHAIN_APPROX_SIMPLE)
        found = mask_polygons(InstanceMasks.from_dense(dense))[0]
        assert [part.tolist() for part in found] == [
            part.reshape(-1, 2).tolist() for part in expected
        ]
        assert all(part.dtype == np.float32 for part in found)

    @settings(max_examples=100, deadline=None)
    @given(dense=bitmaps)
    def test_drawn_again(self, dense: np.ndarray) -> None:
        """All parts drawn filled are the mask with its holes filled, pixel by pixel."""
        masks = InstanceMasks.from_dense(dense)
        again = masks_from_polygons(mask_polygons(masks), masks.image_size)
        expected = np.array([filled_holes(mask) for mask in dense])
        np.testing.assert_array_equal(again.to_dense(), expected)

    def test_island_in_a_hole(self) -> None:
        """An island inside of a hole is a part of its own."""
        dense = np.zeros((1, 20, 20), np.uint8)
        cv2.rectangle(dense[0], (2, 2), (17, 17), 1, 2)
        dense[0, 9:11, 9:11] = 1
        assert len(mask_polygons(InstanceMasks.from_dense(dense))[0]) == 2

    def test_scaled_to_the_image(self) -> None:
        """From a grid of its own, vertices are multiplied by image over grid and stay on the
        image."""
        dense = np.zeros((1, 10, 20), np.bool_)
        dense[0, 2:10, 5:20] = True
        masks = InstanceMasks.from_dense(dense, image_size=(35, 100))
        on_image = mask_polygons(masks)[0][0]
        on_grid = mask_polygons(masks, image_px=False)[0][0]
        np.testing.assert_allclose(on_image, on_grid * [5, 3.5])
        assert on_image.max(axis=0).tolist() == [95, 31.5]
        assert on_grid.max(axis=0).tolist() == [19, 9]

    def test_no_pixels(self) -> None:
        """A mask without pixels has no outline; no masks have none."""
        assert mask_polygons(InstanceMasks.from_dense(np.zeros((1, 4, 4)))) == [[]]
        assert mask_polygons(InstanceMasks.empty((4, 4))) == []

    def test_area_against_shapely(self) -> None:
        """The outline encloses about the pixels of the mask: its area plus half a pixel of border
        all around."""
        for polygons, area in zip(
            mask_polygons(ellipses((200, 300))), ellipses((200, 300)).areas, strict=True
        ):
            if len(polygons[0]) < 3:
                continue
            shape = ShapelyPolygon(polygons[0])
            assert shape.is_valid
            grown = shape.area + shape.length / 2 + 1
            assert grown == pytest.approx(area, rel=0.02)


class TestLargestPolygons:
    def test_one_part(self) -> None:
        """Where there is one part nothing is lost."""
        masks = ellipses((100, 120))
        result = largest_polygons(masks)
        for polygon, parts in zip(result.polygons, mask_polygons(masks), strict=True):
            np.testing.assert_array_equal(polygon, parts[0])
        assert result.lost_area().tolist() == result.filled_area().tolist() == [0] * 4

    def test_two_parts(self) -> None:
        """The part with the largest area wins, whatever its number of vertices; the rest is
        counted."""
        dense = np.zeros((1, 60, 60), np.uint8)
        cv2.rectangle(dense[0], (0, 0), (29, 29), 1, -1)
        cv2.circle(dense[0], (45, 45), 8, 1, -1)
        circle = int(dense[0, 35:, 35:].sum())
        result = largest_polygons(InstanceMasks.from_dense(dense))
        assert len(result.polygons[0]) == 4
        assert result.lost_area().tolist() == [circle]
        assert result.filled_area().tolist() == [0]

    def test_hole(self) -> None:
        """A hole is filled by the polygon, and counted."""
        dense = np.zeros((1, 30, 30), np.bool_)
        dense[0, 5:25, 5:25] = True
        dense[0, 10:15, 10:16] = False
        result = largest_polygons(InstanceMasks.from_dense(dense))
        assert result.lost_area().tolist() == [0]
        assert result.filled_area().tolist() == [30]

    @settings(max_examples=60, deadline=None)
    @given(dense=bitmaps)
    def test_lost_and_filled(self, dense: np.ndarray) -> None:
        """Drawing the polygon gives the mask but for what is reported as lost and filled."""
        masks = InstanceMasks.from_dense(dense)
        result = largest_polygons(masks)
        drawn = masks_from_polygons([[polygon] for polygon in result.polygons], masks.image_size)
        after = drawn.to_dense()
        assert result.lost_area().tolist() == (dense & ~after).sum(axis=(1, 2)).tolist()
        assert result.filled_area().tolist() == (after & ~dense).sum(axis=(1, 2)).tolist()

    def test_min_points(self) -> None:
        """A one-pixel object repeats its vertex where a format wants three."""
        masks = InstanceMasks.from_dense(np.ones((1, 1, 1)))
        assert largest_polygons(masks).polygons[0].tolist() == [[0, 0]]
        assert largest_polygons(masks, min_points=3).polygons[0].tolist() == [[0, 0]] * 3

    def test_no_pixels(self) -> None:
        """A mask without pixels keeps its row: a polygon without vertices."""
        result = largest_polygons(InstanceMasks.from_dense(np.zeros((2, 4, 4))), min_points=3)
        assert [polygon.shape for polygon in result.polygons] == [(0, 2), (0, 2)]


class TestMasksFromPolygons:
    def test_union(self) -> None:
        """Overlapping polygons of one object are their union, not their difference."""
        one = [[2, 2], [12, 2], [12, 12], [2, 12]]
        other = [[8, 8], [18, 8], [18, 18], [8, 18]]
        masks = masks_from_polygons([[one, other], [one]], (20, 20))
        expected = np.zeros((2, 20, 20), np.bool_)
        expected[:, 2:13, 2:13] = True
        expected[0, 8:19, 8:19] = True
        np.testing.assert_array_equal(masks.to_dense(), expected)

    def test_over_the_border(self) -> None:
        """What leaves the image is cut, flat lists are read like pairs."""
        masks = masks_from_polygons(
            [[[-5, -5, 30, -5, 30, 4, -5, 4]], [[50, 50, 60, 50, 60, 60]]], (20, 20)
        )
        expected = np.zeros((2, 20, 20), np.bool_)
        expected[0, :5] = True
        np.testing.assert_array_equal(masks.to_dense(), expected)

    @settings(max_examples=60, deadline=None)
    @given(points=st.lists(st.tuples(st.floats(0, 40), st.floats(0, 30)), min_size=3, max_size=7))
    def test_coco(self, points: list[tuple[float, float]]) -> None:
        """With the COCO convention, pixels are those of pycocotools."""
        flat = [value for point in points for value in point]
        expected = coco.decode(coco.merge(coco.frPyObjects([flat], 30, 40)))
        masks = masks_from_polygons([[points], []], (30, 40), convention="coco")
        np.testing.assert_array_equal(masks.to_dense()[0], expected)
        assert masks.areas[1] == 0

    @pytest.mark.parametrize(
        ("polygon", "message"),
        [
            ([1, 2, 3], "object 1 has 3 coordinates, an odd number"),
            ([1, 2, 3, np.nan], "object 1 has a coordinate that is not finite"),
        ],
    )
    def test_bad_polygon(self, polygon: list[float], message: str) -> None:
        """A polygon that cannot be drawn is refused, and the object named."""
        with pytest.raises(MaskError, match=message):
            masks_from_polygons([[], [polygon]], (9, 9))

    def test_bad_convention(self) -> None:
        """Only conventions that exist are taken."""
        with pytest.raises(MaskError, match='convention must be "pixels" or "coco"'):
            masks_from_polygons([], (9, 9), convention="voc")  # type: ignore[arg-type]


class TestModelToPolygon:
    @settings(max_examples=20, deadline=None)
    @given(seed=st.integers(0, 2**32 - 1), factor=st.sampled_from([0.0, 0.5, 1.0]))
    def test_stays_on_the_image(self, seed: int, factor: float) -> None:
        """At any factor the polygon lies on the image and covers about the same part of it."""
        rng = np.random.default_rng(seed)
        y, x = np.mgrid[:40, :40]
        centre, radius = rng.uniform(10, 30, 2), rng.uniform(5, 9)
        logits = (radius - np.hypot(x - centre[0], y - centre[1])).astype(np.float32)[None]
        geometry = plan_mask_geometry(
            (40, 40), inference_size=(160, 160), image_size=(240, 320), factor=factor
        )
        polygon = largest_polygons(masks_from_logits(logits, geometry)).polygons[0]
        assert (polygon >= 0).all()
        assert (polygon <= [320, 240]).all()
        middle = (polygon.min(axis=0) + polygon.max(axis=0)) / 2
        np.testing.assert_allclose(middle, (centre + 0.5) * [8, 6], atol=9)
