"""Checks of field values that no schema has seen, because they came through references. Knows no
block; limits that only one family has stay in that family.
"""

from __future__ import annotations

import sys
from collections.abc import Iterable, Mapping
from numbers import Integral, Real
from typing import Any, TypeVar

from execution_engine.errors import InvalidFieldValueError
from execution_engine.value_text import short_text

T = TypeVar("T")

MOST_READS = 10**10
"""Neighbours that a filter reads for all pixels of an image together: tens of seconds of work."""

MOST_PIXELS_ACROSS = 32767
"""Longest side of a picture that OpenCV resizes and warps to, px."""
MOST_PIXELS = 178_956_970
"""Largest area of a new picture, px: as much as decoded pictures may have."""

FARTHEST_PLACE = 2**53
"""Largest place or length outside of pictures, px: beyond it floats leave whole numbers out."""

LARGEST_NUMBER = sys.float_info.max
"""As a limit of `number`, it keeps infinity out."""


def whole_number(
    field: str, value: Any, minimum: int | None = None, maximum: int | None = None
) -> int:
    """The value of a field as an int.

    Raises:
        InvalidFieldValueError: the value is not a whole number or lies outside the limits; the
        text names the
        field.
    """
    is_whole = isinstance(value, Integral) or (
        isinstance(value, Real) and float(value).is_integer()
    )
    if not is_whole or _outside(value, minimum, maximum):
        raise InvalidFieldValueError(
            f"Field `{field}` must be a whole number{_limits(minimum, maximum)}, got "
            f"{short_text(value)}."
        )
    return int(value)


def number(
    field: str, value: Any, minimum: float | None = None, maximum: float | None = None
) -> float:
    """The value of a field as a float.

    Raises:
        InvalidFieldValueError: the value is not a number or lies outside the limits; the text
        names the field.
    """
    if not isinstance(value, Real) or value != value or _outside(value, minimum, maximum):
        raise InvalidFieldValueError(
            f"Field `{field}` must be a number{_limits(minimum, maximum)}, got {short_text(value)}."
        )
    try:
        return float(value)
    except OverflowError as error:
        raise InvalidFieldValueError(
            f"Field `{field}` must be a number of at most {LARGEST_NUMBER:.2g} in size, got "
            f"{short_text(value)}."
        ) from error


def positive_number(field: str, value: Any, maximum: float | None = None) -> float:
    """The value of a field as a float of more than 0.

    Raises:
        InvalidFieldValueError: the value is not a number, not positive or above the maximum; the
            text names the field.
    """
    result = number(field, value, None, maximum)
    if result <= 0:
        raise InvalidFieldValueError(
            f"Field `{field}` must be a number of more than 0, got {short_text(value)}."
        )
    return result


def picture_size(
    width_field: str, width: Any, height_field: str, height: Any, minimum: int = 1
) -> tuple[int, int]:
    """(width, height) of a picture to be made, px.

    Raises:
        InvalidFieldValueError: a side is no whole number, or a picture of this size would take
            all memory; the
            text names the field.
    """
    size_wh = (
        whole_number(width_field, width, minimum, MOST_PIXELS_ACROSS),
        whole_number(height_field, height, minimum, MOST_PIXELS_ACROSS),
    )
    if size_wh[0] * size_wh[1] > MOST_PIXELS:
        raise InvalidFieldValueError(
            f"Fields `{width_field}` and `{height_field}` ask for {size_wh[0]} x {size_wh[1]} px; "
            f"a picture may have {MOST_PIXELS} px."
        )
    return size_wh


def check_work(field: str, pixels: int, reads: int) -> None:
    """Refuses a filter that would take minutes on one image, during which nothing can stop it.

    Args:
        field: name of the field that decides.
        pixels: pixels of the image.
        reads: neighbours the filter reads for each of them.

    Raises:
        InvalidFieldValueError: there are too many; the text names the field.
    """
    if pixels * reads > MOST_READS:
        raise InvalidFieldValueError(
            f"Field `{field}` asks for a filter that reads {reads} neighbours of each of {pixels} "
            f"px; at most {MOST_READS} reads are made. Take a smaller value or a smaller image."
        )


def odd_number(field: str, value: Any, purpose: str, maximum: int | None = None) -> int:
    """The value of a field as an odd int of at least 1.

    Args:
        field: name of the field.
        value: what the field holds.
        purpose: what needs the odd number, for the message.
        maximum: largest number that is taken.

    Raises:
        InvalidFieldValueError: the value is not an odd whole number from 1 to the maximum.
    """
    result = whole_number(field, value, minimum=1, maximum=maximum)
    if result % 2 == 0:
        raise InvalidFieldValueError(
            f"Field `{field}` must be odd for {purpose}, got {result}; try {result - 1} or "
            f"{result + 1}."
        )
    return result


def choice(field: str, value: Any, options: Mapping[str, T]) -> T:
    """What an option of a field stands for.

    Raises:
        InvalidFieldValueError: the value is none of the options; the text names the field and
        lists them.
    """
    if not isinstance(value, str) or value not in options:
        raise InvalidFieldValueError(
            f"Field `{field}` must be one of {_listed(options)}, got {short_text(value)}."
        )
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
