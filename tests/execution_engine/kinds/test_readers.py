from __future__ import annotations

import re
from datetime import UTC, datetime, timedelta
from typing import Any

import numpy as np
import pytest

from execution_engine.images import ImageParentMetadata, VideoMetadata, WorkflowImageData
from execution_engine.kinds.codec import CodecRegistry, DecodingContext
from execution_engine.kinds.defaults import default_codec_registry


@pytest.fixture(scope="module")
def registry() -> CodecRegistry:
    return default_codec_registry()


def read(registry: CodecRegistry, kind: str, value: Any) -> Any:
    (codec,) = registry.for_kind(kind)
    return codec.deserialise("p", value, DecodingContext(None))


ARRAY = np.arange(4).reshape(2, 2)
CLASSIFICATION = {"image": {}, "predictions": [], "top": "a", "confidence": 0.5}


class TestAccepted:
    @pytest.mark.parametrize(
        ("kind", "value", "expected"),
        [
            ("string", "a", "a"),
            ("top_class", "a", "a"),
            ("language_model_output", "a", "a"),
            ("prediction_type", "a", "a"),
            ("parent_id", "a", "a"),
            ("inference_id", "a", "a"),
            ("roboflow_model_id", "a/1", "a/1"),
            ("roboflow_project", "a", "a"),
            ("roboflow_solution", "a", "a"),
            ("roboflow_api_key", None, None),
            ("roboflow_managed_key", "rf_key:account", "rf_key:account"),
            ("float_zero_to_one", 1, 1.0),
            ("float_zero_to_one", 0.25, 0.25),
            ("float", 3, 3.0),
            ("float", np.float32(0.5), 0.5),
            ("integer", 3, 3),
            ("integer", True, True),
            ("integer", np.int64(3), 3),
            ("boolean", False, False),
            ("boolean", np.bool_(True), True),
            ("list_of_values", (1, 2), [1, 2]),
            ("dictionary", {"a": 1}, {"a": 1}),
            ("bytes", "YWI=", b"ab"),
            ("bytes", b"ab", b"ab"),
            ("rgb_color", "#ff0080", "#ff0080"),
            ("rgb_color", [1, 2, 3, 4], (1, 2, 3)),
            ("point", [3, 4, 5], (3, 4)),
            ("zone", [[0, 0], (10, 0), [10, 10]], [(0, 0), (10, 0), (10, 10)]),
            ("labeled_points", [[1, 2]], [{"x": 1, "y": 2, "positive": True}]),
            ("labeled_points", [[1, 2, False]], [{"x": 1, "y": 2, "positive": False}]),
            ("labeled_points", [{"x": 1, "y": 2}], [{"x": 1, "y": 2, "positive": True}]),
            ("labeled_points", [], []),
            (
                "timestamp",
                "2026-05-04T03:02:01Z",
                datetime(2026, 5, 4, 3, 2, 1, tzinfo=UTC),
            ),
            ("timestamp", datetime(2026, 5, 4), datetime(2026, 5, 4)),
            ("action_recognition_prediction", [{"class": "a"}], [{"class": "a"}]),
        ],
    )
    def test_value(self, registry: CodecRegistry, kind: str, value: Any, expected: Any) -> None:
        """Each kind takes its forms and gives blocks one of them, of the Python type."""
        result = read(registry, kind, value)
        assert result == expected
        assert type(result) is type(expected)

    def test_time_zone(self, registry: CodecRegistry) -> None:
        """The offset of a time survives."""
        moment = read(registry, "timestamp", "2026-05-04T03:02:01+02:00")
        assert moment.utcoffset() == timedelta(hours=2)

    def test_array(self, registry: CodecRegistry) -> None:
        """Nested lists become an array, an array passes."""
        assert np.array_equal(read(registry, "numpy_array", [[0, 1], [2, 3]]), ARRAY)
        assert read(registry, "numpy_array", ARRAY) is ARRAY


