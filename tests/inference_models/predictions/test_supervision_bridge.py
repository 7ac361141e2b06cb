"""Predictions to supervision and back, without dense canvases and without losses."""

from __future__ import annotations

import json
import tracemalloc
from typing import Any

import cv2
import numpy as np
import pytest
import supervision as sv

from inference_models.masks import InstanceMasks, MaskError, decode_rle, encode_masks
from inference_models.predictions import (
    Detections,
    InstanceDetections,
    KeyPoints,
    OrientedDetections,
    PredictionError,
    compact_mask,
    masks_from_supervision,
)

SIZE = (90, 130)


def drawn(count: int, size: tuple[int, int] = SIZE, seed: int = 0) -> np.ndarray:
    rng = np.random.default_rng(seed)
    dense = np.zeros((count, *size), np.uint8)
    for mask in dense:
        centre = rng.integers(0, size[::-1]).tolist()
        cv2.ellipse(mask, centre, rng.integers(2, 30, 2).tolist(), 20, 0, 360, 1, -1)
    return dense.astype(np.bool_)


def instances(masks: InstanceMasks, **fields: Any) -> InstanceDetections:
    count = len(masks)
    (height, width), (rows, columns) = masks.image_size, masks.mask_size
    return InstanceDetections(
        xyxy=masks.boxes * np.array([width / columns, height / rows] * 2),
        confidence=np.linspace(0.9, 0.5, count),
        class_id=np.arange(count) % 2,
        masks=masks,
        image_size=masks.image_size,
        class_names=("cat", "dog"),
        **fields,
    )


class TestCompactMaskContract:
    """What we use of supervision's `CompactMask`; a failure here means that the bridge must be
    looked at."""

    def test_same_inner_form(self) -> None:
        """Our crops in supervision's form are those supervision makes of the dense masks and tight
        boxes."""
        masks = InstanceMasks.from_dense(drawn(6))
        ours = compact_mask(masks)
        theirs = sv.CompactMask.from_dense(masks.to_dense(), masks.boxes - [0, 0, 1, 1], SIZE)
        assert ours.image_shape == theirs.image_shape
        np.testing.assert_array_equal(ours.offsets, theirs.offsets)
        np.testing.assert_array_equal(ours._crop_shapes, theirs._crop_shapes)
        assert ours._crop_shapes.dtype == theirs._crop_shapes.dtype
        for one, other in zip(ours._rles, theirs._rles, strict=True):
            np.testing.assert_array_equal(one, other)
            assert one.dtype == other.dtype

    def test_reads_loose_crops(self) -> None:
        """Crops larger than their masks, as other code makes them, are read pixel by pixel."""
        dense = drawn(4)
        loose = np.array([[0, 0, SIZE[1], SIZE[0]]] * 4)
        read = masks_from_supervision(sv.CompactMask.from_dense(dense, loose, SIZE))
        np.testing.assert_array_equal(read.to_dense(), dense)

    def test_zero_runs(self) -> None:
        """Runs of no pixels, which supervision's format allows, leave no trace."""
        compact = sv.CompactMask(
            [np.array([0, 2, 0, 1, 1], np.int32)], np.array([[2, 2]], np.int32),
            np.array([[3, 1]], np.int32), (5, 6),
        )  # fmt: skip
        np.testing.assert_array_equal(
            masks_from_supervision(compact).to_dense(), compact.to_dense()
        )

    def test_mask_without_pixels(self) -> None:
        """A mask without pixels survives as one unset pixel that every method of supervision can
        work on."""
        dense = drawn(3)
        dense[1] = False
        compact = compact_mask(InstanceMasks.from_dense(dense))
        np.testing.assert_array_equal(compact.to_dense(), dense)
        assert compact.area.tolist() == dense.sum(axis=(1, 2)).tolist()
        assert compact.repack().resize((45, 65)).shape == (3, 45, 65)
        np.testing.assert_array_equal(masks_from_supervision(compact).to_dense(), dense)


