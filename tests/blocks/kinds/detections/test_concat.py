from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import supervision as sv

from blocks.kinds.detections import concat_detections
from blocks.kinds.detections.compact import compact_from_dense
from execution_engine.images import WorkflowImageData
from execution_engine.kinds.codec import CodecRegistry
from inference_models.masks import InstanceMasks
from inference_models.predictions import InstanceDetections
from tests.blocks.detection_sets import an_image, dense_masks, rle_masks, some

Make = Callable[..., sv.Detections]


class TestConcatDetections:
    def test_like_supervision(
        self, make: Make, root_image: WorkflowImageData, ellipse_masks: Any
    ) -> None:
        """Where supervision can join, the rows are the same."""
        parts = [
            make(count, root_image, seed=count, mask=ellipse_masks(count, 60, 90, count))
            for count in (2, 1, 3)
        ]
        assert concat_detections(parts) == sv.Detections.merge(parts)

    def test_nothing(self) -> None:
        """No parts give empty detections."""
        assert len(concat_detections([])) == 0

    def test_result_is_new(self, make: Make) -> None:
        """One part alone is copied: writing to the result does not reach it."""
        part = make(2)
        concat_detections([part]).xyxy[:] = 99
        assert not (part.xyxy == 99).any()

    def test_empty_parts_keep_the_columns(
        self, make: Make, root_image: WorkflowImageData, registry: CodecRegistry
    ) -> None:
        """Joining only empty sets keeps columns, types and what is known of the image."""
        empty = make(0, root_image, time_in_zone=np.zeros(0))
        result = concat_detections([empty, sv.Detections.empty()])
        assert result.data.keys() == empty.data.keys()
        assert result.data["time_in_zone"].dtype == np.float64
        assert result.data["image_dimensions"].shape == (0, 2)
        assert registry.serialise(result, ["*"])["image"] == {"width": 90, "height": 60}

    def test_image_level_metadata_go_with_rows(
        self, make: Make, root_image: WorkflowImageData
    ) -> None:
        """With rows the image is named per row, and metadata of empty parts do not stay."""
        result = concat_detections([make(0, root_image), make(2, root_image)])
        assert result.metadata == {}
        assert result.data["parent_id"].tolist() == ["image", "image"]

    def test_other_metadata(self, make: Make) -> None:
        """Other metadata stay where all parts that have them agree."""
        first, second, third = make(1), make(1, seed=1), make(1, seed=2)
        first.metadata = {"camera": "a", "frame": np.array([1]), "mode": "x"}
        second.metadata = {"camera": "b", "frame": np.array([1])}
        third.metadata = {"camera": "a"}
        result = concat_detections([first, second, third]).metadata
        assert result.keys() == {"frame", "mode"}

    def test_lacking_columns_are_filled(self, make: Make) -> None:
        """Text, numbers, whole numbers, booleans and objects have fillings of their own."""
        objects = np.fromiter([[1, 2]], object, 1)
        full = make(
            1,
            zone=np.array(["in"]),
            time_in_zone=np.array([1.5]),
            visits=np.array([3]),
            flag=np.array([True]),
            polygon=objects,
            velocity=np.array([[1.0, 2.0]]),
        )
        full.tracker_id = np.array([5])
        result = concat_detections([full, make(1, seed=1)])
        assert result.data["zone"].tolist() == ["in", ""]
        assert result.data["time_in_zone"][0] == 1.5
        assert np.isnan(result.data["time_in_zone"][1])
        assert result.data["visits"].tolist() == [3, -1]
        assert result.data["flag"].tolist() == [True, False]
        assert result.data["polygon"].tolist() == [[1, 2], None]
        assert np.isnan(result.data["velocity"][1]).all()
        assert result.tracker_id.tolist() == [5, -1]

    def test_fields_that_are_none(self) -> None:
        """Confidence that one part lacks is NaN there, fields that all lack stay None."""
        box = np.zeros((1, 4), np.float32)
        result = concat_detections(
            [sv.Detections(box, confidence=np.array([0.5], np.float32)), sv.Detections(box)]
        )
        assert result.confidence[0] == 0.5
        assert np.isnan(result.confidence[1])
        assert result.class_id is None

    def test_longer_text(self, make: Make) -> None:
        """Names of different lengths are not cut."""
        first, second = make(1), make(1, seed=1)
        second.data["class_name"] = np.array(["a very long class name"])
        names = concat_detections([first, second]).data["class_name"].tolist()
        assert names == ["class-0", "a very long class name"]

    def test_keypoints_are_padded(self, make: Make) -> None:
        """Keypoints of different counts are padded, padding has an empty name."""

        def keypoints(slots: int) -> dict[str, Any]:
            return {
                "keypoints_xy": np.ones((1, slots, 2), np.float32),
                "keypoints_class_name": np.full((1, slots), "nose"),
                "keypoints_class_id": np.full((1, slots), 4),
                "keypoints_confidence": np.full((1, slots), 0.5, np.float32),
            }

        result = concat_detections([make(1, **keypoints(1)), make(1, **keypoints(3)), make(1)])
        assert result.data["keypoints_xy"].shape == (3, 3, 2)
        assert result.data["keypoints_class_name"].tolist() == [
            ["nose", "", ""],
            ["nose", "nose", "nose"],
            ["", "", ""],
        ]
        assert result.data["keypoints_class_id"].tolist() == [[4, 0, 0], [4, 4, 4], [0, 0, 0]]
        assert result.data["keypoints_xy"].dtype == np.float32

    def test_text_and_numbers_do_not_mix(self, make: Make) -> None:
        """A column of numbers here and text there keeps both as they are."""
        result = concat_detections([make(1, tag=np.array(["a"])), make(1, tag=np.array([2]))])
        assert result.data["tag"].tolist() == ["a", 2]

    def test_lists_as_columns(self, make: Make) -> None:
        """Columns given as lists are joined as well, ragged ones too."""
        result = concat_detections([make(1, tag=["a"]), make(2, tag=[[1], [2, 3]])])
        assert result.data["tag"].tolist() == ["a", [1], [2, 3]]


