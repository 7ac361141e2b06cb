"""Members of prediction rows in JSON, read into columns with checks that name row and member."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from numbers import Real
from typing import Any

import numpy as np

Row = Mapping[str, Any]


def member(name: str, rows: Sequence[Row], key: str) -> list[Any]:
    """The member of every row; raises `ValueError` when a row lacks it."""
    try:
        return [row[key] for row in rows]
    except KeyError:
        index = next(index for index, row in enumerate(rows) if key not in row)
        raise ValueError(f"`{name}.predictions[{index}]` lacks `{key}`") from None


def checked(
    name: str, key: str, values: list[Any], fits: Callable[[Any], bool], expected: str
) -> list[Any]:
    """The values when all fit; raises `ValueError` that names the first that does not."""
    for index, value in enumerate(values):
        if not fits(value):
            raise ValueError(
                f"`{name}.predictions[{index}].{key}` must be {expected}, "
                f"got {type(value).__name__} {str(value)[:60]!r}"
            )
    return values


def numbers(name: str, rows: Sequence[Row], key: str) -> np.ndarray:
    """(n,) float64 of a member that must be a finite number in every row."""
    values = checked(name, key, member(name, rows, key), is_finite, "a finite number")
    return np.array(values, dtype=np.float64)


def texts(name: str, rows: Sequence[Row], key: str) -> list[str]:
    """A member that must be text in every row."""
    values = member(name, rows, key)
    return checked(name, key, values, lambda value: isinstance(value, str), "a string")


def is_finite(value: Any) -> bool:
    """Whether the value is a finite number and no boolean."""
    return isinstance(value, Real) and not isinstance(value, bool) and math.isfinite(value)


def is_whole(value: Any) -> bool:
    """Whether the value is a number without a fraction and no boolean."""
    if isinstance(value, bool) or not isinstance(value, Real):
        return False
    return bool(math.isfinite(value)) and float(value).is_integer()


def is_pair(value: Any) -> bool:
    """Whether the value is a list of two numbers."""
    return (
        isinstance(value, (list, tuple))
        and len(value) == 2
        and all(isinstance(part, Real) for part in value)
    )
