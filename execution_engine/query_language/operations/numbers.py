"""Operations on numbers."""

from __future__ import annotations

from typing import Any

import numpy as np

from execution_engine.query_language.definitions import Operation
from execution_engine.query_language.rows import plain_value
from execution_engine.query_language.site import Parameters, Site, Step

NUMERIC_TYPES = (int, float, np.number, np.bool_)


def to_number(operation: Operation, site: Site) -> Step:
    """`ToNumber`: the value as a float; with `cast_to` = `int` the fraction is cut off."""
    to_int = operation.parameters["cast_to"] == "int"

    def step(value: Any, parameters: Parameters) -> int | float:
        if to_int and type(value) is int:
            return value
        try:
            number = float(value)
            return int(number) if to_int else number
        except (TypeError, ValueError, OverflowError) as error:
            raise site.wrong_input("a number or the text of one", value, error) from error

    return step


def round_number(operation: Operation, site: Site) -> Step:
    """`NumberRound`: Python's `round`, halves go to the even neighbour."""
    digits = operation.parameters["decimal_digits"]

    def step(value: Any, parameters: Parameters) -> Any:
        try:
            return round(plain_value(value), digits)
        except (TypeError, ValueError, OverflowError) as error:
            raise site.wrong_input("a number", value, error) from error

    return step


def multiply(operation: Operation, site: Site) -> Step:
    """`Multiply`: the number times `other`."""
    other = operation.parameters["other"]

    def step(value: Any, parameters: Parameters) -> Any:
        number = _number(value, site)
        try:
            return number * other
        except OverflowError as error:
            raise site.wrong_input(
                "a number of a size that can be multiplied", value, error
            ) from error

    return step


def divide(operation: Operation, site: Site) -> Step:
    """`Divide`: the number through `other`; zero is refused."""
    other = operation.parameters["other"]

    def step(value: Any, parameters: Parameters) -> Any:
        number = _number(value, site)
        try:
            return number / other
        except (ZeroDivisionError, OverflowError) as error:
            raise site.wrong_input(
                f"a number that can be divided by {other!r}", value, error
            ) from error

    return step


def _number(value: Any, site: Site) -> int | float:
    if not isinstance(value, NUMERIC_TYPES):
        raise site.wrong_input("a number", value)
    return plain_value(value)
