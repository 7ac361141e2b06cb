from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import supervision as sv

from blocks.fusion.detections_list_rollup.v1 import DetectionsListRollUpBlockV1
from blocks.transformations.dynamic_crop.v1 import DynamicCropBlockV1
from execution_engine.block_api import Batch, WorkflowImageData
from tests.blocks.detection_sets import (
    WITH_MASKS,
    MaskForm,
    an_image,
    dense_masks,
    ellipses,
    rle_masks,
    some,
)

IMAGE = an_image((60, 90))
PARENTS = some([[10, 10, 50, 50], [40, 10, 80, 50]], IMAGE, ids=["p0", "p1"])


def crops() -> list[WorkflowImageData]:
    result: Any = DynamicCropBlockV1().run(Batch([IMAGE]), Batch([PARENTS]), 0.0, (0, 0, 0))
    return [item["crops"] for item in result[0]]


FIRST, SECOND = crops()


def roll_up(*children: Any, parents: sv.Detections = PARENTS, **changed: Any) -> sv.Detections:
    arguments = {
        "confidence_strategy": "max",
        "overlap_threshold": 0.0,
        "keypoint_merge_threshold": 10.0,
        **changed,
    }
    result: Any = DetectionsListRollUpBlockV1().run(parents, list(children), **arguments)
    return result["rolled_up_detections"]


class TestPlaces:
    def test_boxes_and_lineage(self) -> None:
        """Children move by the corner of their crop and lie in the image of the parents."""
        result = roll_up(some([[0, 20, 10, 30]], FIRST), some([[30, 0, 40, 10]], SECOND))
        assert result.xyxy.tolist() == [[10, 30, 20, 40], [70, 10, 80, 20]]
        for key in ("parent_id", "root_parent_id"):
            assert result.data[key].tolist() == ["image", "image"]
        assert result.data["image_dimensions"].tolist() == [[60, 90]] * 2
        assert result.data["root_parent_coordinates"].tolist() == [[0, 0]] * 2

    def test_order_and_gaps(self) -> None:
        """Children are told apart by their crop, so order and missing ones do not matter."""
        result = roll_up(None, some([[30, 0, 40, 10]], SECOND), some([[0, 0, 9, 9]], FIRST))
        assert result.xyxy.tolist() == [[70, 10, 80, 20], [10, 10, 19, 19]]

    def test_parents_with_new_ids(self) -> None:
        """A place in the root is enough when the ids have changed since."""
        renamed = some(PARENTS.xyxy.tolist(), IMAGE, ids=["x", "y"])
        result = roll_up(some([[30, 0, 40, 10]], SECOND), parents=renamed)
        assert result.xyxy.tolist() == [[70, 10, 80, 20]]

    def test_children_without_a_place(self) -> None:
        """Children that know nothing belong to the parent at their place."""
        result = roll_up(some([]), some([[1, 1, 2, 2]]))
        assert result.xyxy.tolist() == [[41, 11, 42, 12]]

    def test_unknown_parent(self) -> None:
        """A child of no parent is named."""
        with pytest.raises(
            ValueError, match="belong to none of the 2 parent detections, and 1 set"
        ):
            roll_up(some([[1, 1, 2, 2]]))

    def test_not_detections(self) -> None:
        """A list of something else is refused."""
        with pytest.raises(ValueError, match="must be a list of detections, got str at 1"):
            roll_up(some([]), "text")

    def test_no_list(self) -> None:
        """A value that is no list is named by type."""
        with pytest.raises(ValueError, match="must be a list of detections, got float"):
            DetectionsListRollUpBlockV1().run(PARENTS, 0.5, "max", 0.0, 10.0)  # type: ignore[arg-type]

    @pytest.mark.parametrize("form", WITH_MASKS)
    def test_masks(self, form: MaskForm) -> None:
        """Masks land pixel by pixel on the image of the parents."""
        left, right = ellipses(2, 40, 40, 1), ellipses(2, 40, 40, 2)
        names = ["a", "b"]
        result = roll_up(
            some([[0, 0, 9, 9]] * 2, FIRST, names=names, masks=left, form=form),
            some([[0, 0, 9, 9]] * 2, SECOND, names=["c", "d"], masks=right, form=form),
        )
        expected = np.zeros((4, 60, 90), bool)
        expected[:2, 10:50, 10:50], expected[2:, 10:50, 40:80] = left, right
        assert np.array_equal(dense_masks(result), expected)
        if "rle_mask" in result.data:
            assert np.array_equal(rle_masks(result), expected)

    def test_mixed_masks(self) -> None:
        """Children with and without masks are refused by name."""
        with pytest.raises(ValueError, match="those on 'p0' have masks, those on 'p1' have none"):
            roll_up(some([[0, 0, 9, 9]], FIRST, form="rle"), some([[0, 0, 9, 9]], SECOND))

    @pytest.mark.parametrize("children", [(), (None, None), (some([], FIRST), some([], SECOND))])
    def test_no_children(self, children: Any) -> None:
        """Without children there are no rows, in the image of the parents."""
        result = roll_up(*children)
        assert len(result) == 0
        assert result.metadata["parent_id"] == "image"
        assert {"class_name", "detection_id", "parent_id"} <= result.data.keys()


class TestZones:
    def test_corners(self) -> None:
        """Zones are the corners of the parents, clockwise from the upper left."""
        result: Any = DetectionsListRollUpBlockV1().run(PARENTS, [], "max", 0.0, 10.0)
        assert result["crop_zones"] == [
            [[10, 10], [50, 10], [50, 50], [10, 50]],
            [[40, 10], [80, 10], [80, 50], [40, 50]],
        ]


