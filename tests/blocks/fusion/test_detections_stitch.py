from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import supervision as sv
from hypothesis import given, settings
from hypothesis import strategies as st

from blocks.fusion.detections_stitch.children import stitched
from blocks.fusion.detections_stitch.overlap_filter import OverlapFilter, filter_overlaps
from blocks.fusion.detections_stitch.v1 import DetectionsStitchBlockV1, DetectionsStitchManifest
from blocks.transformations.image_slicer.v2 import ImageSlicerBlockV2
from execution_engine.block_api import Batch, WorkflowImageData
from tests.blocks.detection_sets import (
    WITH_MASKS,
    MaskForm,
    a_crop,
    an_image,
    dense_masks,
    ellipses,
    rle_masks,
    some,
)

IMAGE = an_image((60, 90))
LEFT = a_crop(IMAGE, (0, 0, 50, 60), "left")
RIGHT = a_crop(IMAGE, (40, 0, 90, 60), "right")


def stitch(
    *children: sv.Detections,
    image: WorkflowImageData = IMAGE,
    strategy: OverlapFilter = "nms",
    iou: float = 0.3,
) -> sv.Detections:
    result: Any = DetectionsStitchBlockV1().run(image, Batch(list(children)), strategy, iou)
    return result["predictions"]


class TestStitched:
    def test_boxes(self) -> None:
        """Boxes move by the corner of their slice, the lineage is that of the image."""
        result = stitch(some([[1, 2, 9, 9]], LEFT), some([[5, 2, 9, 9]], RIGHT), strategy="none")
        assert result.xyxy.tolist() == [[1, 2, 9, 9], [45, 2, 49, 9]]
        assert result.data["parent_id"].tolist() == ["image", "image"]
        assert result.data["image_dimensions"].tolist() == [[60, 90]] * 2
        assert result.data["parent_coordinates"].tolist() == [[0, 0]] * 2
        assert result.data["prediction_type"].tolist() == ["object-detection"] * 2

    @pytest.mark.parametrize("form", WITH_MASKS)
    def test_masks(self, form: MaskForm) -> None:
        """Masks are placed on the image pixel by pixel; several forms may meet."""
        left, right = ellipses(2, 60, 50, 1), ellipses(2, 60, 50, 2)
        boxes = [[0, 0, 9, 9]] * 2
        result = stitch(
            some(boxes, LEFT, masks=left, form=form),
            some(boxes, RIGHT, masks=right, form="compact"),
            strategy="none",
        )
        expected = np.zeros((4, 60, 90), bool)
        expected[:2, :, :50], expected[2:, :, 40:] = left, right
        assert np.array_equal(dense_masks(result), expected)
        if form in ("rle", "both"):
            assert np.array_equal(rle_masks(result), expected)

    def test_masks_stay_crops(self) -> None:
        """No mask of the whole image is made of crops and RLE."""
        for form in ("compact", "rle", "dense"):
            result = stitch(some([[0, 0, 9, 9]], LEFT, form=form), some([], RIGHT))
            assert not isinstance(result.mask, np.ndarray)

    def test_masks_over_the_edge(self) -> None:
        """What of a mask lies outside of the image is cut off."""
        child = some([[0, 0, 30, 30]], LEFT, masks=np.ones((1, 60, 50), bool), form="compact")
        child.data["root_parent_coordinates"] = np.array([[70, 20]])
        masks = dense_masks(stitch(child, strategy="none"))
        assert masks[0, 20:, 70:].all()
        assert masks.sum() == 40 * 20

    def test_mixed_masks(self) -> None:
        """Slices with and without masks are refused by name."""
        with pytest.raises(ValueError, match=r"'left' has masks, 'right' has none \(1 and 1 sets"):
            stitch(some([[0, 0, 9, 9]], LEFT, form="rle"), some([[0, 0, 9, 9]], RIGHT))

    def test_mixed_masks_without_rows(self) -> None:
        """A slice without detections needs no masks."""
        result = stitch(some([[0, 0, 9, 9]], LEFT, form="rle"), some([], RIGHT))
        assert len(result) == 1

    def test_other_root(self) -> None:
        """Slices of another image are refused, both are named."""
        other = a_crop(an_image(name="other"), (0, 0, 9, 9))
        with pytest.raises(ValueError, match=r"'other'.*reference image 'image'"):
            stitch(some([[0, 0, 5, 5]], other))

    def test_unknown_place(self) -> None:
        """Detections that do not know their place are refused."""
        with pytest.raises(ValueError, match="carry no `parent_coordinates`"):
            stitch(some([[0, 0, 5, 5]]))

    def test_reference_is_a_crop(self) -> None:
        """Slices of a crop go onto the crop, not onto its root."""
        part = a_crop(RIGHT, (10, 20, 30, 40), "part")
        result = stitch(some([[1, 1, 3, 3]], part), image=RIGHT)
        assert result.xyxy.tolist() == [[11, 21, 13, 23]]
        assert result.data["root_parent_coordinates"].tolist() == [[40, 0]]

    def test_grandchildren(self) -> None:
        """Slices of slices go straight onto the first image."""
        part = a_crop(RIGHT, (10, 20, 30, 40), "part")
        assert stitch(some([[1, 1, 3, 3]], part)).xyxy.tolist() == [[51, 21, 53, 23]]

    def test_place_in_the_parent_alone(self) -> None:
        """Detections read from JSON with a parent's origin alone are placed by it."""
        child = some([[0, 0, 5, 5]], parent_coordinates=np.array([[7, 8]]))
        assert stitch(child).xyxy.tolist() == [[7, 8, 12, 13]]

    @pytest.mark.parametrize("form", ["none", *WITH_MASKS])
    def test_no_rows(self, form: MaskForm) -> None:
        """Slices without detections give none, with the columns and the image's lineage."""
        empty = stitch(some([], LEFT, form=form), some([], RIGHT, form=form))
        full = stitch(some([[0, 0, 9, 9]], LEFT, form=form))
        assert len(empty) == 0
        assert empty.data.keys() == full.data.keys()
        assert empty.metadata["parent_id"] == "image"
        assert empty.metadata["image_dimensions"] == [60, 90]
        if form not in ("none", "rle"):
            assert tuple(empty.mask.shape) == (0, 60, 90)

    def test_no_children(self) -> None:
        """Without any slice there are no detections, on the image."""
        result = stitched([], IMAGE)
        assert len(result) == 0
        assert result.metadata["parent_id"] == "image"

    def test_slices_of_a_slicer(self) -> None:
        """Detections of every slice come back to where the slicer cut it."""
        image = an_image((100, 130))
        slices: Any = ImageSlicerBlockV2().run(image, 50, 40, 0.2, 0.2)
        children = [some([[0, 0, 50, 40]], item["slices"]) for item in slices]
        result = stitch(*children, image=image, strategy="none")
        for box, item in zip(result.xyxy.astype(int), slices, strict=True):
            left, top, right, bottom = box.tolist()
            pixels = image.numpy_image[top:bottom, left:right]
            assert np.array_equal(pixels, item["slices"].numpy_image)


