"""Operations on text."""

from __future__ import annotations

import re
from typing import Any

from execution_engine.query_language.bounded_search import (
    SearchTooLongError,
    compile_expression,
)
from execution_engine.query_language.definitions import Operation
from execution_engine.query_language.site import Parameters, Site, Step


def lower_case(operation: Operation, site: Site) -> Step:
    """`StringToLowerCase`: text in, text out."""

    def step(value: Any, parameters: Parameters) -> str:
        if not isinstance(value, str):
            raise site.wrong_input("text", value)
        return value.lower()

    return step


def upper_case(operation: Operation, site: Site) -> Step:
    """`StringToUpperCase`: text in, text out."""

    def step(value: Any, parameters: Parameters) -> str:
        if not isinstance(value, str):
            raise site.wrong_input("text", value)
        return value.upper()

    return step


def sub_sequence(operation: Operation, site: Site) -> Step:
    """`StringSubSequence`: the slice `[start:end]` of text (or of another sequence)."""
    part = slice(operation.parameters["start"], operation.parameters["end"])

    def step(value: Any, parameters: Parameters) -> Any:
        if not isinstance(value, (str, bytes, list, tuple)):
            raise site.wrong_input("text", value)
        return value[part]

    return step


def matches(operation: Operation, site: Site) -> Step:
    """`StringMatches`: whether the regular expression is found anywhere in the text.

    Raises:
        OperationError: the text of the expression is no regular expression, or searching a text
            for it could take too long.
    """
    regex = operation.parameters["regex"]
    try:
        found_in = compile_expression(regex)
    except re.error as error:
        raise site.failed(f"{regex!r} is no regular expression ({error})", error) from error

    def step(value: Any, parameters: Parameters) -> bool:
        if not isinstance(value, str):
            raise site.wrong_input("text", value)
        try:
            return found_in(value)
        except SearchTooLongError as error:
            raise site.failed(f"the search could take too long: {error}", error) from error

    return step
