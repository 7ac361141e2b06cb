"""NaN and infinities, which JSON does not have, become null in the JSON form of every kind."""

from __future__ import annotations

import json
from datetime import datetime
from decimal import Decimal
from typing import Any

import numpy as np
import pytest
import supervision as sv

from blocks.kinds import core_codecs
from blocks.kinds.detections.deserialise import deserialise_detections
from blocks.kinds.detections.serialise import serialise_detections
from execution_engine.images import ImageParentMetadata, VideoMetadata, WorkflowImageData
from execution_engine.kinds.catalogue import ALL_KINDS
from execution_engine.kinds.codec import CodecRegistry
from execution_engine.kinds.defaults import default_codec_registry

NAN, INFINITY = float("nan"), float("inf")
NUMBERS = [NAN, INFINITY, -INFINITY, 1.5]


@pytest.fixture(scope="module")
def registry() -> CodecRegistry:
    """Every codec of the engine and of the core blocks."""
    return default_codec_registry(core_codecs())


def video() -> VideoMetadata:
    """A frame whose rates are no numbers."""
    return VideoMetadata("v", frame_timestamp=datetime(2026, 1, 2), fps=INFINITY, measured_fps=NAN)


def image() -> WorkflowImageData:
    """An image of such a frame."""
    return WorkflowImageData(
        ImageParentMetadata("i"),
        numpy_image=np.zeros((4, 5, 3), np.uint8),
        video_metadata=video(),
    )


def detections() -> sv.Detections:
    """Rows with numbers that are none in every column that holds fractions."""
    found = sv.Detections(
        xyxy=np.zeros((2, 4), np.float32),
        confidence=np.array([NAN, INFINITY], np.float32),
        class_id=np.array([0, 1]),
    )
    # supervision refuses such boxes when it is given them, not when they are put in later.
    found.xyxy = np.array([[NAN, 0, 4, 5], [0, -INFINITY, 4, INFINITY]], np.float32)
    points = np.empty(2, dtype=object)
    points[:] = [np.array([[NAN, 1], [2, INFINITY], [3, 4]]), [[NAN, 1], [0, 0], [INFINITY, 2]]]
    found.data = {
        "class_name": np.array(["a", "b"]),
        "detection_id": np.array(["x", "y"]),
        "keypoints_xy": np.array([[[NAN, 1]], [[INFINITY, 2]]], np.float32),
        "keypoints_class_id": np.array([[0], [0]]),
        "keypoints_class_name": np.array([["k"], ["k"]]),
        "keypoints_confidence": np.array([[NAN], [INFINITY]]),
        "polygon": points,
        "rect": np.full((2, 4, 2), INFINITY, np.float32),
        "time_in_zone": np.array([NAN, INFINITY]),
        "velocity": np.array([[1, NAN], [INFINITY, 1]]),
        "speed": np.array([-INFINITY, 1]),
        "area_px": np.array([None, INFINITY], dtype=object),
    }
    return found


def values_of(kind: str) -> list[Any]:
    """Values of a kind that hold such numbers wherever the kind lets them."""
    if kind.endswith(("_detection_prediction", "_segmentation_prediction", "_code_detection")):
        found = detections()
        if kind.startswith("rle_"):
            found.data["rle_mask"] = np.array([{"size": [5, 4], "counts": [20]}] * 2, dtype=object)
        return [found]
    special: dict[str, Any] = {
        "image": [image()],
        "video_metadata": [video()],
        "detections_overlaps": [[{"iou": NAN}, {"iou": np.float32(INFINITY)}]],
        "numpy_array": [np.array(NUMBERS), np.array(NUMBERS, np.float16), np.array(NAN)],
        "embedding": [NUMBERS, np.array([NUMBERS])],
        "contours": [[np.array([NUMBERS])]],
        "image_keypoints": [[{"pt": (NAN, INFINITY)}]],
        "serialised_payloads": [[{"a": NAN}]],
        "action_recognition_prediction": [[{"class_name": "a", "confidence": NAN}]],
        "classification_prediction": [{"confidence": NAN, "predictions": [{"confidence": NAN}]}],
        "timestamp": [datetime(2026, 1, 2)],
        "bytes": [b"NaN"],
        "secret": [NAN],
    }
    return special.get(kind, [NAN, {"a": [np.float32(NAN), Decimal("NaN")]}, np.array(NUMBERS)])


