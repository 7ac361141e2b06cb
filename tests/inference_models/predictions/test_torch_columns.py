"""The same predictions on torch data. Needs torch."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from inference_models.masks import InstanceMasks
from inference_models.predictions import (
    ClassificationPrediction,
    Detections,
    InstanceDetections,
    KeyPoints,
    MultiLabelClassificationPrediction,
    OrientedDetections,
    PredictionError,
    SemanticSegmentationResult,
)

torch = pytest.importorskip("torch")

SIZE = (40, 50)


def boxes() -> dict[str, Any]:
    return {
        "confidence": [0.9, 0.5, 0.2],
        "class_id": [0, 1, 0],
        "image_size": SIZE,
        "class_names": ("a", "b"),
    }


def make(kind: str) -> Any:
    corners = np.random.default_rng(0).uniform(0, 40, (3, 4)).astype(np.float32)
    dense = np.random.default_rng(1).random((3, *SIZE)) < 0.2
    if kind == "detections":
        return Detections(
            xyxy=corners, **boxes(),
            data={"speed": np.arange(3.0), "id": np.array(["x", "y", "z"])},
        )  # fmt: skip
    if kind == "instances":
        return InstanceDetections(
            xyxy=corners, masks=InstanceMasks.from_dense(dense), tracker_id=[4, 5, 6], **boxes()
        )
    if kind == "oriented":
        return OrientedDetections.from_xywhr(
            np.concatenate([corners, np.ones((3, 1), np.float32)], axis=1), **boxes()
        )
    return KeyPoints(
        xy=np.arange(12.0).reshape(3, 2, 2), keypoint_confidence=np.full((3, 2), 0.5),
        visible=np.ones((3, 2)), xyxy=corners, **boxes(),
    )  # fmt: skip


KINDS = ["detections", "instances", "oriented", "keypoints"]


def assert_same(one: Any, other: Any) -> None:
    assert list(one.columns()) == list(other.columns())
    for name, column in one.columns().items():
        np.testing.assert_array_equal(column, other.columns()[name])
    if hasattr(one, "masks"):
        np.testing.assert_array_equal(one.masks.to_dense(), other.masks.to_dense())


@pytest.mark.parametrize("kind", KINDS)
class TestRows:
    def test_there_and_back(self, kind: str) -> None:
        """Columns become tensors of the same types and come back unchanged."""
        made = make(kind)
        there = made.to_torch()
        assert (made.device, there.device) == ("numpy", "cpu")
        for column in type(made).COLUMNS:
            value = getattr(there, column.name)
            if value is not None:
                assert value.dtype == getattr(torch, column.dtype)
        assert_same(made, there.to("numpy"))
        assert there.to("cpu").device == "cpu"

    @pytest.mark.parametrize("rows", [slice(1, None), [2, 0], np.array([True, False, True]), []])
    def test_select(self, kind: str, rows: Any) -> None:
        """Rows of tensors are chosen like rows of arrays."""
        made = make(kind)
        assert_same(made[rows], made.to_torch()[rows].to_numpy())

    def test_select_by_tensor(self, kind: str) -> None:
        """A tensor may say which rows."""
        made = make(kind)
        kept = torch.tensor([True, False, True])
        assert_same(made[[0, 2]], made.to_torch()[kept].to_numpy())

    def test_concat(self, kind: str) -> None:
        """Tensors are joined like arrays; a numpy part without rows does not matter."""
        made = make(kind)
        there = made.to_torch()
        joined = type(made).concat([there, there[:0].to_numpy(), there[1:]])
        assert joined.device == "cpu"
        assert_same(type(made).concat([made, made[1:]]), joined.to_numpy())

    def test_moved(self, kind: str) -> None:
        """Tensors move like arrays."""
        made = make(kind)
        assert_same(
            made.moved((3, 4), (99, 88)), made.to_torch().moved((3, 4), (99, 88)).to_numpy()
        )

    def test_supervision(self, kind: str) -> None:
        """To supervision it makes no difference where the columns live."""
        made = make(kind)
        one, other = made.to_supervision(), made.to_torch().to_supervision()
        np.testing.assert_array_equal(getattr(one, "xyxy", None), getattr(other, "xyxy", None))
        assert list(one.data) == list(other.data)


class TestMixed:
    def test_refused(self) -> None:
        """Arrays and tensors are not mixed in one prediction."""
        with pytest.raises(PredictionError, match="all numpy arrays or all torch tensors"):
            Detections(xyxy=torch.zeros((3, 4)), **boxes())


class TestOriented:
    def test_geometry(self) -> None:
        """Corners, upright boxes and angles are the same in both worlds."""
        made = make("oriented")
        there = made.to_torch()
        np.testing.assert_allclose(there.xyxy, made.xyxy, atol=1e-5)
        np.testing.assert_allclose(there.xywhr, made.xywhr, atol=1e-5)
        again = OrientedDetections.from_xywhr(
            there.xywhr, confidence=there.confidence, class_id=there.class_id, image_size=SIZE
        )
        np.testing.assert_allclose(again.corners, made.corners, atol=1e-4)


class TestKeyPoints:
    def test_visibility(self) -> None:
        """Visibility follows the same rule, missing points included."""
        made = make("keypoints")
        xy = np.array(made.xy)
        xy[1, 0], xy[2, 1] = np.nan, 0
        made = made.replace(xy=xy)
        expected = made.with_visibility(0.4).visible
        assert expected.tolist() == [[True, True], [False, True], [True, False]]
        there = made.to_torch().with_visibility(0.4)
        assert there.visible.tolist() == expected.tolist()
        assert len(there.filter(min_confidence=0.5, class_names=["b"])) == 1


class TestWholeImage:
    def test_there_and_back(self) -> None:
        """Predictions about whole images move like rows do."""
        scores = torch.tensor([0.1, 0.7, 0.6])
        single = ClassificationPrediction(confidence=scores, image_size=SIZE)
        assert (single.device, single.class_id) == ("cpu", 1)
        several = MultiLabelClassificationPrediction.from_threshold(scores, 0.5, SIZE)
        assert several.to_numpy().class_ids.tolist() == [1, 2]
        classes = np.random.default_rng(0).integers(0, 3, SIZE)
        made = SemanticSegmentationResult(
            segmentation_map=classes, confidence=np.ones(SIZE), image_size=SIZE
        )
        assert_same(made.to_instances(), made.to_torch().to_instances())
