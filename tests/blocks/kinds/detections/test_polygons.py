from __future__ import annotations

import cv2
import numpy as np
import pytest
import supervision as sv
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

from blocks.kinds.detections.compact import compact_from_crops, compact_from_dense
from blocks.kinds.detections.polygons import mask_polygons, polygon_crop

MASKS = hnp.arrays(bool, st.tuples(st.integers(1, 14), st.integers(1, 14)), fill=st.booleans())


def full_canvas_polygon(mask: np.ndarray) -> np.ndarray | None:
    """The rule on the whole canvas, all outlines of the tree, as an oracle."""
    contours, _ = cv2.findContours(mask.astype(np.uint8), cv2.RETR_TREE, cv2.CHAIN_APPROX_SIMPLE)
    if not contours:
        return None
    polygon = max(contours, key=cv2.contourArea)[:, 0]
    while len(polygon) < 3:
        polygon = np.vstack([polygon, polygon[-1:]])
    return polygon


def same(first: np.ndarray | None, second: np.ndarray | None) -> bool:
    if first is None or second is None:
        return first is second
    return bool(cv2.contourArea(first) == cv2.contourArea(second))


class TestMaskPolygons:
    @given(MASKS)
    def test_area_of_the_largest_outline(self, mask: np.ndarray) -> None:
        """On any mask the outline encloses as much as the best one of the whole canvas."""
        expected = full_canvas_polygon(mask)
        (dense,) = mask_polygons(mask[None])
        (compact,) = mask_polygons(compact_from_dense(mask[None]))
        assert same(dense, expected)
        assert same(compact, expected)

    def test_points_of_one_object(self) -> None:
        """For one object the points are those of the whole canvas, one by one."""
        masks = np.zeros((2, 60, 80), np.uint8)
        cv2.ellipse(masks[0], (30, 20), (25, 18), 20, 0, 360, 1, -1)
        cv2.circle(masks[1], (79, 59), 10, 1, -1)
        for polygons in (
            mask_polygons(masks.astype(bool)),
            mask_polygons(compact_from_dense(masks.astype(bool))),
        ):
            for polygon, mask in zip(polygons, masks, strict=True):
                assert np.array_equal(polygon, full_canvas_polygon(mask))

    @pytest.mark.parametrize(("height", "width"), [(1, 1), (1, 2), (2, 1)])
    def test_tiny_objects_get_three_points(self, height: int, width: int) -> None:
        """An object of one or two pixels repeats its last point."""
        mask = np.zeros((1, 9, 9), bool)
        mask[0, 4 : 4 + height, 5 : 5 + width] = True
        (polygon,) = mask_polygons(mask)
        assert polygon is not None
        assert len(polygon) == 3
        assert set(map(tuple, polygon.tolist())) == {(5, 4), (4 + width, 3 + height)}

    def test_ring(self) -> None:
        """Of a ring the outer outline counts."""
        mask = np.zeros((1, 20, 20), bool)
        mask[0, 2:18, 2:18] = True
        mask[0, 6:14, 6:14] = False
        mask[0, 9:11, 9:11] = True
        (polygon,) = mask_polygons(mask)
        assert sorted(map(tuple, polygon.tolist())) == [(2, 2), (2, 17), (17, 2), (17, 17)]

    def test_empty(self) -> None:
        """An empty mask has no outline; no masks give no polygons."""
        assert mask_polygons(np.zeros((2, 5, 5), bool)) == [None, None]
        assert mask_polygons(compact_from_dense(np.zeros((1, 5, 5), bool))) == [None]
        assert mask_polygons(np.zeros((0, 5, 5), bool)) == []


class TestCompactFromDense:
    @given(MASKS)
    def test_no_pixel_is_lost(self, mask: np.ndarray) -> None:
        """Each mask is cut to its own support, wherever its box lies."""
        assert np.array_equal(compact_from_dense(mask[None]).to_dense()[0], mask)

    def test_other_types_of_pixels(self) -> None:
        """Masks of 0 and 255, and views that are not contiguous, count as booleans."""
        mask = np.zeros((1, 6, 8), np.uint8)
        mask[0, 1:3, 2:6] = 255
        assert compact_from_dense(mask).area.tolist() == [8]
        assert compact_from_dense(mask[:, ::-1, ::2].astype(bool)).area.tolist() == [4]


class TestPolygonCrop:
    @given(
        hnp.arrays(
            np.float64,
            st.tuples(st.integers(3, 7), st.just(2)),
            elements=st.floats(-40, 80, allow_nan=False, width=32),
        ),
        st.integers(1, 45),
        st.integers(1, 45),
    )
    def test_pixels_of_supervision(self, polygon: np.ndarray, height: int, width: int) -> None:
        """The filled crop has the pixels that supervision fills on the whole canvas."""
        expected = sv.polygon_to_mask(np.round(polygon).astype(np.int32), (width, height))
        crop, offset = polygon_crop(polygon, (height, width))
        result = compact_from_crops([crop], [offset], (height, width))
        assert np.array_equal(result.to_dense()[0], expected.astype(bool))

    @pytest.mark.parametrize("vertex", [float("nan"), float("inf"), 1e30])
    def test_refused(self, vertex: float) -> None:
        """Vertices that are no place in an image are refused."""
        with pytest.raises(ValueError, match="vertex"):
            polygon_crop([(0, 0), (5, 0), (vertex, 5)], (10, 10))
