from __future__ import annotations

import subprocess
import sys
from typing import Any

import numpy as np
import pytest
import supervision as sv

from blocks.kinds import core_codecs
from execution_engine.kinds.catalogue import ALL_KINDS
from execution_engine.kinds.codec import CodecRegistry, DecodingContext
from execution_engine.kinds.defaults import default_codec_registry

METHODS = (
    "serialise",
    "deserialise",
    "to_root",
    "length",
    "column",
    "select",
    "with_columns",
    "copy",
)


@pytest.fixture(scope="module")
def registry() -> CodecRegistry:
    return default_codec_registry(core_codecs())


class TestCoreCodecs:
    def test_imports_no_heavy_library(self) -> None:
        """Making the codecs and the registry loads neither supervision nor torch."""
        code = (
            "import sys\n"
            "from blocks.kinds import core_codecs\n"
            "from execution_engine.kinds.defaults import default_codec_registry\n"
            "default_codec_registry(core_codecs()).serialise({'a': 1}, ['*'])\n"
            "print([name for name in ('supervision', 'torch', 'scipy') if name in sys.modules])"
        )
        done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
        assert done.stdout.strip() == "[]", done.stderr

    def test_every_kind_has_a_codec(self, registry: CodecRegistry) -> None:
        """With the core codecs only plain data have none."""
        without = {kind.name for kind in ALL_KINDS if not registry.for_kind(kind.name)}
        assert without == {"image_metadata", "detection"}

    def test_found_by_value(self, registry: CodecRegistry) -> None:
        """Detections, also of a subclass, are looked into by the codec of object detection."""

        class Special(sv.Detections):
            pass

        for value in (sv.Detections.empty(), Special(np.zeros((1, 4)))):
            codec = registry.for_value(value)
            assert codec is not None
            assert codec.kind == "object_detection_prediction"
            assert all(codec.offers(name) for name in METHODS)
        assert registry.for_value([]) is None

    def test_methods(self, registry: CodecRegistry) -> None:
        """The methods work through the contract of codecs."""
        value = sv.Detections(np.array([[0, 0, 4, 4], [1, 1, 3, 3]], np.float32))
        codec = registry.for_value(value)
        assert codec is not None
        assert codec.length(value) == 2
        assert codec.column(value, "x_min").tolist() == [0, 1]
        assert len(codec.select(value, np.array([True, False]))) == 1
        named = codec.with_columns(value, {"class_name": np.array(["a", "b"])})
        assert named.data["class_name"].tolist() == ["a", "b"]
        assert codec.copy(value) == value
        assert codec.to_root(value) is value


class TestOverlaps:
    def test_round_trip(self, registry: CodecRegistry) -> None:
        """Overlap records are plain data on the way out and pass on the way in."""
        records = [{"reference_class": "a", "overlap_ratio": np.float32(0.5)}]
        written: Any = registry.serialise(records, ["detections_overlaps"])
        assert written == [{"reference_class": "a", "overlap_ratio": 0.5}]
        assert type(written[0]["overlap_ratio"]) is float
        (codec,) = registry.for_kind("detections_overlaps")
        assert codec.deserialise("o", written, DecodingContext(None)) == written
        with pytest.raises(ValueError, match="`o` must be a list of overlap records, got dict"):
            codec.deserialise("o", {}, DecodingContext(None))


class TestTensor:
    class Fake:
        """Stands in for a tensor where torch is not installed."""

        def __init__(self, values: list[float]) -> None:
            self.values = values

        def detach(self) -> TestTensor.Fake:
            return self

        cpu = detach

        def tolist(self) -> list[float]:
            return self.values

    def test_serialise(self, registry: CodecRegistry) -> None:
        """A tensor is written as nested lists."""
        assert registry.serialise(self.Fake([1.0, 2.0]), ["tensor"]) == [1.0, 2.0]

    def test_deserialise(self, registry: CodecRegistry) -> None:
        """Nested lists become a tensor where torch is there, else the error names the extra."""
        (codec,) = registry.for_kind("tensor")
        try:
            import torch
        except ImportError:
            with pytest.raises(ImportError, match=r"pip install weftlens\[torch\]"):
                codec.deserialise("t", [[1, 2]], DecodingContext(None))
        else:
            assert torch.equal(
                codec.deserialise("t", [[1, 2]], DecodingContext(None)), torch.tensor([[1, 2]])
            )
        with pytest.raises(ValueError, match="`t` must be nested lists"):
            codec.deserialise("t", 5, DecodingContext(None))
