from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import supervision as sv
from hypothesis import given, settings
from hypothesis import strategies as st
from pydantic import ValidationError

from blocks.fusion.detections_consensus.presence import presence
from blocks.fusion.detections_consensus.v1 import (
    DetectionsConsensusBlockV1,
    DetectionsConsensusManifest,
)
from blocks.fusion.detections_consensus.voting import matching_groups
from execution_engine.block_api import Batch
from tests.blocks.detection_sets import (
    WITH_MASKS,
    MaskForm,
    an_image,
    box_masks,
    dense_masks,
    ellipses,
    rle_masks,
    some,
)

IMAGE = an_image((60, 90))
SQUARE = [[10, 10, 30, 30]]


def agree(*sources: sv.Detections, **changed: Any) -> dict[str, Any]:
    arguments: dict[str, Any] = {
        "required_votes": 2,
        "class_aware": True,
        "iou_threshold": 0.3,
        "confidence": 0.0,
        "classes_to_consider": None,
        "required_objects": None,
        "presence_confidence_aggregation": "max",
        "detections_merge_confidence_aggregation": "average",
        "detections_merge_coordinates_aggregation": "average",
        "detections_merge_mask_aggregation": "union",
        **changed,
    }
    batches = [Batch([source]) for source in sources]
    result: Any = DetectionsConsensusBlockV1().run(batches, **arguments)
    return result[0]


def merged(*sources: sv.Detections, **changed: Any) -> sv.Detections:
    return agree(*sources, **changed)["predictions"]


def iou(a: Any, b: Any) -> float:
    width = min(a[2], b[2]) - max(a[0], b[0])
    height = min(a[3], b[3]) - max(a[1], b[1])
    shared = max(width, 0) * max(height, 0)
    return shared / ((a[2] - a[0]) * (a[3] - a[1]) + (b[2] - b[0]) * (b[3] - b[1]) - shared)


def one_by_one(boxes: Any, sources: Any, names: Any, votes: int, threshold: float) -> list:
    """The same groups, found by looking at every pair in plain Python."""
    used: set[int] = set()
    groups = []
    for row in range(len(boxes)):
        if row in used:
            continue
        group = [row]
        for source in sorted(set(sources) - {sources[row]}):
            best = None
            for other in range(len(boxes)):
                if sources[other] != source or other in used or names[other] != names[row]:
                    continue
                overlap = iou(boxes[row], boxes[other])
                if overlap > threshold and (best is None or overlap > best[0]):
                    best = (overlap, other)
            if best is not None:
                group.append(best[1])
        if len(group) >= votes:
            used.update(group)
            groups.append(group)
    return groups


corner = st.tuples(st.integers(0, 12), st.integers(0, 12), st.integers(1, 12), st.integers(1, 12))
rows = st.lists(st.tuples(corner, st.integers(0, 2), st.sampled_from("ab")), max_size=12)


class TestMatchingGroups:
    @settings(max_examples=150)
    @given(rows, st.integers(1, 3), st.sampled_from([0.0, 0.2, 0.5]))
    def test_equals_plain_search(self, given_rows: Any, votes: int, threshold: float) -> None:
        """Groups are those of a search through all pairs."""
        given_rows = sorted(given_rows, key=lambda row: row[1])
        boxes = [(x, y, x + w, y + h) for (x, y, w, h), _, _ in given_rows]
        sources = [source for _, source, _ in given_rows]
        names = [name for *_, name in given_rows]
        found = matching_groups(np.array(boxes).reshape(-1, 4), sources, names, votes, threshold)
        assert found == one_by_one(boxes, sources, names, votes, threshold)
        anything = matching_groups(np.array(boxes).reshape(-1, 4), sources, None, votes, threshold)
        assert anything == one_by_one(boxes, sources, [""] * len(names), votes, threshold)


