"""What comparators and unary operators do with plain values.

Their names and kinds are in `operators_catalogue`.
"""

from __future__ import annotations

import operator
from collections.abc import Callable, Mapping
from typing import Any, Final

import numpy as np

from execution_engine.kinds.codec import CodecRegistry
from execution_engine.query_language.geometry import as_point, as_polygon, points_in_polygon
from execution_engine.query_language.site import find_detections_codec

Comparator = Callable[[Any, Any], Any]
UnaryOperator = Callable[[Any], Any]


def in_range(value: Any, limits: Any) -> bool:
    """Whether a number lies in `[minimum, maximum]`, both ends included."""
    least, greatest = limits
    return bool(least <= value <= greatest)


def starts_with(text: str, start: str) -> bool:
    """Whether the text begins with `start`."""
    return text.startswith(start)


def ends_with(text: str, end: str) -> bool:
    """Whether the text ends with `end`."""
    return text.endswith(end)


def contains(text: Any, part: Any) -> bool:
    """Whether `part` is in the text."""
    return part in text


def is_in(value: Any, sequence: Any) -> bool:
    """Whether the value is an element of the sequence."""
    return value in sequence


def any_in(values: Any, sequence: Any) -> bool:
    """Whether at least one of the values is an element of the sequence."""
    return any(value in sequence for value in values)


def all_in(values: Any, sequence: Any) -> bool:
    """Whether every one of the values is an element of the sequence."""
    return all(value in sequence for value in values)


def in_zone(point: Any, zone: Any) -> bool:
    """Whether a point `[x, y]` lies strictly inside a polygon `[[x, y], ...]`, px."""
    return bool(points_in_polygon(as_point(point), as_polygon(zone))[0])


COMPARATORS: Final[Mapping[str, Comparator]] = {
    "==": operator.eq,
    "(Number) ==": operator.eq,
    "!=": operator.ne,
    "(Number) !=": operator.ne,
    "(Number) >": operator.gt,
    "(Number) >=": operator.ge,
    "(Number) <": operator.lt,
    "(Number) <=": operator.le,
    "(Number) in range": in_range,
    "(String) startsWith": starts_with,
    "(String) endsWith": ends_with,
    "(String) contains": contains,
    "in (Sequence)": is_in,
    "any in (Sequence)": any_in,
    "all in (Sequence)": all_in,
    "(Detection) in zone": in_zone,
}


def exists(value: Any) -> bool:
    """Whether there is a value."""
    return value is not None


def does_not_exist(value: Any) -> bool:
    """Whether there is no value."""
    return value is None


def is_true(value: Any) -> bool:
    """Whether the value is the boolean true; 1 and "true" are not."""
    return isinstance(value, (bool, np.bool_)) and bool(value)


def is_false(value: Any) -> bool:
    """Whether the value is the boolean false; 0 and None are not."""
    return isinstance(value, (bool, np.bool_)) and not value


def sequence_length(value: Any, codecs: CodecRegistry) -> int:
    """Number of detections, elements, entries or characters; `TypeError` for what has none."""
    codec = find_detections_codec(value, codecs)
    return len(value) if codec is None else codec.length(value)


def unary_operator(name: str, codecs: CodecRegistry) -> UnaryOperator | None:
    """What a unary operator does, None when the language does not have it."""
    if name == "(Sequence) is empty":
        return lambda value: sequence_length(value, codecs) == 0
    if name == "(Sequence) is not empty":
        return lambda value: sequence_length(value, codecs) > 0
    return _UNARY_OPERATORS.get(name)


_UNARY_OPERATORS: Final[Mapping[str, UnaryOperator]] = {
    "Exists": exists,
    "DoesNotExist": does_not_exist,
    "(Boolean) is True": is_true,
    "(Boolean) is False": is_false,
}
