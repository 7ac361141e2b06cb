"""Detections to the tensor side and back, and looking into them there."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import supervision as sv

from blocks.kinds.classification import dictionary_of
from blocks.kinds.detections import columns as numpy_side
from blocks.kinds.detections.codec import detections_codecs
from blocks.kinds.detections.root import to_root
from blocks.kinds.tensor_predictions import columns
from blocks.kinds.tensor_predictions.forms import to_numpy, to_tensor
from blocks.kinds.tensor_predictions.representation import (
    TensorDetectionsCodec,
    ToNumpy,
    ToTensor,
    tensor_codecs,
)
from tests.blocks.detection_sets import MASK_FORMS, MaskForm, a_crop, an_image, ellipses, some

torch = pytest.importorskip("torch")

IMAGE = an_image((40, 60))
BOXES = [[1, 2, 30.5, 20], [10, 5, 58, 39], [0, 0, 3, 3]]
CODEC = TensorDetectionsCodec()


def made(count: int = 3, form: MaskForm = "none", **data: Any) -> sv.Detections:
    masks = ellipses(count, 40, 60)
    return some(BOXES[:count], IMAGE, ["a", "b", "a"][:count], form=form, masks=masks, **data)


def same(first: Any, second: Any) -> bool:
    """Equal values of one type and dtype; masks by their pixels."""
    if first is None or second is None:
        return first is second
    if hasattr(first, "to_dense") or hasattr(second, "to_dense"):
        return np.array_equal(np.asarray(first), np.asarray(second))
    if isinstance(first, np.ndarray) and isinstance(second, np.ndarray):
        return first.dtype == second.dtype and np.array_equal(
            first, second, equal_nan=first.dtype.kind == "f"
        )
    return list(first) == list(second)


def assert_same(first: sv.Detections, second: sv.Detections) -> None:
    """Equal in fields, columns, types and metadata."""
    for name in ("xyxy", "confidence", "class_id", "tracker_id", "mask"):
        assert same(getattr(first, name), getattr(second, name)), name
    assert first.data.keys() == second.data.keys()
    for name in first.data:
        assert same(first.data[name], second.data[name]), name
    assert first.metadata == second.metadata


class TestRoundTrip:
    @pytest.mark.parametrize("form", MASK_FORMS)
    @pytest.mark.parametrize("count", [0, 1, 3])
    def test_columns_come_back(self, count: int, form: MaskForm) -> None:
        """Every column, mask and entry of the metadata is what it was."""
        given = made(count, form)
        assert_same(to_numpy(to_tensor(given)), given)

    @pytest.mark.parametrize(
        "fields",
        [
            {"confidence": None},
            {"class_id": None},
            {"confidence": None, "class_id": None},
            {"confidence": np.array([0.1, 0.7, 0.9])},
            {"confidence": np.array([0.1, np.nan, 0.9])},
            {"xyxy": np.array(BOXES) + 0.1},
            {"class_id": np.array([2**40, -5, -(2**40)])},
            {"class_id": np.array([1, 2, 3], np.int16)},
            {"tracker_id": np.array([7, -1, 2**50])},
            {"tracker_id": np.array([7, -1, 2], np.int32)},
        ],
        ids=str,
    )
    def test_what_tensors_cannot_hold(self, fields: dict[str, Any]) -> None:
        """Fields that are None and other element types are not lost."""
        given = made()
        for name, values in fields.items():
            setattr(given, name, values)
        assert_same(to_numpy(to_tensor(given)), given)

    def test_odd_columns(self) -> None:
        """Columns of lists, of unlike lengths and of text stay what they say."""
        given = made(
            polygon=[np.zeros((4, 2)), None, np.ones((3, 2))],
            time_in_zone=np.array([1.5, np.nan, 2]),
        )
        back = to_numpy(to_tensor(given))
        assert back.data["polygon"][1] is None
        assert np.array_equal(back.data["polygon"][2], np.ones((3, 2)))
        codec = detections_codecs()[0]
        assert codec.serialise(back) == codec.serialise(given)

    def test_nothing_known_of_the_image(self) -> None:
        """Detections without an image have one that holds the boxes, and still do not claim it."""
        given = sv.Detections(xyxy=np.array([[1, 2, 30.5, 20]], np.float32))
        found = to_tensor(given)
        assert found.image_size == (20, 31)
        assert_same(to_numpy(found), given)
        assert to_tensor(sv.Detections.empty()).image_size == (1, 1)

    def test_is_tensors(self) -> None:
        """Fields are tensors on the device asked for, masks make instances."""
        found = to_tensor(made(form="compact"))
        assert type(found).__name__ == "InstanceDetections"
        assert all(
            isinstance(getattr(found, name), torch.Tensor)
            for name in ("xyxy", "confidence", "class_id")
        )
        assert type(to_tensor(made())).__name__ == "Detections"

    def test_given_is_not_changed(self) -> None:
        """Neither direction writes into what it is given."""
        given = made(form="both")
        before = numpy_side.copy_of(given)
        to_numpy(to_tensor(given))
        assert_same(given, before)

    @pytest.mark.parametrize("codec", detections_codecs(), ids=lambda codec: codec.kind)
    @pytest.mark.parametrize("form", MASK_FORMS)
    def test_same_json_by_every_kind(self, codec: Any, form: MaskForm) -> None:
        """The codec of each kind writes both sides alike, or refuses both."""
        given = made(form=form)
        if codec.kind.startswith("rle") and "rle_mask" not in given.data:
            for value in (given, to_tensor(given)):
                with pytest.raises(ValueError, match="no rle_mask"):
                    codec.serialise(value)
            return
        assert codec.serialise(to_tensor(given)) == codec.serialise(given)


class TestCodec:
    @pytest.mark.parametrize(
        "name",
        ["xyxy", "confidence", "class_id", "class_name", "size", "center", "x_min", "top_right",
         "bottom_left", "y_max", "detection_id", "parent_id"],
    )  # fmt: skip
    def test_columns(self, name: str) -> None:
        """A property is the same on both sides."""
        given = made()
        given.confidence = np.array([0.1, 0.7, 0.9])
        expected = numpy_side.column(given, name)
        assert same(np.asarray(CODEC.column(to_tensor(given), name)), np.asarray(expected))

    @pytest.mark.parametrize("name", ["tracker_id", "velocity", "confidence", "class_id"])
    def test_missing_columns(self, name: str) -> None:
        """A property that is not there is missing on both sides."""
        given = sv.Detections(xyxy=np.array(BOXES, np.float32))
        with pytest.raises(KeyError):
            numpy_side.column(given, name)
        with pytest.raises(KeyError):
            CODEC.column(to_tensor(given), name)

    @pytest.mark.parametrize("form", MASK_FORMS)
    @pytest.mark.parametrize("rows", [[True, False, True], [False] * 3, [2, 0, 0], []], ids=str)
    def test_select(self, rows: list[Any], form: MaskForm) -> None:
        """The chosen rows, and what is known of the image when none is left."""
        given = made(form=form)
        expected = numpy_side.select(given, np.array(rows))
        found = to_numpy(CODEC.select(to_tensor(given), np.array(rows)))
        assert_same(found, expected)

    def test_with_columns(self) -> None:
        """Replaced columns are those asked for."""
        changes = {"xyxy": np.array(BOXES) * 2, "class_name": np.array(["x", "y", "z"])}
        found = CODEC.with_columns(to_tensor(made()), changes)
        assert_same(to_numpy(found), numpy_side.with_columns(made(), changes))

    @pytest.mark.parametrize("form", MASK_FORMS)
    @pytest.mark.parametrize("count", [0, 3])
    def test_to_root(self, count: int, form: MaskForm) -> None:
        """Detections on a crop move to its root as on the numpy side."""
        crop = a_crop(an_image((90, 120)), (20, 10, 80, 50))
        given = some(BOXES[:count], crop, form=form, masks=ellipses(count, 40, 60))
        assert_same(to_numpy(CODEC.to_root(to_tensor(given))), to_root(given))

    def test_to_root_keeps_the_class(self) -> None:
        """Points and oriented boxes on a crop stay what they are, moved to the root."""
        from inference_models.predictions import KeyPoints, OrientedDetections

        crop = a_crop(an_image((90, 120)), (20, 10, 80, 50))
        points = KeyPoints(
            xy=[[[1, 2], [3, 4]]], keypoint_confidence=[[0.5, 0.6]], visible=[[True, False]],
            xyxy=[[1, 2, 3, 4]], confidence=[0.5], class_id=[0], image_size=(40, 60),
            class_names=("a",), keypoint_names=(("nose", "ear"),),
        ).to_torch()  # fmt: skip
        turned = OrientedDetections.from_xywhr(
            np.array([[20, 20, 10, 4, 0.3]], np.float32), confidence=[0.5], class_id=[0],
            image_size=(40, 60), class_names=("a",),
        ).to_torch()  # fmt: skip
        for given, moves in ((points, "xy"), (turned, "corners")):
            placed = columns.with_lineage(given, crop, "test")
            moved = CODEC.to_root(placed)
            assert type(moved) is type(given)
            assert moved.image_size == (90, 120)
            step = torch.tensor([20.0, 10.0])
            assert torch.equal(getattr(moved, moves), getattr(given, moves) + step)
            assert_same(to_numpy(moved), to_root(to_numpy(placed)))
        on_root = columns.with_lineage(points, an_image((40, 60)), "test")
        assert CODEC.to_root(on_root) is on_root

    def test_copy_shares_nothing(self) -> None:
        """Writing into a copy leaves the original."""
        given = to_tensor(made())
        copied = CODEC.copy(given)
        copied.xyxy.zero_()
        assert bool((given.xyxy != 0).any())


class TestConverters:
    def test_other_values_pass(self) -> None:
        """What is no prediction goes through both converters as it is."""
        for value in (1, "text", [made()], IMAGE, {"a": 1}, None):
            assert ToTensor().convert(value) is value
            assert ToNumpy().convert(value) is value

    def test_classifications(self) -> None:
        """A classification of the tensor side becomes the dictionary of the numpy side, in JSON
        and on the way to numpy blocks.
        """
        from inference_models.predictions import ClassificationPrediction

        prediction = ClassificationPrediction(
            confidence=torch.tensor([0.25, 0.75]),
            image_size=(4, 5),
            class_names=("a", "b"),
            metadata={"lowest_score": 0.5, "parent_id": "p"},
        )
        expected = {
            "image": {"width": 5, "height": 4},
            "predictions": [{"class": "b", "class_id": 1, "confidence": 0.75}],
            "top": "b",
            "confidence": 0.75,
            "parent_id": "p",
        }
        assert dictionary_of(prediction) == expected
        assert ToNumpy().convert(prediction) == expected
        codec = next(
            codec for codec in tensor_codecs() if codec.kind == "classification_prediction"
        )
        assert codec.serialise(prediction) == expected
        assert codec.serialise(expected) == expected