class TestRefused:
    @pytest.mark.parametrize(
        ("kind", "value", "message"),
        [
            ("string", 5, "`p` must be a string, got int 5"),
            ("roboflow_api_key", 5, "`p` must be a string or null, got int 5"),
            ("float_zero_to_one", 1.5, "`p` must be a number in [0, 1], got float 1.5"),
            ("float_zero_to_one", float("nan"), "`p` must be a number in [0, 1], got float nan"),
            ("float", "3", "`p` must be a number, got str '3'"),
            ("integer", 2.5, "`p` must be an integer, got float 2.5"),
            ("integer", "2", "`p` must be an integer, got str '2'"),
            ("boolean", 1, "`p` must be a boolean, got int 1"),
            ("list_of_values", "ab", "`p` must be a list, got str 'ab'"),
            ("dictionary", [], "`p` must be an object, got list []"),
            ("bytes", "a b c", "`p` must be bytes or base64 text, got str 'a b c'"),
            ("rgb_color", [1, 2], "`p` must be a colour as text or as a list of at least 3 whole"),
            ("rgb_color", [1, 2, 0.5], "`p` must be a colour"),
            ("point", [1], "`p` must be a point as a list of at least 2 numbers, got list [1]"),
            ("point", ["a", "b"], "`p` must be a point"),
            ("zone", [[0, 0], [1, 1]], "`p` must be a zone as a list of at least 3 pairs"),
            ("zone", [[0, 0], [1, 1], [2]], "`p[2]` must be a pair of numbers, got list [2]"),
            ("zone", [[0, 0], [1, 1], [2, "a"]], "`p[2]` must be a point"),
            ("labeled_points", [{"x": 1}], "`p[0]` must be a point as"),
            ("labeled_points", [[1, 2, 3]], "`p[0]` must be a point as"),
            ("timestamp", "yesterday", "`p` must be a date and time as ISO-8601 text"),
            ("timestamp", 5, "`p` must be a date and time as ISO-8601 text, got int 5"),
            ("numpy_array", 5, "`p` must be an array as nested lists, got int 5"),
            ("numpy_array", [[1], [1, 2]], "`p` must be nested lists of one shape"),
            ("action_recognition_prediction", [1], "`p[0]` must be an object, got int 1"),
            ("video_metadata", 5, "`p` must be video metadata as an object, got int 5"),
            ("video_metadata", {}, "`p`: video metadata lacks video_identifier, frame_number"),
        ],
    )
    def test_message(self, registry: CodecRegistry, kind: str, value: Any, message: str) -> None:
        """A refusal names the input, what was expected and what was given."""
        with pytest.raises(ValueError, match=re.escape(message)):
            read(registry, kind, value)

    def test_long_values_are_shortened(self, registry: CodecRegistry) -> None:
        """A huge value does not fill the message."""
        with pytest.raises(ValueError, match="must be a string") as caught:
            read(registry, "string", list(range(10_000)))
        assert len(str(caught.value)) < 120


class TestClassification:
    def test_defaults(self, registry: CodecRegistry) -> None:
        """Ids and type that are missing are filled in, in a new dict."""
        result = read(registry, "classification_prediction", CLASSIFICATION)
        assert result["parent_id"] == result["root_parent_id"] == "p"
        assert result["prediction_type"] == "classification"
        assert len(result["inference_id"]) == 36
        assert "parent_id" not in CLASSIFICATION

    def test_given_values_stay(self, registry: CodecRegistry) -> None:
        """Ids that were given are kept."""
        given = {**CLASSIFICATION, "parent_id": "a", "root_parent_id": "b", "inference_id": "c"}
        result = read(registry, "classification_prediction", given)
        assert {**given, "prediction_type": "classification"} == result

    def test_multi_label(self, registry: CodecRegistry) -> None:
        """The multi-label form has predicted classes in place of a top class."""
        value = {"image": {}, "predictions": {"a": {}}, "predicted_classes": ["a"]}
        assert read(registry, "classification_prediction", value)["predicted_classes"] == ["a"]

    @pytest.mark.parametrize(
        ("value", "lacking"),
        [
            ({}, "image, predictions, top, confidence"),
            ({"image": {}, "predictions": [], "top": "a"}, "confidence"),
            ({"image": {}, "predicted_classes": []}, "predictions"),
        ],
    )
    def test_lacking(self, registry: CodecRegistry, value: Any, lacking: str) -> None:
        """What is missing is listed."""
        with pytest.raises(ValueError, match=f"it lacks {lacking}$"):
            read(registry, "classification_prediction", value)

    def test_wrong_predictions(self, registry: CodecRegistry) -> None:
        """Predictions are a list or an object."""
        with pytest.raises(ValueError, match=r"`p.predictions` must be a list or an object"):
            read(registry, "classification_prediction", {**CLASSIFICATION, "predictions": 5})


class TestImageAndVideo:
    def test_image_id_is_the_name(self, registry: CodecRegistry) -> None:
        """An image input gets the identifier of its element as parent id."""
        (codec,) = registry.for_kind("image")
        pixels = np.zeros((3, 4, 3), np.uint8)
        image = codec.deserialise("image.[0]", pixels, DecodingContext(None))
        assert image.parent_metadata.parent_id == "image.[0]"

    def test_copy_of_an_image_is_writable(self, registry: CodecRegistry) -> None:
        """A copy may be written to without changing the image."""
        pixels = np.zeros((3, 4, 3), np.uint8)
        image = WorkflowImageData(ImageParentMetadata("i"), numpy_image=pixels)
        codec = registry.for_value(image)
        assert codec is not None
        codec.copy(image)._numpy[:] = 9
        assert not pixels.any()

    def test_video_metadata(self, registry: CodecRegistry) -> None:
        """Video metadata pass or are read from an object."""
        given = VideoMetadata("cam", 3, datetime(2026, 1, 1))
        assert read(registry, "video_metadata", given) is given
        assert read(registry, "video_metadata", given.to_dict()) == given


class TestWithoutReader:
    @pytest.mark.parametrize(
        "kind",
        ["*", "secret", "contours", "embedding", "image_keypoints", "serialised_payloads"],
    )
    def test_kind(self, registry: CodecRegistry, kind: str) -> None:
        """Values of these kinds reach the blocks as they were given."""
        assert not any(codec.offers("deserialise") for codec in registry.for_kind(kind))