class TestVotes:
    def test_too_few(self) -> None:
        """A detection that too few sources have is dropped."""
        sources = [some(SQUARE, IMAGE), some(SQUARE, IMAGE), some([], IMAGE)]
        assert len(merged(*sources, required_votes=3)) == 0
        assert len(merged(*sources, required_votes=2)) == 1

    def test_threshold_must_be_exceeded(self) -> None:
        """An overlap of just the threshold is none."""
        half = some([[10, 10, 30, 20]], IMAGE)
        assert len(merged(some(SQUARE, IMAGE), half, iou_threshold=0.5)) == 0
        assert len(merged(some(SQUARE, IMAGE), half, iou_threshold=0.49)) == 1

    def test_classes(self) -> None:
        """Classes must agree unless that is switched off."""
        other = some(SQUARE, IMAGE, names=["b"])
        assert len(merged(some(SQUARE, IMAGE), other)) == 0
        assert len(merged(some(SQUARE, IMAGE), other, class_aware=False)) == 1

    def test_one_vote_keeps_all(self) -> None:
        """With one vote what no other source has stays too."""
        lone = some([[50, 40, 60, 50]], IMAGE)
        assert len(merged(some(SQUARE, IMAGE), lone, required_votes=1)) == 2

    def test_considered_classes(self) -> None:
        """Other classes take no part."""
        two = some([*SQUARE, [50, 40, 60, 50]], IMAGE, names=["a", "b"])
        result = merged(two, two, classes_to_consider=["b"])
        assert result.data["class_name"].tolist() == ["b"]

    def test_confidence_of_the_merged(self) -> None:
        """The floor is for merged detections, not for those that vote."""
        sources = [some(SQUARE, IMAGE, scores=[score]) for score in (0.9, 0.3)]
        assert len(merged(*sources, confidence=0.6)) == 1
        assert len(merged(*sources, confidence=0.61)) == 0

    def test_one_image_each(self) -> None:
        """Every image of a batch is voted on by itself."""
        nothing = some([], IMAGE)
        square = some(SQUARE, IMAGE)
        result: Any = DetectionsConsensusBlockV1().run(
            [Batch([square, square]), Batch([square, nothing])],
            2, True, 0.3, 0.0, None, None, "max", "average", "average", "union",
        )  # fmt: skip
        assert [len(item["predictions"]) for item in result] == [1, 0]

    def test_different_images(self) -> None:
        """Sources on different images are refused by name."""
        with pytest.raises(
            ValueError, match="sources of a consensus must come from one image, got"
        ):
            merged(some(SQUARE, IMAGE), some(SQUARE, an_image(name="other")))

    def test_votes_from_a_reference(self) -> None:
        """A number of votes that came through a reference is checked."""
        with pytest.raises(ValueError, match="`required_votes` must be at least 1, got 0"):
            merged(some(SQUARE, IMAGE), required_votes=0)


class TestMerging:
    SOURCES = (
        some([[10, 10, 30, 30]], IMAGE, names=["cat"], scores=[0.5]),
        some([[12, 10, 28, 30]], IMAGE, names=["dog"], scores=[0.9]),
        some([[8, 8, 32, 34]], IMAGE, names=["cat"], scores=[0.4]),
    )

    @pytest.mark.parametrize(
        ("how", "name", "score"),
        [("average", "cat", 0.6), ("max", "dog", 0.9), ("min", "cat", 0.4)],
    )
    def test_confidence_and_class(self, how: str, name: str, score: float) -> None:
        """The class is the most frequent one, or that of the most or least confident member."""
        result = merged(
            *self.SOURCES, class_aware=False, detections_merge_confidence_aggregation=how
        )
        assert result.data["class_name"].tolist() == [name]
        assert result.confidence.tolist() == pytest.approx([score])

    @pytest.mark.parametrize(
        ("how", "box"),
        [("average", [10, 28 / 3, 30, 94 / 3]), ("max", [8, 8, 32, 34]), ("min", [12, 10, 28, 30])],
    )
    def test_boxes(self, how: str, box: list[float]) -> None:
        """Boxes become their mean, the largest or the smallest."""
        result = merged(
            *self.SOURCES, class_aware=False, detections_merge_coordinates_aggregation=how
        )
        assert np.allclose(result.xyxy, [box])

    def test_columns(self) -> None:
        """A merged detection has a fresh id and the image of its sources."""
        result = merged(some(SQUARE, IMAGE), some(SQUARE, IMAGE))
        assert result.data["detection_id"][0] != "d0"
        assert result.data["parent_id"].tolist() == ["image"]
        assert result.data["image_dimensions"].tolist() == [[60, 90]]
        assert result.xyxy.dtype == np.float32

    @pytest.mark.parametrize("form", WITH_MASKS)
    @pytest.mark.parametrize("how", ["union", "intersection", "max", "min"])
    def test_masks(self, form: MaskForm, how: str) -> None:
        """Masks are merged pixel by pixel, and the box is the one around the result."""
        masks = ellipses(3, 60, 90, 3)
        sources = [
            some(SQUARE, IMAGE, masks=mask[None], form=kind)
            for mask, kind in zip(masks, (form, "compact", form), strict=True)
        ]
        result = merged(*sources, required_votes=3, detections_merge_mask_aggregation=how)
        areas = masks.sum(axis=(1, 2))
        expected = {
            "union": masks.any(axis=0),
            "intersection": masks.all(axis=0),
            "max": masks[areas.argmax()],
            "min": masks[areas.argmin()],
        }[how]
        assert np.array_equal(dense_masks(result)[0], expected)
        assert not isinstance(result.mask, np.ndarray)
        ys, xs = np.nonzero(expected)
        if len(xs):
            assert result.xyxy[0].tolist() == [xs.min(), ys.min(), xs.max(), ys.max()]
        if "rle_mask" in result.data:
            assert np.array_equal(rle_masks(result)[0], expected)

    def test_masks_that_do_not_meet(self) -> None:
        """An empty intersection keeps the merged box and has no pixels."""
        masks = box_masks([[10, 10, 20, 30], [20, 10, 30, 30]], (60, 90))
        sources = [some(SQUARE, IMAGE, masks=mask[None], form="dense") for mask in masks]
        result = merged(*sources, detections_merge_mask_aggregation="intersection")
        assert result.xyxy.tolist() == SQUARE
        assert not dense_masks(result).any()

    def test_some_have_no_masks(self) -> None:
        """Boxes and masks together give boxes."""
        result = merged(some(SQUARE, IMAGE, form="rle"), some(SQUARE, IMAGE))
        assert result.mask is None
        assert "rle_mask" not in result.data

    def test_no_confidence(self) -> None:
        """Sources without confidences count as sure."""
        source = some(SQUARE, IMAGE)
        source.confidence = None
        assert merged(source, source).confidence.tolist() == [1.0]


