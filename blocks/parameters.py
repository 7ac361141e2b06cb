"""Checks of field values that no schema has seen, because they came through references. Knows no
block; limits that only one family has stay in that family.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from numbers import Integral, Real
from typing import Any, TypeVar

T = TypeVar("T")


def whole_number(
    field: str, value: Any, minimum: int | None = None, maximum: int | None = None
) -> int:
    """The value of a field as an int.

    Raises:
        ValueError: the value is not a whole number or lies outside the limits; the text names the
        field.
    """
    is_whole = isinstance(value, Integral) or (
        isinstance(value, Real) and float(value).is_integer()
    )
    if not is_whole or _outside(value, minimum, maximum):
        raise ValueError(
            f"Field `{field}` must be a whole number{_limits(minimum, maximum)}, got {value!r}."
        )
    return int(value)


def number(
    field: str, value: Any, minimum: float | None = None, maximum: float | None = None
) -> float:
    """The value of a field as a float.

    Raises:
        ValueError: the value is not a number or lies outside the limits; the text names the field.
    """
    if not isinstance(value, Real) or value != value or _outside(value, minimum, maximum):
        raise ValueError(
            f"Field `{field}` must be a number{_limits(minimum, maximum)}, got {value!r}."
        )
    return float(value)


def odd_number(field: str, value: Any, purpose: str) -> int:
    """The value of a field as an odd int of at least 1.

    Args:
        field: name of the field.
        value: what the field holds.
        purpose: what needs the odd number, for the message.

    Raises:
        ValueError: the value is not an odd whole number of at least 1.
    """
    result = whole_number(field, value, minimum=1)
    if result % 2 == 0:
        raise ValueError(
            f"Field `{field}` must be odd for {purpose}, got {result}; try {result - 1} or "
            f"{result + 1}."
        )
    return result


def choice(field: str, value: Any, options: Mapping[str, T]) -> T:
    """What an option of a field stands for.

    Raises:
        ValueError: the value is none of the options; the text names the field and lists them.
    """
    if not isinstance(value, str) or value not in options:
        raise ValueError(f"Field `{field}` must be one of {_listed(options)}, got {value!r}.")
    return options[value]


def _outside(value: Any, minimum: float | None, maximum: float | None) -> bool:
    return (minimum is not None and value < minimum) or (maximum is not None and value > maximum)


def _limits(minimum: float | None, maximum: float | None) -> str:
    if minimum is not None and maximum is not None:
        return f" from {minimum} to {maximum}"
    if minimum is not None:
        return f" of at least {minimum}"
    return "" if maximum is None else f" of at most {maximum}"


def _listed(options: Iterable[str]) -> str:
    return ", ".join(f"`{option}`" for option in options)
