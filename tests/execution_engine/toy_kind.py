"""A kind of data that only tests know: marks (points) on a picture, with a codec that offers what
codecs may offer.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from execution_engine import Plugin
from execution_engine.kinds.codec import DecodingContext, KindCodec
from execution_engine.kinds.kind import Kind

MARKS_KIND = Kind("toy_marks", "points on a picture")


@dataclass
class Marks:
    """Points (x, y) in px and the place of their picture in the workflow's input."""

    points: list[tuple[int, int]]
    offset: tuple[int, int] = (0, 0)
    labels: list[str] = field(default_factory=list)


class MarksCodec(KindCodec):
    """Reads, writes, moves, measures and selects marks."""

    kind = MARKS_KIND.name
    python_type = f"{Marks.__module__}.{Marks.__qualname__}"

    def serialise(self, value: Any) -> dict[str, Any]:
        """`{"points": [[x, y], ...]}`."""
        if not isinstance(value, Marks):
            raise TypeError(f"marks were expected, got {type(value).__name__}")
        return {"points": [list(point) for point in value.points]}

    def deserialise(self, name: str, value: Any, context: DecodingContext) -> Marks:
        """Marks from the object that `serialise` gives."""
        if isinstance(value, Marks):
            return value
        if not isinstance(value, dict) or "points" not in value:
            raise ValueError(f"`{name}` must be an object with `points`")
        return Marks([(int(x), int(y)) for x, y in value["points"]])

    def to_root(self, value: Marks) -> Marks:
        """The marks on the workflow's input."""
        dx, dy = value.offset
        return Marks([(x + dx, y + dy) for x, y in value.points], labels=value.labels)

    def length(self, value: Marks) -> int:
        """Number of points."""
        return len(value.points)

    def column(self, value: Marks, name: str) -> Sequence[Any]:
        """`x`, `y` or `label` of every point."""
        columns = {
            "x": [x for x, _ in value.points],
            "y": [y for _, y in value.points],
            "label": value.labels,
        }
        return columns[name]

    def select(self, value: Marks, rows: np.ndarray) -> Marks:
        """The marks of some rows."""
        kept = np.arange(len(value.points))[rows]
        return Marks(
            [value.points[i] for i in kept],
            value.offset,
            [value.labels[i] for i in kept] if value.labels else [],
        )

    def copy(self, value: Marks) -> Marks:
        """Marks with a list of points of their own."""
        return Marks(list(value.points), value.offset, list(value.labels))


def marks_plugin() -> Plugin:
    """The kind and its codec as a plug-in."""
    return Plugin("toy_marks", kinds=(MARKS_KIND,), codecs=lambda: [MarksCodec()])
