"""Masks against masks: brute force on canvases and pycocotools say what is right."""

from __future__ import annotations

import cv2
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp
from pycocotools import mask as coco

from inference_models.masks import (
    InstanceMasks,
    MaskError,
    MaskGridError,
    boundaries,
    boundary_iou,
    encode_masks,
    intersection_areas,
    mask_iou,
    union,
)

pairs = hnp.array_shapes(min_dims=2, max_dims=2, min_side=1, max_side=12).flatmap(
    lambda size: st.tuples(
        hnp.arrays(np.bool_, st.integers(0, 4).map(lambda count: (count, *size))),
        hnp.arrays(np.bool_, st.integers(0, 4).map(lambda count: (count, *size))),
    )
)


class TestIntersection:
    @settings(max_examples=100, deadline=None)
    @given(pair=pairs)
    def test_brute_force(self, pair: tuple[np.ndarray, np.ndarray]) -> None:
        """Shared pixels of every pair equal those counted on canvases."""
        one, other = pair
        expected = (one[:, None] & other[None]).sum(axis=(2, 3))
        areas = intersection_areas(InstanceMasks.from_dense(one), InstanceMasks.from_dense(other))
        np.testing.assert_array_equal(areas, expected)

    def test_with_itself(self) -> None:
        """A set against itself has its areas on the diagonal and is symmetric."""
        masks = InstanceMasks.from_dense(np.random.default_rng(0).random((7, 20, 30)) < 0.4)
        areas = intersection_areas(masks, masks)
        np.testing.assert_array_equal(np.diag(areas), masks.areas)
        np.testing.assert_array_equal(areas, areas.T)


class TestMaskIoU:
    @settings(max_examples=50, deadline=None)
    @given(pair=pairs)
    def test_equals_pycocotools(self, pair: tuple[np.ndarray, np.ndarray]) -> None:
        """IoU is pycocotools' where masks have pixels, and 0 where neither has."""
        one, other = (InstanceMasks.from_dense(dense) for dense in pair)
        iou = mask_iou(one, other)
        assert iou.shape == (len(one), len(other))
        if len(one) and len(other):
            codes = [encode_masks(masks, text=False) for masks in (one, other)]
            expected = np.nan_to_num(coco.iou(*codes, [0] * len(other)))
            filled = np.add.outer(one.areas, other.areas) > 0
            np.testing.assert_allclose(iou[filled], np.reshape(expected, iou.shape)[filled])
            assert (iou[~filled] == 0).all()

    def test_different_grids(self) -> None:
        """Masks of different grids are not compared cell by cell as if they were one."""
        small = InstanceMasks.from_dense(np.ones((1, 10, 10)), image_size=(20, 20))
        large = InstanceMasks.from_dense(np.ones((1, 20, 20)))
        with pytest.raises(MaskGridError, match=r"\(10, 10\) of a \(20, 20\) image and \(20, 20\)"):
            mask_iou(small, large)
        assert mask_iou(small.on_image_grid(), large).tolist() == [[1.0]]


class TestUnion:
    @settings(max_examples=60, deadline=None)
    @given(pair=pairs)
    def test_brute_force(self, pair: tuple[np.ndarray, np.ndarray]) -> None:
        """The union has every pixel that any mask has, in canonical runs."""
        dense = pair[0]
        joined = union(InstanceMasks.from_dense(dense))
        np.testing.assert_array_equal(joined.to_dense()[0], dense.any(axis=0))
        anew = InstanceMasks.from_dense(dense.any(axis=0)[None])
        np.testing.assert_array_equal(joined.runs, anew.runs)

    def test_groups(self) -> None:
        """Each group is joined by itself; a number nobody has is a mask without pixels."""
        dense = np.random.default_rng(1).random((5, 12, 9)) < 0.2
        joined = union(InstanceMasks.from_dense(dense), [3, 0, 3, 1, 0])
        expected = [dense[[1, 4]].any(0), dense[3], np.zeros((12, 9)), dense[[0, 2]].any(0)]
        np.testing.assert_array_equal(joined.to_dense(), expected)

    @pytest.mark.parametrize("groups", [[0], [0, -1]])
    def test_bad_groups(self, groups: list[int]) -> None:
        """One number of at least 0 a mask."""
        with pytest.raises(MaskError, match="groups must be 2 numbers of at least 0"):
            union(InstanceMasks.from_dense(np.ones((2, 3, 3))), groups)


class TestBoundaries:
    @settings(max_examples=60, deadline=None)
    @given(pair=pairs, ratio=st.sampled_from([0.02, 0.1, 0.3]))
    def test_repeated_erosion(self, pair: tuple[np.ndarray, np.ndarray], ratio: float) -> None:
        """The border is what d erosions by one pixel take away, the image's edge counting as
        outside."""
        dense = pair[0]
        height, width = dense.shape[1:]
        distance = max(1, round(ratio * np.hypot(height, width)))
        expected = []
        for mask in dense.astype(np.uint8):
            framed = cv2.copyMakeBorder(mask, 1, 1, 1, 1, cv2.BORDER_CONSTANT, value=0)
            inner = cv2.erode(framed, np.ones((3, 3), np.uint8), iterations=distance)
            expected.append(mask - inner[1:-1, 1:-1])
        border = boundaries(InstanceMasks.from_dense(dense), ratio)
        np.testing.assert_array_equal(
            border.to_dense(), np.array(expected, np.bool_).reshape(dense.shape)
        )

    def test_large_object(self) -> None:
        """A band of the right width stays of a large object."""
        dense = np.zeros((1, 300, 400), np.bool_)
        dense[0, 50:250, 60:340] = True
        border = boundaries(InstanceMasks.from_dense(dense)).to_dense()[0]
        expected = dense[0].copy()
        expected[60:240, 70:330] = False
        np.testing.assert_array_equal(border, expected)

    @pytest.mark.parametrize(("side", "inner"), [(20, 0), (21, 1), (22, 4)])
    def test_as_wide_as_the_band(self, side: int, inner: int) -> None:
        """A square twice as wide as the band is all border, one pixel more leaves a middle."""
        dense = np.zeros((1, 300, 400), np.bool_)
        dense[0, 50 : 50 + side, 60 : 60 + side] = True
        border = boundaries(InstanceMasks.from_dense(dense))
        assert border.areas.tolist() == [side * side - inner]

    @pytest.mark.parametrize("ratio", [0, -1, float("nan")])
    def test_bad_ratio(self, ratio: float) -> None:
        """The width is a positive share of the diagonal."""
        with pytest.raises(MaskError, match="width_ratio must be a positive number"):
            boundaries(InstanceMasks.empty((9, 9)), ratio)


class TestBoundaryIoU:
    def test_more_strict_than_iou(self) -> None:
        """A shift that IoU hardly sees shows at the border; equal masks agree fully."""
        dense = np.zeros((2, 200, 200), np.bool_)
        dense[0, 20:180, 20:180] = True
        dense[1, 24:184, 20:180] = True
        masks = InstanceMasks.from_dense(dense)
        iou, border = mask_iou(masks, masks)[0], boundary_iou(masks, masks)[0]
        assert iou[0] == border[0] == 1
        assert border[1] < 0.7 < 0.9 < iou[1]
