from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import supervision as sv

from blocks.fusion.detections_classes_replacement.v1 import DetectionsClassesReplacementBlockV1
from execution_engine.block_api import Batch
from tests.blocks.detection_sets import MASK_FORMS, MaskForm, an_image, some

IMAGE = an_image()
BOXES = [[0, 0, 5, 5], [10, 10, 20, 20], [30, 30, 40, 40]]


def top(parent: str, name: str, class_id: int = 4, confidence: float = 0.7) -> dict[str, Any]:
    """A classification into one class."""
    return {
        "predictions": [
            {"class": "other", "class_id": 0, "confidence": 0.1},
            {"class": name, "class_id": class_id, "confidence": confidence},
        ],
        "top": name,
        "confidence": confidence,
        "parent_id": parent,
    }


def several(parent: str, predicted: list[str], **scores: float) -> dict[str, Any]:
    """A classification into several classes."""
    return {
        "predictions": {
            name: {"class_id": place, "confidence": score}
            for place, (name, score) in enumerate(scores.items())
        },
        "predicted_classes": predicted,
        "parent_id": parent,
    }


def replace(
    detections: sv.Detections | None,
    predictions: list[Any] | None,
    name: str | None = None,
    class_id: int | None = None,
    places: list[int] | None = None,
) -> sv.Detections:
    batch = None
    if predictions is not None:
        batch = Batch(predictions, [(0, i) for i in places or range(len(predictions))])
    result: Any = DetectionsClassesReplacementBlockV1().run(detections, batch, name, class_id)
    return result["predictions"]


class TestClassifications:
    def test_pairs_by_parent(self) -> None:
        """A classification belongs to the detection of its crop, in whatever order they come."""
        rows = some(BOXES, IMAGE)
        result = replace(rows, [top("d2", "owl"), top("d0", "cat", 7, 0.25), top("d1", "dog")])
        assert result.data["class_name"].tolist() == ["cat", "dog", "owl"]
        assert result.class_id.tolist() == [7, 4, 4]
        assert result.confidence.tolist() == [0.25, 0.7, 0.7]
        assert np.array_equal(result.xyxy, rows.xyxy)

    def test_fresh_ids(self) -> None:
        """The results are new detections."""
        result = replace(some(BOXES[:1], IMAGE), [top("d0", "cat")])
        assert result.data["detection_id"][0] != "d0"

    def test_without_match(self) -> None:
        """Detections without a classification are left out."""
        result = replace(some(BOXES, IMAGE), [top("d1", "dog"), top("elsewhere", "cat"), None])
        assert result.data["class_name"].tolist() == ["dog"]
        assert result.xyxy.tolist() == [BOXES[1]]

    @pytest.mark.parametrize(("given", "expected"), [(None, 2**63 - 1), (77, 77)])
    def test_fallback(self, given: int | None, expected: int) -> None:
        """With a fallback they stay, with its name and id and no confidence."""
        result = replace(some(BOXES, IMAGE), [top("d1", "dog")], "unknown", given)
        assert result.data["class_name"].tolist() == ["unknown", "dog", "unknown"]
        assert result.class_id.tolist() == [expected, 4, expected]
        assert result.confidence.tolist() == [0, 0.7, 0]

    def test_several_classes(self) -> None:
        """Of several predicted classes the most confident one counts, of none none."""
        result = replace(
            some(BOXES, IMAGE),
            [
                several("d0", ["red", "big"], red=0.6, big=0.8, wet=0.9),
                several("d1", [], red=0.1),
            ],
        )
        assert result.data["class_name"].tolist() == ["big"]
        assert result.class_id.tolist() == [1]
        assert result.confidence.tolist() == [0.8]

    def test_no_top_class(self) -> None:
        """A classifier that was not sure of any class gives no answer."""
        assert len(replace(some(BOXES[:1], IMAGE), [top("d0", "")])) == 0


class TestTexts:
    def test_pairs_by_place(self) -> None:
        """Text belongs to the detection at its place, and keeps that one's confidence."""
        rows = some(BOXES, IMAGE)
        result = replace(rows, ["stop", ["keep", " left "], "go"])
        assert result.data["class_name"].tolist() == ["stop", "keep left", "go"]
        assert result.class_id.tolist() == [2, 1, 0]
        assert np.allclose(result.confidence, rows.confidence)

    def test_places_of_crops_count(self) -> None:
        """When a crop gave nothing the texts of the others do not move up."""
        result = replace(some(BOXES, IMAGE), ["first", "last"], places=[0, 2])
        assert result.xyxy.tolist() == [BOXES[0], BOXES[2]]
        assert result.data["class_name"].tolist() == ["first", "last"]

    @pytest.mark.parametrize("nothing", ["", "  ", [], [""], None])
    def test_no_text(self, nothing: Any) -> None:
        """Where nothing was read there is no answer."""
        assert len(replace(some(BOXES[:1], IMAGE), [nothing])) == 0
        assert len(replace(some(BOXES[:1], IMAGE), [nothing], "none")) == 1

    def test_something_else(self) -> None:
        """Numbers are no classes."""
        with pytest.raises(ValueError, match="from text or from a list of texts, got int 5"):
            replace(some(BOXES[:1], IMAGE), [5])


class TestEmpty:
    def test_no_detections(self) -> None:
        """Nothing in gives nothing out."""
        assert replace(None, None) is None

    @pytest.mark.parametrize("predictions", [None, [], [None, None, None]])
    def test_no_classification(self, predictions: Any) -> None:
        """Without any classification no detection is left, or all get the fallback."""
        rows = some(BOXES, IMAGE)
        empty = replace(rows, predictions)
        assert len(empty) == 0
        assert empty.data.keys() == rows.data.keys()
        assert empty.metadata["parent_id"] == "image"
        assert len(replace(rows, predictions, "unknown")) == 3

    def test_no_rows(self) -> None:
        """No detections stay none."""
        assert len(replace(some([], IMAGE), None, "unknown")) == 0

    @pytest.mark.parametrize("form", MASK_FORMS)
    def test_masks_stay(self, form: MaskForm) -> None:
        """What is kept keeps its mask."""
        rows = some(BOXES, IMAGE, form=form)
        result = replace(rows, [top("d1", "dog")])
        if rows.mask is not None:
            assert np.array_equal(np.asarray(result.mask)[0], np.asarray(rows.mask)[1])
        if "rle_mask" in rows.data:
            assert result.data["rle_mask"][0] == rows.data["rle_mask"][1]

    def test_ids_are_needed(self) -> None:
        """Classifications pair by ids, which must be there."""
        rows = some(BOXES, IMAGE)
        del rows.data["detection_id"]
        with pytest.raises(ValueError, match="must carry `detection_id`"):
            replace(rows, [top("d1", "dog")])
