"""Operands of a filter as columns, and comparisons of whole columns.

A comparison of columns gives exactly what comparing single values gives, or declines. Statements
are put together in `row_masks`.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, Final

import numpy as np

from execution_engine.query_language.definitions import (
    ROW_OPERAND,
    Operand,
    Operation,
    StaticOperand,
)
from execution_engine.query_language.geometry import as_polygon, points_in_polygon
from execution_engine.query_language.rows import DetectionRows
from execution_engine.query_language.site import NestedCompiler, Parameters
from execution_engine.query_language.statements import compile_operand

# Their result depends on how often they run, or on the detection at hand in a way that columns
# cannot follow.
ROW_BOUND_OPERATIONS: Final = frozenset({"RandomNumber", "DetectionsRename"})
_EXACT_IN_FLOAT64: Final = 2**53

_ORDERINGS: Final[Mapping[str, np.ufunc]] = {
    "==": np.equal,
    "(Number) ==": np.equal,
    "!=": np.not_equal,
    "(Number) !=": np.not_equal,
    "(Number) >": np.greater,
    "(Number) >=": np.greater_equal,
    "(Number) <": np.less,
    "(Number) <=": np.less_equal,
}


class Constant:
    """An operand that is the same for every row."""

    __slots__ = ("value",)

    def __init__(self, value: Any) -> None:
        self.value = value


class Column:
    """An operand with a value of its own in every row.

    Attributes:
        array: the values as an array with a row each, None when only single values are known.
    """

    __slots__ = ("_read", "array")

    def __init__(self, array: np.ndarray | None, read: Callable[[], list[Any]]) -> None:
        self.array = array
        self._read = read

    @property
    def values(self) -> list[Any]:
        """One plain Python value a row."""
        return self._read()


OperandColumn = Callable[[DetectionRows, Parameters], Column | Constant]


def compile_operand_column(
    operand: Operand, nested: NestedCompiler, path: str
) -> OperandColumn | None:
    """The operand as a function of all rows, None when it must be evaluated row by row."""
    if _mentions(operand.to_dict().get("operations", []), ROW_BOUND_OPERATIONS):
        return None
    if isinstance(operand, StaticOperand) or operand.operand_name != ROW_OPERAND:
        source = compile_operand(operand, nested, path)
        return lambda rows, parameters: Constant(source(parameters))
    if not operand.operations or operand.operations[0].type != "ExtractDetectionProperty":
        return None
    name = operand.operations[0].parameters["property_name"]
    if len(operand.operations) == 1:
        return lambda rows, parameters: _property_column(rows, name)
    return _computed_column(name, operand.operations[1:], nested, path)


def _mentions(data: Any, types: frozenset[str]) -> bool:
    if isinstance(data, dict):
        named = data.get("type")
        if isinstance(named, str) and named in types:
            return True
        return any(_mentions(value, types) for value in data.values())
    return isinstance(data, list) and any(_mentions(value, types) for value in data)


def _property_column(rows: DetectionRows, name: str) -> Column:
    try:
        column = rows.column(name)
    except KeyError:
        column = rows.values(name)
    array = column if isinstance(column, np.ndarray) and column.dtype != object else None
    return Column(array, lambda: rows.values(name))


def _computed_column(
    name: str, operations: Sequence[Operation], nested: NestedCompiler, path: str
) -> OperandColumn:
    chain = nested.chain(operations, path)

    def column(rows: DetectionRows, parameters: Parameters) -> Column:
        values = [chain(value, parameters) for value in rows.values(name)]
        return Column(None, lambda: values)

    return column


def compare_arrays(
    name: str, left: Column | Constant, right: Column | Constant
) -> np.ndarray | None:
    """The comparison of all rows as a mask (n,), None where values must be compared singly."""
    ordering = _ORDERINGS.get(name)
    if ordering is not None:
        pair = _numbers(left, right) or _texts(ordering, left, right)
        return None if pair is None else ordering(*pair)
    if isinstance(left, Constant) or not isinstance(right, Constant):
        return None
    if name == "(Number) in range":
        least, greatest = right.value
        above = _numbers(left, Constant(least))
        below = _numbers(left, Constant(greatest))
        if above is None or below is None:
            return None
        return np.greater_equal(*above) & np.less_equal(*below)
    if name == "(Detection) in zone" and left.array is not None:
        points = left.array
        if points.dtype.kind == "f" and points.ndim == 2 and points.shape[1] == 2:
            return points_in_polygon(points.astype(np.float64), as_polygon(right.value))
    return None


def search_container(sequence: Any) -> Callable[[Any], bool]:
    """`value in sequence` as a function of the value, by hash where the elements allow it."""
    if isinstance(sequence, (list, tuple)):
        try:
            return frozenset(sequence).__contains__
        except TypeError:
            return sequence.__contains__
    return lambda value: value in sequence


def _numbers(left: Column | Constant, right: Column | Constant) -> tuple[Any, Any] | None:
    """Both sides as numbers that NumPy compares as Python would, None when it would not."""
    if isinstance(left, Column):
        if isinstance(right, Column):
            return _number_columns(left, right)
        return _column_and_number(left, right.value)
    if isinstance(right, Constant):
        return None
    pair = _column_and_number(right, left.value)
    return None if pair is None else (pair[1], pair[0])


def _number_columns(left: Column, right: Column) -> tuple[Any, Any] | None:
    first, second = _number_array(left), _number_array(right)
    if first is None or second is None or first.dtype != second.dtype:
        return None
    return first, second


def _column_and_number(column: Column, number: Any) -> tuple[Any, Any] | None:
    array = _number_array(column)
    if array is None:
        return None
    if array.dtype == np.float64:
        exact = type(number) is float or (
            type(number) in (int, bool) and abs(number) <= _EXACT_IN_FLOAT64
        )
        return (array, float(number)) if exact else None
    if type(number) is float and number.is_integer():
        number = int(number)
    return (array, int(number)) if type(number) in (int, bool) else None


def _number_array(column: Column) -> np.ndarray | None:
    array = column.array
    if array is None or array.ndim != 1:
        return None
    if array.dtype.kind == "f" and array.itemsize <= 8:
        return array.astype(np.float64, copy=False)
    if array.dtype.kind in "ib" or array.dtype in (np.uint8, np.uint16, np.uint32):
        return array.astype(np.int64, copy=False)
    return None


def _texts(
    ordering: np.ufunc, left: Column | Constant, right: Column | Constant
) -> tuple[Any, Any] | None:
    """A text column and one text to compare for equality."""
    if ordering not in (np.equal, np.not_equal):
        return None
    if not isinstance(left, Column) or not isinstance(right, Constant):
        return None
    array, text = left.array, right.value
    if array is None or array.ndim != 1 or array.dtype.kind != "U" or type(text) is not str:
        return None
    # NumPy takes no note of NUL at the end of a text.
    return None if text.endswith("\0") else (array, text)