class TestSerialise:
    """`CodecRegistry.serialise`."""

    @pytest.mark.parametrize("kind", [kind.name for kind in ALL_KINDS])
    def test_every_kind_is_json_whatever_its_numbers(
        self, registry: CodecRegistry, kind: str
    ) -> None:
        """The strict writer takes the form of every kind and of the same values as `*`."""
        if kind == "tensor":
            torch = pytest.importorskip("torch")
            values = [torch.tensor(NUMBERS), torch.tensor([NAN], dtype=torch.bfloat16)]
        else:
            values = values_of(kind)
        for value in values:
            for kinds in ([kind], ["*"]):
                form = registry.serialise(value, kinds)
                text = json.dumps(form, allow_nan=False)
                assert "Infinity" not in text
                if kind not in ("timestamp", "bytes", "secret"):
                    assert "null" in text

    def test_predictions_on_tensors(self, registry: CodecRegistry) -> None:
        """The tensor side is written as the numpy side is."""
        torch = pytest.importorskip("torch")
        from blocks.kinds.tensor_predictions.forms import to_tensor

        plain = sv.Detections(
            xyxy=np.array([[0, 0, 4, 5]], np.float32),
            confidence=np.array([NAN], np.float32),
            class_id=np.array([0]),
            data={"class_name": np.array(["a"])},
        )
        on_tensors = to_tensor(plain)
        assert isinstance(on_tensors.confidence, torch.Tensor)
        form = registry.serialise(on_tensors, ["object_detection_prediction"])
        assert json.loads(json.dumps(form, allow_nan=False))["predictions"][0]["confidence"] is None


class TestDetections:
    """`serialise_detections`, number by number."""

    def test_what_is_missing_is_null_and_the_rest_stays(self) -> None:
        """Only the number that is none is null; a measurement of several numbers goes as one."""
        first, second = serialise_detections(detections())["predictions"]
        assert (first["x"], first["width"], first["y"], first["height"]) == (None, None, 2.5, 5.0)
        assert (second["x"], second["y"], second["height"]) == (2.0, None, None)
        assert (first["confidence"], second["confidence"]) == (None, None)
        assert first["keypoints"][0]["x"] is None
        assert first["keypoints"][0]["y"] == 1.0
        assert second["keypoints"][0]["confidence"] is None
        assert first["polygon"] == [[None, 1.0], [2.0, None], [3.0, 4.0]]
        assert (first["time_in_zone"], second["time_in_zone"]) == (None, None)
        assert (first["velocity"], second["velocity"]) == (None, None)
        assert (first["speed"], second["speed"]) == (None, 1.0)
        assert (first["area_px"], second["area_px"]) == (None, None)

    def test_a_missing_point_comes_back_as_one(self) -> None:
        """A point without a place is NaN again after the way over JSON."""
        found = sv.Detections(xyxy=np.array([[0, 0, 4, 5]], np.float32), class_id=np.array([0]))
        found.confidence = np.array([0.5], np.float32)
        found.data = {
            "class_name": np.array(["a"]),
            "keypoints_xy": np.array([[[NAN, NAN], [1, 2]]], np.float32),
            "keypoints_class_id": np.array([[0, 1]]),
            "keypoints_class_name": np.array([["k", "l"]]),
            "keypoints_confidence": np.array([[NAN, 0.5]]),
        }
        form = json.loads(json.dumps(serialise_detections(found), allow_nan=False))
        form["image"] = {"width": 10, "height": 10}
        back = deserialise_detections("d", form, "keypoint-detection")
        np.testing.assert_array_equal(back.data["keypoints_xy"], found.data["keypoints_xy"])
        np.testing.assert_array_equal(back.data["keypoints_confidence"], [[NAN, 0.5]])