class TestJoining:
    """The overlap of both crops is x 40 to 50 of the image: 30 to 40 and 0 to 10 of the crops."""

    LEFT = some([[20, 10, 40, 20]], FIRST, scores=[0.4], ids=["l"])
    RIGHT = some([[0, 10, 20, 20]], SECOND, scores=[0.8], ids=["r"])

    @pytest.mark.parametrize(("strategy", "score"), [("max", 0.8), ("mean", 0.6), ("min", 0.4)])
    def test_halves(self, strategy: str, score: float) -> None:
        """The halves of an object that two crops cut become one."""
        result = roll_up(self.LEFT, self.RIGHT, confidence_strategy=strategy)
        assert result.xyxy.tolist() == [[30, 20, 60, 30]]
        assert result.confidence.tolist() == pytest.approx([score])
        assert result.data["detection_id"][0] not in ("l", "r")

    @pytest.mark.parametrize(("threshold", "count"), [(0.33, 1), (0.34, 2)])
    def test_threshold(self, threshold: float, count: int) -> None:
        """The intersection over union, a third here, must reach the threshold."""
        result = roll_up(self.LEFT, self.RIGHT, overlap_threshold=threshold)
        assert len(result) == count

    def test_touching_is_no_overlap(self) -> None:
        """Objects that only touch stay apart."""
        left, right = some([[20, 0, 30, 9]], FIRST), some([[0, 0, 9, 9]], SECOND)
        assert len(roll_up(left, right)) == 2

    def test_classes(self) -> None:
        """Objects of different classes stay apart, ids of classes do not matter."""
        other = some([[0, 10, 20, 20]], SECOND, names=["b"])
        assert len(roll_up(self.LEFT, other)) == 2

    @pytest.mark.parametrize("form", WITH_MASKS)
    def test_masks(self, form: MaskForm) -> None:
        """Masks decide over the overlap, and are united."""
        left, right = np.zeros((1, 40, 40), bool), np.zeros((1, 40, 40), bool)
        left[0, 10:14, 20:40], right[0, 16:20, 0:20] = True, True
        apart = roll_up(
            some([[20, 10, 40, 20]], FIRST, masks=left, form=form),
            some([[0, 10, 20, 20]], SECOND, masks=right, form=form),
        )
        assert len(apart) == 2
        right[0, 12:20, 0:20] = True
        one = roll_up(
            some([[20, 10, 40, 20]], FIRST, masks=left, form=form),
            some([[0, 10, 20, 20]], SECOND, masks=right, form=form),
        )
        assert dense_masks(one).sum(axis=(1, 2)).tolist() == [80 + 160 - 20]

    def test_chains(self) -> None:
        """Detections that only meet through another are one object, in any order."""
        boxes = [[0, 0, 10, 10], [8, 0, 18, 10], [16, 0, 26, 10]]
        for order in ([0, 1, 2], [2, 0, 1], [1, 2, 0]):
            result = roll_up(some([boxes[i] for i in order], FIRST), None)
            assert result.xyxy.tolist() == [[10, 10, 36, 20]]

    def test_unknown_strategy(self) -> None:
        """A strategy that came through a reference is checked."""
        with pytest.raises(ValueError, match="max, mean or min, got 'median'"):
            roll_up(self.LEFT, confidence_strategy="median")


def with_points(
    box: list[float], image: WorkflowImageData, points: dict[str, tuple[float, float, float]]
) -> sv.Detections:
    """One detection with named keypoints (x, y, confidence)."""
    return some(
        [box],
        image,
        keypoints_xy=np.array([[[x, y] for x, y, _ in points.values()]], np.float32),
        keypoints_confidence=np.array([[score for *_, score in points.values()]]),
        keypoints_class_id=np.array([[ord(name) for name in points]]),
        keypoints_class_name=np.array([list(points)]),
    )


class TestKeypoints:
    LEFT = with_points([20, 10, 40, 20], FIRST, {"a": (32, 12, 0.5), "b": (22, 12, 0.9)})
    RIGHT = with_points([0, 10, 20, 20], SECOND, {"a": (6, 12, 0.7), "c": (15, 15, 0.3)})

    def points(self, **changed: Any) -> dict[str, list]:
        data = roll_up(self.LEFT, self.RIGHT, **changed).data
        names = data["keypoints_class_name"][0].tolist()
        return {
            name: [data["keypoints_xy"][0, slot].tolist(), data["keypoints_confidence"][0, slot]]
            for slot, name in enumerate(names)
        }

    def test_near_points_are_one(self) -> None:
        """Points of a name within the distance become one in their middle."""
        found = self.points(confidence_strategy="mean")
        assert found["a"] == [[44, 22], pytest.approx(0.6)]
        assert found["b"] == [[32, 22], 0.9]
        assert found["c"] == [[55, 25], 0.3]

    def test_far_points_stay(self) -> None:
        """Farther points of a name stay two."""
        data = roll_up(self.LEFT, self.RIGHT, keypoint_merge_threshold=3.9).data
        assert sorted(data["keypoints_class_name"][0].tolist()) == ["a", "a", "b", "c"]

    def test_detections_apart(self) -> None:
        """Points of detections that are not joined stay theirs, padded to one width."""
        alone = with_points([0, 30, 5, 35], FIRST, {"a": (1, 31, 0.2)})
        data = roll_up(self.LEFT, self.RIGHT, alone, parents=PARENTS).data
        assert data["keypoints_class_name"].tolist() == [["a", "b", "c"], ["a", "", ""]]
        assert data["keypoints_xy"][1, 0].tolist() == [11, 41]