corner = st.tuples(st.integers(0, 30), st.integers(0, 30), st.integers(1, 20), st.integers(1, 20))
scored = st.lists(
    st.tuples(corner, st.integers(0, 1), st.integers(1, 99)),
    min_size=1,
    max_size=8,
    unique_by=lambda row: row[2],
)


def detections_of(rows: Any) -> sv.Detections:
    return some(
        [[x, y, x + w, y + h] for (x, y, w, h), _, _ in rows],
        IMAGE,
        names=["ab"[name] for _, name, _ in rows],
        scores=[score / 100 for *_, score in rows],
        ids=[str(score) for *_, score in rows],
    )


def ids_of(detections: sv.Detections) -> set[str]:
    return set(detections.data["detection_id"].tolist())


class TestFilterOverlaps:
    def test_identical_boxes(self) -> None:
        """CVCUDA/CV-CUDA#292: of two boxes of equal score and area one survives, the first."""
        two = some([[5, 5, 20, 20]] * 2, IMAGE, scores=[0.9, 0.9])
        assert filter_overlaps(two, "nms", 0.3).data["detection_id"].tolist() == ["d0"]

    @pytest.mark.parametrize("form", WITH_MASKS)
    def test_identical_masks(self, form: MaskForm) -> None:
        """The same holds for masks in every form."""
        two = some([[5, 5, 20, 20]] * 2, IMAGE, scores=[0.9, 0.9], form=form)
        assert filter_overlaps(two, "nms", 0.3).data["detection_id"].tolist() == ["d0"]

    def test_across_slices(self) -> None:
        """An object in the overlap of two slices is found once."""
        result = stitch(
            some([[41, 10, 49, 20]], LEFT, scores=[0.5]),
            some([[1, 10, 9, 20]], RIGHT, scores=[0.8]),
        )
        assert result.xyxy.tolist() == [[41, 10, 49, 20]]
        assert result.confidence.tolist() == pytest.approx([0.8])

    def test_classes(self) -> None:
        """Objects of different classes do not hide each other."""
        two = some([[5, 5, 20, 20]] * 2, IMAGE, names=["a", "b"])
        for strategy in ("nms", "nmm"):
            assert len(filter_overlaps(two, strategy, 0.3)) == 2

    def test_none(self) -> None:
        """Without a strategy all stay."""
        assert len(filter_overlaps(some([[5, 5, 20, 20]] * 3, IMAGE), "none", 0.3)) == 3

    @settings(max_examples=60)
    # No ratio of the small integer boxes equals these: a tie would hang on the last bit.
    @given(scored, st.sampled_from([0.1037, 0.3037, 0.5037, 0.9037]))
    def test_nms_like_supervision(self, rows: Any, threshold: float) -> None:
        """With distinct scores the survivors are supervision's."""
        detections = detections_of(rows)
        expected = detections.with_nms(threshold)
        assert ids_of(filter_overlaps(detections, "nms", threshold)) == ids_of(expected)

    @settings(max_examples=60)
    @given(scored, st.sampled_from([0.1037, 0.3037, 0.5037]))
    def test_nmm_like_supervision(self, rows: Any, threshold: float) -> None:
        """With distinct scores the joined boxes and confidences are supervision's."""
        detections = detections_of(rows)
        one, other = (
            sorted(map(tuple, np.column_stack([item.xyxy, item.confidence]).tolist()))
            for item in (
                detections.with_nmm(threshold),
                filter_overlaps(detections, "nmm", threshold),
            )
        )
        assert np.allclose(one, other, atol=1e-4)

    @settings(max_examples=40)
    @given(scored, st.randoms(use_true_random=False), st.sampled_from(["nms", "nmm"]))
    def test_order_does_not_matter(self, rows: Any, random: Any, strategy: Any) -> None:
        """With distinct scores the result does not depend on the order of the input."""
        shuffled = list(rows)
        random.shuffle(shuffled)
        one, other = (
            filter_overlaps(detections_of(item), strategy, 0.3) for item in (rows, shuffled)
        )
        assert sorted(one.xyxy.tolist()) == sorted(other.xyxy.tolist())

    @pytest.mark.parametrize("strategy", ["nms", "nmm"])
    @pytest.mark.parametrize("form", WITH_MASKS)
    def test_masks_decide(self, form: MaskForm, strategy: Any) -> None:
        """Two halves of a square whose boxes overlap are two objects by their masks."""
        upper = np.triu(np.ones((40, 40), bool), 1)
        masks = np.zeros((2, 60, 90), bool)
        masks[0, :40, :40], masks[1, :40, :40] = upper, ~upper
        two = some([[0, 0, 40, 40]] * 2, IMAGE, masks=masks, form=form)
        assert len(filter_overlaps(two, strategy, 0.3)) == 2

    @pytest.mark.parametrize("form", WITH_MASKS)
    def test_nmm_unites_masks(self, form: MaskForm) -> None:
        """Joined masks grow: pieces that only meet the union are the same object."""
        boxes = [[0, 0, 30, 10], [20, 0, 50, 10], [40, 0, 70, 10], [0, 40, 5, 45]]
        pieces = some(boxes, IMAGE, scores=[0.9, 0.5, 0.4, 0.3], form=form)
        result = filter_overlaps(pieces, "nmm", 0.14)
        assert result.xyxy.tolist() == [[0, 0, 70, 10], [0, 40, 5, 45]]
        assert dense_masks(result).sum(axis=(1, 2)).tolist() == [700, 25]
        assert result.data["detection_id"][1] == "d3"

    def test_nmm_needs_an_overlap(self) -> None:
        """Threshold 0 joins what overlaps, not all of a class."""
        apart = some([[0, 0, 5, 5], [4, 4, 9, 9], [20, 20, 25, 25]], IMAGE)
        assert len(filter_overlaps(apart, "nmm", 0.0)) == 2

    def test_oriented_boxes(self) -> None:
        """Oriented boxes are compared as they are turned: crossed bars are two objects."""
        along = np.array([[0, 0], [60, 0], [60, 6], [0, 6]], np.float32)
        turn = np.array([[0.8, 0.6], [-0.6, 0.8]])
        bars = np.stack([along @ turn, along @ turn + [0, 25], along @ turn + [0, 1]])
        boxes = [[0, 0, 50, 45], [0, 20, 50, 65], [0, 0, 50, 45]]
        detections = some(boxes, IMAGE, xyxyxyxy=bars.astype(np.float32))
        assert ids_of(filter_overlaps(detections, "nms", 0.3)) == {"d0", "d1"}

    def test_no_confidence(self) -> None:
        """Without confidences the earlier row is the better one."""
        two = some([[5, 5, 20, 20]] * 2, IMAGE)
        two.confidence = None
        assert filter_overlaps(two, "nms", 0.3).data["detection_id"].tolist() == ["d0"]
        assert len(filter_overlaps(two, "nmm", 0.3)) == 1

    @pytest.mark.parametrize(
        ("strategy", "threshold", "message"),
        [("soft", 0.3, "none, nms or nmm, got 'soft'"), ("nms", 1.5, "in 0 to 1, got 1.5")],
    )
    def test_bad_values(self, strategy: Any, threshold: float, message: str) -> None:
        """Values that came through references are checked."""
        with pytest.raises(ValueError, match=message):
            filter_overlaps(some([[5, 5, 20, 20]] * 2, IMAGE), strategy, threshold)


class TestManifest:
    def test_predictions_lie_below_the_image(self) -> None:
        """Predictions come one level below the image they go onto."""
        assert DetectionsStitchManifest.get_input_dimensionality_offsets() == {"predictions": 1}
