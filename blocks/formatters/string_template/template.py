"""Templates with `{name}` places: a safe part of Python's format language. Knows no blocks.

Places take names and format specifications only: access to attributes or items would let a template
read what it was not given.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from string import Formatter
from typing import Any

from execution_engine.errors import InvalidFieldValueError

MAX_FIELD_WIDTH = 10_000
MAX_CHARACTERS = 1_000_000
_NUMBER = re.compile(r"\d+")
_CONVERSIONS: dict[str, Callable[[Any], str]] = {"s": str, "r": repr, "a": ascii}


def fill_template(template: str, values: Mapping[str, Any]) -> str:
    """The template with each `{name}` replaced by its value; `{{` and `}}` stand for braces.

    A place may have a format specification (`{score:.2f}`), whose parts may be places themselves,
    and a conversion (`{name!r}`).

    Raises:
        InvalidFieldValueError: the template is malformed, names a value that is not there, uses
            positions, attributes or items, formats a value in a way it does not take, or the
            result would be too long.
    """
    return _fill(template, values, template, nested=False)


def _fill(template: str, values: Mapping[str, Any], whole: str, nested: bool) -> str:
    try:
        parts = list(Formatter().parse(template))
    except ValueError as error:
        raise InvalidFieldValueError(f"template {_short(whole)} is malformed: {error}") from error
    result: list[str] = []
    size = 0
    for text, name, specification, conversion in parts:
        result.append(text)
        if name is None:
            continue
        if nested and specification:
            raise InvalidFieldValueError(f"template {_short(whole)} nests places too deeply")
        value = _value(name, values, whole)
        if conversion:
            if conversion not in _CONVERSIONS:
                raise InvalidFieldValueError(
                    f"template {_short(whole)}: unknown conversion !{conversion} at {{{name}}}"
                )
            value = _CONVERSIONS[conversion](value)
        rule = _fill(specification, values, whole, nested=True) if specification else ""
        filled = _format(value, rule, name, whole)
        size += len(filled)
        if size > MAX_CHARACTERS:
            raise InvalidFieldValueError(
                f"template {_short(whole)} would have more than {MAX_CHARACTERS} characters with "
                "its values filled in"
            )
        result.append(filled)
    return "".join(result)


def _value(name: str, values: Mapping[str, Any], whole: str) -> Any:
    if name in values:
        return values[name]
    known = ", ".join(values) or "none"
    if not name or name.isdigit():
        raise InvalidFieldValueError(
            f"template {_short(whole)}: places need names, got {{{name}}}; names given: {known}"
        )
    if "." in name or "[" in name:
        raise InvalidFieldValueError(
            f"template {_short(whole)}: {{{name}}} asks for a part of a value; "
            "take the part out with operations"
        )
    raise InvalidFieldValueError(
        f"template {_short(whole)}: nothing is given for {{{name}}}; names given: {known}"
    )


def _format(value: Any, rule: str, name: str, whole: str) -> str:
    if not rule:
        return str(value)
    if any(int(number) > MAX_FIELD_WIDTH for number in _NUMBER.findall(rule)):
        raise InvalidFieldValueError(
            f"template {_short(whole)}: {{{name}:{rule}}} asks for more than "
            f"{MAX_FIELD_WIDTH} characters"
        )
    try:
        return format(value, rule)
    except (TypeError, ValueError) as error:
        raise InvalidFieldValueError(
            f"template {_short(whole)}: a value of type {type(value).__name__} does not take the "
            f"format {rule!r} at {{{name}}} ({error})"
        ) from error


def _short(template: str) -> str:
    return repr(template if len(template) <= 60 else template[:57] + "...")
