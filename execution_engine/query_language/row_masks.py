"""Which rows of detections a statement holds for.

Column by column where that gives the same as row by row, else row by row. How columns are compared
is in `columns`.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from itertools import repeat
from operator import and_, or_
from typing import Any

import numpy as np

from execution_engine.kinds.codec import CodecRegistry
from execution_engine.query_language.columns import (
    Column,
    Constant,
    OperandColumn,
    compare_arrays,
    compile_operand_column,
    search_container,
)
from execution_engine.query_language.comparison import COMPARATORS, exists, unary_operator
from execution_engine.query_language.definitions import (
    ROW_OPERAND,
    BinaryStatement,
    Statement,
    StatementGroup,
    UnaryStatement,
)
from execution_engine.query_language.rows import DetectionRows
from execution_engine.query_language.site import Condition, NestedCompiler, Parameters
from execution_engine.query_language.statements import compile_condition

Mask = Callable[[DetectionRows, Parameters], np.ndarray]


class RowMask:
    """A statement about one detection as a function of all rows.

    Args:
        statement: the statement; the detection is its operand `_`.
        condition: the same statement, compiled for one set of parameters.
        codecs: how operations look into values.
        nested: compiles the operations on operands.
        path: place of the statement in error messages.
    """

    __slots__ = ("_columns", "_condition")

    def __init__(
        self,
        statement: Statement,
        condition: Condition,
        codecs: CodecRegistry,
        nested: NestedCompiler,
        path: str,
    ) -> None:
        self._condition = condition
        self._columns = _compile(statement, condition, codecs, nested, path)

    def __call__(self, rows: DetectionRows, parameters: Parameters) -> np.ndarray:
        """Mask (n,) of the rows the statement holds for; raises as `CompiledStatement` does."""
        if self._columns is None:
            return self.by_rows(rows, parameters)
        try:
            return self._columns(rows, parameters)
        except Exception:
            # Either a row is at fault, then the rows raise the error with its place, or columns
            # cannot hold a value.
            return self.by_rows(rows, parameters)

    def by_rows(self, rows: DetectionRows, parameters: Parameters) -> np.ndarray:
        """The same mask, one row after the other."""
        return _by_rows(self._condition, rows, parameters)


def _by_rows(condition: Condition, rows: DetectionRows, parameters: Parameters) -> np.ndarray:
    scope: dict[str, Any] = dict(parameters)
    mask = np.empty(rows.count, dtype=bool)
    for row in rows:
        scope[ROW_OPERAND] = row
        mask[row.index] = condition(scope)
    return mask


def _compile(
    statement: Statement,
    condition: Condition,
    codecs: CodecRegistry,
    nested: NestedCompiler,
    path: str,
) -> Mask | None:
    """The statement over columns, None when it has to be evaluated row by row."""
    if isinstance(statement, StatementGroup):
        return _compile_group(statement, codecs, nested, path)
    if isinstance(statement, BinaryStatement):
        left = compile_operand_column(statement.left_operand, nested, f"{path}.left_operand")
        right = compile_operand_column(statement.right_operand, nested, f"{path}.right_operand")
        if left is None or right is None:
            return None
        return _binary(statement, left, right)
    operand = compile_operand_column(statement.operand, nested, f"{path}.operand")
    return None if operand is None else _unary(statement, operand, codecs)


def _compile_group(
    group: StatementGroup, codecs: CodecRegistry, nested: NestedCompiler, path: str
) -> Mask | None:
    masks: list[Mask] = []
    by_columns = False
    for index, statement in enumerate(group.statements):
        place = f"{path}.statements[{index}]"
        condition = compile_condition(statement, codecs, nested, place)
        mask = _compile(statement, condition, codecs, nested, place)
        by_columns = by_columns or mask is not None
        masks.append(mask or _row_by_row(condition))
    return _joined(masks, and_ if group.operator == "and" else or_) if by_columns else None


def _row_by_row(condition: Condition) -> Mask:
    return lambda rows, parameters: _by_rows(condition, rows, parameters)


def _joined(masks: Sequence[Mask], join: Callable[[Any, Any], Any]) -> Mask:
    first, *others = masks
    if not others:
        return first

    def mask(rows: DetectionRows, parameters: Parameters) -> np.ndarray:
        result = first(rows, parameters)
        for other in others:
            result = join(result, other(rows, parameters))
        return result

    return mask


def _binary(statement: BinaryStatement, left_of: OperandColumn, right_of: OperandColumn) -> Mask:
    name, negate = statement.comparator, statement.negate
    compare = COMPARATORS[name]

    def mask(rows: DetectionRows, parameters: Parameters) -> np.ndarray:
        left, right = left_of(rows, parameters), right_of(rows, parameters)
        result = compare_arrays(name, left, right)
        if result is None:
            result = _compare_values(compare, left, right, rows.count)
        return ~result if negate else result

    return mask


def _compare_values(
    compare: Callable[[Any, Any], Any],
    left: Column | Constant,
    right: Column | Constant,
    count: int,
) -> np.ndarray:
    if isinstance(left, Constant) and isinstance(right, Constant):
        return np.full(count, bool(compare(left.value, right.value)))
    left_values = repeat(left.value) if isinstance(left, Constant) else left.values
    if not isinstance(right, Constant):
        results = map(compare, left_values, right.values)
    elif compare is COMPARATORS["in (Sequence)"]:
        results = map(search_container(right.value), left_values)
    else:
        results = map(compare, left_values, repeat(right.value))
    return np.fromiter(results, dtype=bool, count=count)


def _unary(statement: UnaryStatement, operand_of: OperandColumn, codecs: CodecRegistry) -> Mask:
    ask = unary_operator(statement.operator, codecs)
    assert ask is not None
    negate = statement.negate

    def mask(rows: DetectionRows, parameters: Parameters) -> np.ndarray:
        operand = operand_of(rows, parameters)
        if isinstance(operand, Constant):
            result = np.full(rows.count, bool(ask(operand.value)))
        elif ask is exists and operand.array is not None:
            result = np.ones(rows.count, dtype=bool)
        else:
            result = np.fromiter(map(ask, operand.values), dtype=bool, count=rows.count)
        return ~result if negate else result

    return mask