class TestNoRows:
    @pytest.mark.parametrize("form", ["none", *WITH_MASKS])
    def test_columns_stay(self, form: MaskForm) -> None:
        """What nobody agrees on still has the columns and the image of the sources."""
        full = merged(some(SQUARE, IMAGE, form=form), some(SQUARE, IMAGE, form=form))
        empty = merged(some(SQUARE, IMAGE, form=form), some([], IMAGE, form=form))
        assert len(empty) == 0
        assert empty.data.keys() == full.data.keys()
        assert {key: column.dtype.kind for key, column in empty.data.items()} == {
            key: column.dtype.kind for key, column in full.data.items()
        }
        assert (empty.mask is None) == (full.mask is None)
        assert empty.metadata["parent_id"] == "image"

    def test_all_sources_are_empty(self) -> None:
        """Empty sources of different origin agree on nothing."""
        result = agree(some([], IMAGE), some([], an_image(name="other")))
        assert (len(result["predictions"]), result["object_present"]) == (0, False)
        assert result["presence_confidence"] == {}


class TestPresence:
    OBJECTS = some([[0, 0, 5, 5]] * 3, names=["a", "b", "a"], scores=[0.5, 0.25, 0.75])

    @pytest.mark.parametrize(
        ("required", "aware", "how", "expected"),
        [
            (None, True, "max", (True, {"a": 0.75, "b": 0.25})),
            (3, True, "min", (True, {"a": 0.5, "b": 0.25})),
            (4, True, "max", (False, {})),
            ({"a": 2}, True, "average", (True, {"a": 0.625, "b": 0.25})),
            ({"a": 2, "b": 2}, True, "max", (False, {})),
            ({"c": 1}, True, "max", (False, {})),
            ({"c": 1, "a": 2}, False, "average", (True, {"any_object": 0.5})),
            ({"c": 2, "a": 2}, False, "max", (False, {})),
            (0, False, "max", (True, {"any_object": 0.75})),
        ],
    )
    def test_rows(self, required: Any, aware: bool, how: Any, expected: Any) -> None:
        """Objects are counted in all or by class, confidences given by class or for any."""
        assert presence(self.OBJECTS, required, aware, how) == expected

    def test_nothing_is_absent(self) -> None:
        """Without detections no object is present, even when none is required."""
        assert presence(some([]), None, True, "max") == (False, {})


class TestManifest:
    STEP = {
        "type": "DetectionsConsensus",
        "name": "k",
        "predictions": ["$steps.a.predictions"],
        "required_votes": 1,
    }

    @pytest.mark.parametrize(
        "changed",
        [{"predictions": []}, {"required_votes": 0}, {"iou_threshold": 1.2}, {"confidence": -1}],
    )
    def test_bad_values(self, changed: dict[str, Any]) -> None:
        """Plain values outside their limits are refused."""
        with pytest.raises(ValidationError):
            DetectionsConsensusManifest.model_validate({**self.STEP, **changed})
        assert DetectionsConsensusManifest.model_validate(self.STEP).class_aware is True
