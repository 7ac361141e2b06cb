"""A toy kind of detections with its codec, and short ways to run operations on them."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
import pytest

from execution_engine.kinds.codec import CodecRegistry, KindCodec
from execution_engine.query_language import Operation, compile_operations


@dataclass
class ToyDetections:
    """Boxes (n, 4) xyxy float32 px and whatever other columns there are."""

    xyxy: np.ndarray
    columns: dict[str, Any] = field(default_factory=dict)

    def names(self) -> list[str]:
        return list(self.columns["class_name"])


class ToyCodec(KindCodec):
    """Looks into `ToyDetections` and counts how often columns are read."""

    kind = "object_detection_prediction"
    python_type = f"{ToyDetections.__module__}.{ToyDetections.__qualname__}"

    def __init__(self) -> None:
        self.reads: list[str] = []

    def serialise(self, value: ToyDetections) -> Any:
        return {
            "boxes": value.xyxy.tolist(),
            "names": [str(name) for name in value.columns["class_name"]],
        }

    def length(self, value: ToyDetections) -> int:
        return len(value.xyxy)

    def column(self, value: ToyDetections, name: str) -> Any:
        self.reads.append(name)
        return value.xyxy if name == "xyxy" else value.columns[name]

    def select(self, value: ToyDetections, rows: np.ndarray) -> ToyDetections:
        places = np.arange(len(value.xyxy))[rows]
        return ToyDetections(
            value.xyxy[rows],
            {
                name: column[rows]
                if isinstance(column, np.ndarray)
                else [column[place] for place in places]
                for name, column in value.columns.items()
            },
        )

    def with_columns(self, value: ToyDetections, columns: Mapping[str, Any]) -> ToyDetections:
        others = {name: column for name, column in columns.items() if name != "xyxy"}
        return replace(
            value, xyxy=columns.get("xyxy", value.xyxy), columns={**value.columns, **others}
        )


def make_toy(
    boxes: Sequence[Sequence[float]], names: Sequence[str] | None = None, **columns: Any
) -> ToyDetections:
    """Toy detections; the confidence falls from 0.9 in steps of 0.1 unless it is given."""
    count = len(boxes)
    given: dict[str, Any] = {
        "confidence": (0.9 - 0.1 * np.arange(count)).astype(np.float32),
        "class_id": np.arange(count),
        "class_name": np.array(names if names is not None else ["cat"] * count, dtype=str),
        **columns,
    }
    kept = {name: column for name, column in given.items() if column is not None}
    return ToyDetections(np.array(boxes, dtype=np.float32).reshape(-1, 4), kept)


@pytest.fixture
def toy() -> Callable[..., ToyDetections]:
    return make_toy


@pytest.fixture
def toy_codec() -> ToyCodec:
    return ToyCodec()


@pytest.fixture
def codecs(toy_codec: ToyCodec) -> CodecRegistry:
    return CodecRegistry(codecs=[toy_codec])


@pytest.fixture
def run(codecs: CodecRegistry) -> Callable[..., Any]:
    """`run(value, {"type": ...}, ..., parameters=None)`: the value after the operations."""

    def run_operations(
        value: Any, *operations: dict[str, Any], parameters: Mapping[str, Any] | None = None
    ) -> Any:
        chain = compile_operations([Operation.parse(data) for data in operations], codecs)
        return chain(value, parameters)

    return run_operations
