"""Results as JSON that loses nothing: images as PNG, masks as codes, for clients that turn them
back into objects. The JSON of the public interface, with JPEG and outlines, is the engine's.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from execution_engine.block_api import WorkflowImageData
from execution_engine.images.codec import ImageCodec
from execution_engine.kinds.codec import CodecRegistry
from execution_engine.plan import Plan
from workflows.remote.images import ImageWriter
from workflows.remote.signature import OutputShape, signature_of_plan

DETECTIONS_TYPE = "supervision.detection.core.Detections"
# Kinds whose values are JSON as they stand, but may hold images and predictions.
_CONTAINERS = frozenset({"*", "dictionary", "list_of_values"})
_SHARED_BY_ROWS = ("prediction_type", "inference_id")


def lossless_rows(rows: Sequence[Mapping[str, Any]], plan: Plan) -> list[dict[str, Any]]:
    """The results of a run (not serialised) as JSON data.

    Raises:
        ExecutionEngineRuntimeError: a value has no JSON form.
    """
    outputs = signature_of_plan(plan).outputs
    writer = _Writer(plan.codecs)
    return [
        {name: writer.output(value, outputs[name]) for name, value in row.items()} for row in rows
    ]


class _Writer:
    def __init__(self, codecs: CodecRegistry) -> None:
        self._codecs = codecs
        self._images = ImageWriter(ImageCodec())

    def output(self, value: Any, shape: OutputShape) -> Any:
        """A whole output, nested as deep as its shape says."""
        if isinstance(shape.kinds, Mapping):
            return self._object(value, shape.kinds, shape.depth or 0)
        return self._nested(value, shape.kinds, shape.depth or 0)

    def _object(self, value: Any, kinds: Mapping[str, tuple[str, ...]], depth: int) -> Any:
        if depth:
            return [self._object(item, kinds, depth - 1) for item in value]
        return {name: self._value(item, kinds[name]) for name, item in value.items()}

    def _nested(self, value: Any, kinds: tuple[str, ...], depth: int) -> Any:
        if depth and value is not None:
            return [self._nested(item, kinds, depth - 1) for item in value]
        return self._value(value, kinds)

    def _value(self, value: Any, kinds: tuple[str, ...]) -> Any:
        if isinstance(value, WorkflowImageData):
            return self._images.write("result", value)
        codec = self._codecs.for_value(value)
        if codec is not None and codec.python_type == DETECTIONS_TYPE:
            return _detections(value)
        if _CONTAINERS.issuperset(kinds):
            if isinstance(value, dict):
                return {str(key): self._value(item, ("*",)) for key, item in value.items()}
            if isinstance(value, (list, tuple)):
                return [self._value(item, ("*",)) for item in value]
        return self._codecs.serialise(value, kinds)


def _detections(detections: Any) -> dict[str, Any]:
    """Predictions with the codes of their masks, and what rows share on each row."""
    from blocks.kinds.detections.serialise import serialise_detections

    written = serialise_detections(detections, "rle")
    for name in _SHARED_BY_ROWS:
        if name in detections.data:
            for row, shared in zip(written["predictions"], detections.data[name], strict=True):
                row[name] = str(shared)
    return written