class TestMasks:
    def test_compact_and_dense(self, make: Make, ellipse_masks: Any) -> None:
        """Dense masks join compact ones without losing a pixel outside their boxes."""
        masks = ellipse_masks(4, 20, 30)
        parts = [make(2, mask=compact_from_dense(masks[:2])), make(2, mask=masks[2:])]
        result = concat_detections(parts)
        assert isinstance(result.mask, sv.CompactMask)
        assert np.array_equal(result.mask.to_dense(), masks)

    def test_all_dense_stay_dense(self, make: Make, ellipse_masks: Any) -> None:
        """Dense masks stay one array."""
        masks = ellipse_masks(3, 20, 30)
        result = concat_detections([make(2, mask=masks[:2]), make(1, mask=masks[2:])])
        assert isinstance(result.mask, np.ndarray)
        assert np.array_equal(result.mask, masks)

    def test_empty_part_without_masks(self, make: Make, ellipse_masks: Any) -> None:
        """A part without rows needs no masks."""
        masks = ellipse_masks(2, 20, 30)
        assert concat_detections([make(0), make(2, mask=masks)]).mask is not None

    def test_mixed(self, make: Make, ellipse_masks: Any) -> None:
        """Rows with and without masks cannot be joined."""
        with pytest.raises(ValueError, match=r"of 2 sets with rows, those at \[1\] have no masks"):
            concat_detections([make(2, mask=ellipse_masks(2, 20, 30)), make(1)])

    def test_rle_and_masks(self, ellipse_masks: Any) -> None:
        """When one set has RLE all get it, and RLE alone becomes a mask beside masks."""
        masks = ellipse_masks(3, 20, 30)
        image = an_image((20, 30))
        parts = [
            some([[0, 0, 5, 5]], image, masks=mask[None], form=form)
            for mask, form in zip(masks, ("rle", "compact", "dense"), strict=True)
        ]
        result = concat_detections(parts)
        assert np.array_equal(dense_masks(result), masks)
        assert np.array_equal(rle_masks(result), masks)

    def test_rle_stays_on_its_grid(self, ellipse_masks: Any) -> None:
        """RLE of sets that all have it is not written again."""
        image = an_image((20, 30))
        part = some([[0, 0, 5, 5]], image, masks=ellipse_masks(1, 20, 30), form="rle")
        result = concat_detections([part, part])
        assert result.mask is None
        assert result.data["rle_mask"][1] is part.data["rle_mask"][0]

    def test_rle_and_nothing(self) -> None:
        """RLE does not join with rows without any mask."""
        image = an_image((20, 30))
        parts = [some([[0, 0, 5, 5]], image, form=form) for form in ("rle", "none")]
        with pytest.raises(ValueError, match=r"of 2 sets with rows, those at \[1\] have no masks"):
            concat_detections(parts)

    def test_sizes(self, make: Make, ellipse_masks: Any) -> None:
        """Masks of images of different sizes cannot be joined."""
        parts = [make(1, mask=ellipse_masks(1, 20, 30)), make(1, mask=ellipse_masks(1, 20, 31))]
        with pytest.raises(ValueError, match=r"one image, got .*\[\(20, 30\), \(20, 31\)\]"):
            concat_detections(parts)

    def test_grids(self) -> None:
        """Instances whose masks live on different grids join with every pixel right on the image;
        each code stays on its grid."""
        parts, expected, sizes = [], [], []
        for grid in ((12, 18), (30, 45)):
            dense = np.zeros((2, *grid), np.bool_)
            dense[0, 2:7, 3:9], dense[1, -3:, -4:] = True, True
            masks = InstanceMasks.from_dense(dense, (48, 72))
            prediction = InstanceDetections(
                xyxy=np.zeros((2, 4)),
                confidence=np.ones(2),
                class_id=np.zeros(2),
                masks=masks,
                image_size=(48, 72),
            )
            parts.append(prediction.to_supervision())
            expected.append(masks.on_image_grid().to_dense())
            sizes += [list(grid)] * 2
        joined = concat_detections(parts)
        assert joined.mask.image_shape == (48, 72)
        assert np.array_equal(joined.mask.to_dense(), np.concatenate(expected))
        assert [code["size"] for code in joined.data["rle_mask"]] == sizes


class TestMergeWithEmptyRaises:
    """Merging an "empty" result with a full one raises because optional fields differ.

    Reference: roboflow/supervision#943.
    """

    def test_equals_the_full_one(self, make: Make, ellipse_masks: Any) -> None:
        """Joined with an empty result, three boxes with masks are what they were."""
        full = make(3, mask=compact_from_dense(ellipse_masks(3, 20, 30)))
        for parts in ([sv.Detections.empty(), full], [full, sv.Detections.empty()]):
            joined = concat_detections(parts)
            assert joined == full
            assert joined.mask.image_shape == (20, 30)

    def test_only_empties_keep_the_schema(self, make: Make, ellipse_masks: Any) -> None:
        """Several results without rows have every column that any of them has, and the size of
        the masks."""
        full = make(2, mask=compact_from_dense(ellipse_masks(2, 20, 30)))
        none = full[np.zeros(2, np.bool_)]
        joined = concat_detections([sv.Detections.empty(), none, none])
        assert len(joined) == 0
        assert set(joined.data) == set(full.data)
        assert joined.confidence.dtype == full.confidence.dtype
        assert joined.mask.shape == (0, 20, 30)
