from __future__ import annotations

import json
import subprocess
import sys
from datetime import datetime
from typing import Any

import numpy as np
import pytest

from execution_engine.errors import ExecutionEngineRuntimeError
from execution_engine.images import ImageParentMetadata, VideoMetadata, WorkflowImageData
from execution_engine.kinds.builtin_codecs import builtin_codecs, mask_secret
from execution_engine.kinds.catalogue import ALL_KINDS
from execution_engine.kinds.codec import CodecRegistry, KindCodec
from execution_engine.kinds.defaults import default_codec_registry
from execution_engine.kinds.kind import Kind

PREDICTIONS = {
    "object_detection_prediction",
    "qr_code_detection",
    "bar_code_detection",
    "instance_segmentation_prediction",
    "rle_instance_segmentation_prediction",
    "semantic_segmentation_prediction",
    "keypoint_detection_prediction",
    "detections_overlaps",
    "tensor",
}


@pytest.fixture(scope="module")
def registry() -> CodecRegistry:
    return default_codec_registry()


def image() -> WorkflowImageData:
    return WorkflowImageData(ImageParentMetadata("i"), numpy_image=np.zeros((4, 5, 3), np.uint8))


class Toy:
    """A prediction type the engine has never heard of."""

    def __init__(self, values: list[int]) -> None:
        self.values = values


class ToyCodec(KindCodec):
    kind = "toy"
    python_type = f"{Toy.__module__}.Toy"

    def serialise(self, value: Any) -> Any:
        return {"toy": value.values}


class TestMaskSecret:
    @pytest.mark.parametrize(
        ("secret", "masked"),
        [
            ("supersecretvalue", "su********ue"),
            ("12345678", "12********78"),
            ("1234567", "********"),
            ("", "********"),
            (1234, "********"),
        ],
    )
    def test_mask(self, secret: Any, masked: str) -> None:
        """Short secrets vanish, long ones keep two characters at each end."""
        assert mask_secret(secret) == masked


class TestSerialise:
    @pytest.mark.parametrize(
        ("kind", "value", "expected"),
        [
            ("secret", "supersecretvalue", "su********ue"),
            ("timestamp", datetime(2026, 1, 2), "2026-01-02T00:00:00"),
            ("bytes", b"ab", "YWI="),
            ("numpy_array", np.eye(2), [[1.0, 0.0], [0.0, 1.0]]),
            ("embedding", np.array([0.5, 1], np.float32), [0.5, 1.0]),
            ("embedding", [0.5], [0.5]),
            ("contours", [np.array([[[1, 2]], [[3, 4]]])], [[[[1, 2]], [[3, 4]]]]),
            ("image_keypoints", [{"pt": (np.float32(1), 2)}], [{"pt": [1.0, 2]}]),
            ("serialised_payloads", ["a", b"ab", {"c": 1}], ["a", "YWI=", {"c": 1}]),
            ("action_recognition_prediction", [{"class": "a"}], [{"class": "a"}]),
            ("float", np.float32(0.5), 0.5),
            ("dictionary", {1: np.int8(3)}, {"1": 3}),
            ("list_of_values", [np.int8(3), datetime(2026, 1, 2)], [3, "2026-01-02T00:00:00"]),
            ("zone", [(0, 0), (1, 0), (1, np.int32(1))], [[0, 0], [1, 0], [1, 1]]),
            ("string", None, None),
            ("kind_nobody_knows", np.int8(3), 3),
        ],
    )
    def test_json(self, registry: CodecRegistry, kind: str, value: Any, expected: Any) -> None:
        """Every kind is written as JSON data, those without a serialiser as `*`."""
        result = registry.serialise(value, [kind])
        assert result == expected
        json.dumps(result)

    @pytest.mark.parametrize(
        ("kind", "value"),
        [
            ("image", 5),
            ("video_metadata", {}),
            ("timestamp", "2026"),
            ("bytes", "ab"),
            ("numpy_array", 5),
            ("image_keypoints", 5),
        ],
    )
    def test_refusal(self, registry: CodecRegistry, kind: str, value: Any) -> None:
        """A serialiser refuses what is not of its kind, so that the next kind can try."""
        with pytest.raises(ExecutionEngineRuntimeError, match=f"{kind}: "):
            registry.serialise(value, [kind])
        assert registry.serialise(value, [kind, "*"]) == value

    def test_wildcard_finds_known_types_anywhere(self, registry: CodecRegistry) -> None:
        """Images and video metadata inside containers are written by their own codecs."""
        result = registry.serialise(
            {"a": [image()], "b": (VideoMetadata("v"),), 3: np.float32(1)}, ["*"]
        )
        assert result["a"][0]["type"] == "base64"
        assert result["b"][0]["video_identifier"] == "v"
        assert result["3"] == 1.0
        json.dumps(result)

    def test_wildcard_uses_codecs_added_later(self) -> None:
        """A type of a plug-in is written by its codec, in whatever order codecs were added."""
        registry = default_codec_registry([ToyCodec()], [Kind("toy")])
        for kind in ("*", "dictionary"):
            assert registry.serialise({"x": [Toy([1])]}, [kind]) == {"x": [{"toy": [1]}]}
        assert registry.serialise(Toy([2]), ["toy"]) == {"toy": [2]}

    def test_unknown_type(self, registry: CodecRegistry) -> None:
        """An object nobody can write is an error with its place, not text made up for it."""
        with pytest.raises(ExecutionEngineRuntimeError, match=r"type Toy at \.a\[0\] has no JSON"):
            registry.serialise({"a": [Toy([])]}, ["*"])


class TestBuiltinCodecs:
    def test_every_kind_is_covered(self) -> None:
        """Each kind of the language has a codec, is a prediction, or is plain JSON data."""
        covered = {codec.kind for codec in builtin_codecs()}
        plain = {"*", "image_metadata", "detection"}
        assert {kind.name for kind in ALL_KINDS} == covered | PREDICTIONS | plain

    def test_one_codec_a_kind(self) -> None:
        """No kind is registered twice."""
        kinds = [codec.kind for codec in builtin_codecs()]
        assert len(kinds) == len(set(kinds))

    @pytest.mark.parametrize("kind", ["string", "float", "integer", "dictionary", "zone", "point"])
    def test_plain_kinds_have_no_serialiser(self, registry: CodecRegistry, kind: str) -> None:
        """Kinds of plain data leave writing to `*`."""
        assert not any(codec.offers("serialise") for codec in registry.for_kind(kind))

    def test_needs_neither_supervision_nor_torch(self) -> None:
        """The registry of the engine works with those libraries absent."""
        code = (
            "import sys\n"
            "sys.modules['supervision'] = sys.modules['torch'] = None\n"
            "from execution_engine.kinds.defaults import default_codec_registry\n"
            "print(default_codec_registry().serialise({'a': (1,)}, ['*']))"
        )
        done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
        assert done.stdout.strip() == "{'a': [1]}", done.stderr