class TestInstancesToSupervision:
    def test_pixels_and_columns(self) -> None:
        """Boxes, scores, classes, names, tracks and further columns arrive with every pixel."""
        dense = drawn(5)
        there = instances(
            InstanceMasks.from_dense(dense),
            tracker_id=np.arange(5) + 10,
            data={"speed": np.arange(5.0)},
        ).to_supervision()
        assert isinstance(there.mask, sv.CompactMask)
        np.testing.assert_array_equal(there.mask.to_dense(), dense)
        assert there.xyxy.dtype == there.confidence.dtype == np.float32
        assert there.class_id.tolist() == [0, 1, 0, 1, 0]
        assert there.tracker_id.tolist() == [10, 11, 12, 13, 14]
        assert there.data["class_name"].tolist() == ["cat", "dog", "cat", "dog", "cat"]
        assert there.data["speed"].tolist() == [0, 1, 2, 3, 4]

    def test_reduced_grid(self) -> None:
        """Masks of a grid of their own are shown on the image; their codes keep the grid."""
        dense = drawn(4, (45, 40))
        there = instances(InstanceMasks.from_dense(dense, image_size=SIZE)).to_supervision()
        expected = [
            cv2.resize(mask.astype(np.uint8), SIZE[::-1], interpolation=cv2.INTER_NEAREST)
            for mask in dense
        ]
        assert there.mask.image_shape == SIZE
        np.testing.assert_array_equal(there.mask.to_dense(), np.array(expected, np.bool_))
        assert [code["size"] for code in there.data["rle_mask"]] == [[45, 40]] * 4
        np.testing.assert_array_equal(decode_rle(list(there.data["rle_mask"])).to_dense(), dense)

    def test_codes_on_request(self) -> None:
        """On the image's grid codes come only when asked for, and json can write them."""
        made = instances(InstanceMasks.from_dense(drawn(2)))
        assert "rle_mask" not in made.to_supervision().data
        codes = made.to_supervision(with_rle=True).data["rle_mask"]
        assert json.loads(json.dumps(list(codes))) == encode_masks(made.masks)

    def test_no_canvas(self) -> None:
        """Not even one dense canvas of the image is made on the way there and back."""
        crops = [np.ones((20, 30), np.bool_)] * 40
        masks = InstanceMasks.from_crops(
            crops, [[100 * i, 50 * i] for i in range(40)], (4000, 6000)
        )
        tracemalloc.start()
        there = instances(masks).to_supervision(with_rle=True)
        back = InstanceDetections.from_supervision(there)
        peak = tracemalloc.get_traced_memory()[1]
        tracemalloc.stop()
        assert back.masks.areas.tolist() == [600] * 40
        assert peak < 4000 * 6000 / 8

    def test_empty(self) -> None:
        """No objects keep types, the image's size and the names of all columns."""
        there = InstanceDetections.empty(SIZE, (9, 13), ("cat",)).to_supervision()
        assert there.mask.shape == (0, *SIZE)
        assert there.xyxy.shape == (0, 4)
        assert there.class_id.dtype == np.int64
        assert there.confidence.dtype == np.float32
        assert there.data["class_name"].shape == (0,)
        assert there.data["rle_mask"].shape == (0,)


class TestInstancesFromSupervision:
    @pytest.mark.parametrize("compact", [True, False])
    def test_round_trip(self, compact: bool) -> None:
        """Everything comes back from compact and from dense masks."""
        made = instances(
            InstanceMasks.from_dense(drawn(5)), tracker_id=np.arange(5), data={"a": np.ones(5)}
        )
        there = made.to_supervision()
        if not compact:
            there.mask = there.mask.to_dense()
        back = InstanceDetections.from_supervision(there, class_names=("cat", "dog"))
        np.testing.assert_array_equal(back.masks.runs, made.masks.runs)
        assert list(back.columns()) == list(made.columns())
        for name, column in made.columns().items():
            np.testing.assert_array_equal(back.columns()[name], column)

    def test_codes_keep_their_grid(self) -> None:
        """Rows with codes only have masks on the codes' grid over the given image."""
        masks = InstanceMasks.from_dense(drawn(3, (9, 13)), image_size=SIZE)
        there = instances(masks).to_supervision()
        there.mask = None
        back = InstanceDetections.from_supervision(there, image_size=SIZE)
        assert back.mask_size == (9, 13)
        np.testing.assert_array_equal(back.masks.runs, masks.runs)
        with pytest.raises(PredictionError, match="nothing says how large the image is"):
            InstanceDetections.from_supervision(there)

    def test_broken_code(self) -> None:
        """A broken code is refused with its sums."""
        rows = sv.Detections(xyxy=np.zeros((1, 4)), data={"rle_mask": np.array([None], object)})
        rows.data["rle_mask"][0] = {"size": [2, 2], "counts": [1, 2]}
        with pytest.raises(MaskError, match="add up to 3, but its size"):
            InstanceDetections.from_supervision(rows, image_size=(2, 2))

    def test_without_masks(self) -> None:
        """Rows without masks and codes are no instances; no rows are none."""
        rows = sv.Detections(xyxy=np.zeros((1, 4)))
        with pytest.raises(PredictionError, match="1 rows have neither masks nor codes"):
            InstanceDetections.from_supervision(rows, image_size=SIZE)
        assert len(InstanceDetections.from_supervision(sv.Detections.empty(), SIZE)) == 0

    def test_wrong_image(self) -> None:
        """Masks that do not cover the named image are refused."""
        there = instances(InstanceMasks.from_dense(drawn(1))).to_supervision()
        with pytest.raises(PredictionError, match=r"masks of size \(90, 130\) do not cover"):
            InstanceDetections.from_supervision(there, image_size=(91, 130))


