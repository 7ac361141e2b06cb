"""Painting masks by crops gives the pictures of supervision's annotators."""

from __future__ import annotations

import numpy as np
import pytest
import supervision as sv
from hypothesis import given, settings
from hypothesis import strategies as st

from blocks.kinds.detections.compact import compact_from_dense
from blocks.visualizations.mask_painting import (
    blend_labels,
    clipped_boxes,
    covered_area,
    mask_labels,
    paint_halos,
    paint_masks,
)
from tests.blocks.visualizations.scenes import (
    HEIGHT,
    WIDTH,
    compact_objects,
    dense_masks,
    objects,
    picture,
)

SIZE = (HEIGHT, WIDTH)
PALETTE = sv.ColorPalette.DEFAULT
COLOURS = np.array([colour.as_bgr() for colour in PALETTE.colors], np.uint8)


def difference(first: np.ndarray, second: np.ndarray) -> int:
    return int(np.abs(first.astype(int) - second).max())


class TestPaintMasks:
    @pytest.mark.parametrize("opacity", [0.0, 0.3, 0.5, 1.0])
    def test_as_supervision(self, opacity: float) -> None:
        """Every pixel is that of `sv.MaskAnnotator`, overlaps included."""
        detections, pixels = compact_objects(), picture()
        paint_masks(pixels, detections.mask, detections.class_id, COLOURS, opacity)
        expected = sv.MaskAnnotator(PALETTE, opacity).annotate(picture(), detections)
        assert difference(pixels, expected) == 0

    @settings(max_examples=40, deadline=None)
    @given(st.data())
    def test_random_masks(self, data: st.DataObject) -> None:
        """The smallest mask is on top: against painting whole canvases, the largest first."""
        size = (data.draw(st.integers(1, 12)), data.draw(st.integers(1, 12)))
        count = data.draw(st.integers(1, 5))
        masks = np.random.default_rng(data.draw(st.integers(0, 99))).random((count, *size)) < 0.4
        areas = masks.sum(axis=(1, 2))
        if len(set(areas.tolist())) < count:
            return
        expected = picture(*size)
        for row in np.argsort(-areas):
            expected[masks[row]] = COLOURS[row]
        pixels = picture(*size)
        paint_masks(pixels, compact_from_dense(masks), np.arange(count), COLOURS, 1.0)
        assert (pixels == expected).all()

    def test_more_colours_than_a_byte_holds(self) -> None:
        """Three hundred colours are told apart."""
        masks = np.eye(300, dtype=bool).reshape(300, 15, 20)
        colours = np.stack([np.arange(300) % 256, np.arange(300) // 256, np.full(300, 7)], 1)
        pixels = np.zeros((15, 20, 3), np.uint8)
        paint_masks(
            pixels, compact_from_dense(masks), np.arange(300), colours.astype(np.uint8), 1.0
        )
        assert (pixels.reshape(300, 3) == colours).all()

    def test_rows_beyond_one_band(self) -> None:
        """A tall image is painted to its last row."""
        masks = np.zeros((1, 700, 4), bool)
        masks[0, [0, 255, 256, 699]] = True
        pixels = np.zeros((700, 4, 3), np.uint8)
        paint_masks(pixels, compact_from_dense(masks), np.array([0]), COLOURS, 1.0)
        assert np.flatnonzero(pixels.any(axis=(1, 2))).tolist() == [0, 255, 256, 699]


class TestPaintHalos:
    @pytest.mark.parametrize("kernel_size", [1, 5, 40, 300])
    @pytest.mark.parametrize("opacity", [0.3, 0.8, 1.0])
    def test_as_supervision(self, kernel_size: int, opacity: float) -> None:
        """Pixels are those of `sv.HaloAnnotator`, which cuts off fractions instead of rounding."""
        detections, pixels = compact_objects(), picture()
        paint_halos(pixels, detections.mask, detections.class_id, COLOURS, opacity, kernel_size)
        annotator = sv.HaloAnnotator(PALETTE, opacity, kernel_size)
        assert difference(pixels, annotator.annotate(picture(), detections)) <= 1

    def test_masks_stay_clear(self) -> None:
        """No pixel of a mask changes, pixels beside do."""
        detections, pixels = compact_objects(), picture()
        paint_halos(pixels, detections.mask, detections.class_id, COLOURS, 1.0, 20)
        inside = dense_masks().any(axis=0)
        assert (pixels[inside] == picture()[inside]).all()
        assert (pixels[~inside] != picture()[~inside]).any()

    @pytest.mark.parametrize("masks", [np.zeros((2, *SIZE), bool), np.ones((2, *SIZE), bool)])
    def test_nowhere_to_glow(self, masks: np.ndarray) -> None:
        """Empty masks, and masks that leave nothing free, leave the image as it is."""
        pixels = picture()
        paint_halos(pixels, compact_from_dense(masks), np.array([0, 1]), COLOURS, 1.0, 9)
        assert (pixels == picture()).all()


class TestCoveredArea:
    def test_masks(self) -> None:
        """The union of the masks."""
        assert (covered_area(compact_objects(), SIZE) == dense_masks().any(axis=0)).all()

    def test_boxes(self) -> None:
        """The union of the boxes when there are no masks, as far as they lie inside."""
        detections = objects()
        detections.xyxy[0] = [-10, -10, 5.9, 7.2]
        expected = np.zeros(SIZE, bool)
        for x0, y0, x1, y1 in detections.xyxy.astype(int).clip(0):
            expected[y0:y1, x0:x1] = True
        assert (covered_area(detections, SIZE) == expected).all()

    def test_nothing(self) -> None:
        """No detections cover nothing."""
        assert not covered_area(sv.Detections.empty(), SIZE).any()


class TestMaskLabels:
    def test_labels(self) -> None:
        """Each pixel has the label of the mask on top, 0 without one."""
        masks = np.zeros((2, 4, 6), bool)
        masks[0, :3], masks[1, 1:3, 2:4] = True, True
        labels = mask_labels(compact_from_dense(masks), np.array([7, 9]), (4, 6))
        expected = np.array([[7] * 6, [7, 7, 9, 9, 7, 7], [7, 7, 9, 9, 7, 7], [0] * 6])
        assert (labels == expected).all()


class TestBlendLabels:
    def test_unlabelled_pixels_stay(self) -> None:
        """Only labelled pixels get a share of their colour."""
        pixels = np.full((1, 3, 3), 100, np.uint8)
        labels = np.array([[0, 1, 2]], np.uint8)
        blend_labels(pixels, labels, np.array([[200, 0, 0], [0, 0, 50]], np.uint8), 0.5)
        assert pixels.tolist() == [[[100, 100, 100], [150, 50, 50], [50, 50, 75]]]


class TestClippedBoxes:
    def test_ends(self) -> None:
        """Fractions are cut off, ends stay inside the image."""
        boxes = clipped_boxes(np.array([[-3.5, 1.9, 20.0, 4.2]]), (10, 12))
        assert boxes == [(0, 1, 12, 4)]
