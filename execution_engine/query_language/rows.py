"""Detections seen as rows: properties as columns, and one row as the operand of a filter.

Filters nothing itself.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any, Final

import numpy as np

from execution_engine.kinds.codec import KindCodec

# Properties that every detection has; where one of them is missing, that is an error and not "no
# value".
CORE_PROPERTIES: Final = frozenset(
    {"confidence", "class_name", "class_id", "x_min", "x_max", "y_min", "y_max", "size",
     "center", "top_left", "top_right", "bottom_left", "bottom_right"}
)  # fmt: skip
ANCHORS: Final = frozenset({"center", "top_left", "top_right", "bottom_left", "bottom_right"})
_COORDINATES: Final = {"x_min": 0, "y_min": 1, "x_max": 2, "y_max": 3}
_CORNERS: Final = {
    "top_left": (0, 1),
    "top_right": (2, 1),
    "bottom_left": (0, 3),
    "bottom_right": (2, 3),
}


class DetectionRows:
    """The rows of detections; every column is read from the codec once and kept.

    Args:
        codec: looks into the detections.
        detections: the detections.
    """

    __slots__ = ("_arrays", "_boxes", "_codec", "_detections", "_values", "count")

    def __init__(self, codec: KindCodec, detections: Any) -> None:
        self._codec = codec
        self._detections = detections
        self._boxes: np.ndarray | None = None
        self._arrays: dict[str, Sequence[Any] | np.ndarray] = {}
        self._values: dict[str, list[Any]] = {}
        self.count = codec.length(detections)

    def __iter__(self) -> Iterator[Row]:
        for index in range(self.count):
            yield Row(self, index)

    @property
    def boxes(self) -> np.ndarray:
        """Boxes as (n, 4) float64 xyxy px."""
        if self._boxes is None:
            xyxy = np.asarray(self._codec.column(self._detections, "xyxy"), dtype=np.float64)
            self._boxes = xyxy.reshape(-1, 4)
        return self._boxes

    def column(self, name: str) -> Sequence[Any] | np.ndarray:
        """One entry a row of a property; points as (n, 2) float64 px, not rounded.

        Raises:
            KeyError: the detections do not have the property.
        """
        column = self._arrays.get(name)
        if column is None:
            column = self._arrays[name] = self._read(name)
        return column

    def values(self, name: str) -> list[Any]:
        """One plain Python value a row of a property (points as `[x, y]`).

        A property that detections need not have is None in every row where it is missing.

        Raises:
            KeyError: the detections lack a property that all detections have.
        """
        values = self._values.get(name)
        if values is None:
            try:
                values = plain_values(self.column(name))
            except KeyError:
                if name in CORE_PROPERTIES:
                    raise
                values = [None] * self.count
            self._values[name] = values
        return values

    def _read(self, name: str) -> Sequence[Any] | np.ndarray:
        if name in _COORDINATES:
            return self.boxes[:, _COORDINATES[name]]
        if name in _CORNERS:
            return self.boxes[:, _CORNERS[name]]
        if name == "center":
            return (self.boxes[:, :2] + self.boxes[:, 2:]) / 2
        if name == "size":
            sides = self.boxes[:, 2:] - self.boxes[:, :2]
            return sides[:, 0] * sides[:, 1]
        return self._codec.column(self._detections, name)


class Row:
    """One detection inside a filter: a place in its rows."""

    __slots__ = ("index", "rows")

    def __init__(self, rows: DetectionRows, index: int) -> None:
        self.rows = rows
        self.index = index

    def value(self, name: str) -> Any:
        """A property of the detection as a plain Python value, None where it may be missing.

        Raises:
            KeyError: a property that all detections have is missing.
        """
        return self.rows.values(name)[self.index]


def plain_values(column: Sequence[Any] | np.ndarray) -> list[Any]:
    """The entries of a column as plain Python values, arrays as nested lists."""
    if isinstance(column, np.ndarray) and column.dtype != object:
        return column.tolist()
    return [plain_value(value) for value in column]


def plain_value(value: Any) -> Any:
    """The value with NumPy scalars and arrays turned into Python numbers, text and lists."""
    return value.tolist() if isinstance(value, (np.ndarray, np.generic)) else value