class TestDetections:
    def test_round_trip(self) -> None:
        """Plain rows come back; a missing score becomes 1, a missing class 0."""
        there = sv.Detections(xyxy=np.array([[1.0, 2, 3, 4]]), data={"class_name": np.array(["x"])})
        back = Detections.from_supervision(there, SIZE)
        assert back.xyxy.tolist() == [[1, 2, 3, 4]]
        assert (back.confidence.tolist(), back.class_id.tolist()) == ([1], [0])
        assert back.data["class_name"].tolist() == ["x"]
        again = back.to_supervision()
        assert again.data["class_name"].tolist() == ["x"]

    def test_names(self) -> None:
        """With a table of names, the column is made from it."""
        there = sv.Detections(
            xyxy=np.zeros((1, 4)), class_id=np.array([1]), data={"class_name": np.array(["old"])}
        )
        back = Detections.from_supervision(there, SIZE, ("a", "b"))
        assert back.to_supervision().data["class_name"].tolist() == ["b"]


class TestOriented:
    def test_round_trip(self) -> None:
        """Corners come back as they were; boxes are those around them."""
        corners = np.random.default_rng(0).uniform(0, 80, (3, 4, 2)).astype(np.float32)
        made = OrientedDetections(
            corners=corners, confidence=[1, 0.5, 0.2], class_id=[0, 1, 0], image_size=SIZE
        )
        there = made.to_supervision()
        np.testing.assert_array_equal(there.xyxy[:, :2], corners.min(axis=1))
        back = OrientedDetections.from_supervision(there, SIZE)
        np.testing.assert_array_equal(back.corners, corners)

    def test_without_corners(self) -> None:
        """Upright boxes are not taken for rotated ones."""
        with pytest.raises(PredictionError, match="1 rows have no corners"):
            OrientedDetections.from_supervision(sv.Detections(xyxy=np.zeros((1, 4))), SIZE)
        assert len(OrientedDetections.from_supervision(sv.Detections.empty(), SIZE)) == 0


class TestKeyPoints:
    def draw(self) -> KeyPoints:
        rng = np.random.default_rng(0)
        return KeyPoints(
            xy=rng.uniform(1, 90, (2, 3, 2)),
            keypoint_confidence=rng.uniform(0, 1, (2, 3)),
            visible=[[True, False, True], [True, True, False]],
            xyxy=[[0, 0, 90, 90]] * 2,
            confidence=[0.9, 0.4],
            class_id=[0, 0],
            image_size=SIZE,
            class_names=("person",),
            keypoint_names=(("nose", "left eye"),),
        )

    def test_round_trip(self) -> None:
        """Points, visibility, boxes and scores come back."""
        made = self.draw()
        back = KeyPoints.from_supervision(
            made.to_supervision(), SIZE, made.class_names, made.keypoint_names
        )
        for name, column in made.columns().items():
            np.testing.assert_array_equal(back.columns()[name], column)

    def test_in_rows(self) -> None:
        """In detections the points are columns; a slot that the class does not use has no name."""
        there = self.draw().to_supervision_detections()
        assert there.data["keypoints_xy"].shape == (2, 3, 2)
        assert there.data["keypoints_class_id"].tolist() == [[0, 1, 2]] * 2
        assert there.data["keypoints_class_name"].tolist() == [["nose", "left eye", ""]] * 2
        assert there.data["class_name"].tolist() == ["person"] * 2

    def test_missing_parts(self) -> None:
        """Without boxes, visibility and scores: boxes around what is not missing, scores 1."""
        bare = sv.KeyPoints(xy=np.array([[[0, 0], [4, 9], [8, 3]], [[0, 0]] * 3], np.float32))
        back = KeyPoints.from_supervision(bare, SIZE)
        assert back.visible.tolist() == [[False, True, True], [False] * 3]
        assert back.xyxy.tolist() == [[4, 3, 8, 9], [0, 0, 0, 0]]
        assert back.confidence.tolist() == [1, 1]

    def test_empty(self) -> None:
        """No objects keep the number of points and every column."""
        none = KeyPoints.empty(SIZE, slots=3, class_names=("person",))
        there = none.to_supervision_detections()
        assert there.data["keypoints_xy"].shape == (0, 3, 2)
        assert there.data["keypoints_class_name"].shape == (0, 3)
        assert none.to_supervision().xy.shape == (0, 3, 2)
