"""Colours written as text, for blocks that draw with OpenCV alone."""

from __future__ import annotations

import re
from typing import Any

from execution_engine.errors import InvalidFieldValueError

Bgr = tuple[int, int, int]

NAMED_COLOURS: dict[str, Bgr] = {
    "WHITE": (255, 255, 255),
    "BLACK": (0, 0, 0),
    "GREY": (128, 128, 128),
    "GRAY": (128, 128, 128),
    "RED": (0, 0, 255),
    "GREEN": (0, 255, 0),
    "BLUE": (255, 0, 0),
    "YELLOW": (0, 255, 255),
    "ROBOFLOW": (251, 81, 163),
}
# The transparency that a fourth pair of digits gives is not used: opacity is a field of its own.
_HEX = re.compile(r"#(?:([0-9a-f]{6})(?:[0-9a-f]{2})?|([0-9a-f]{3})[0-9a-f]?)", re.IGNORECASE)
_CHANNELS = re.compile(r"(rgb|bgr)\(\s*(\d+)\s*,\s*(\d+)\s*,\s*(\d+)\s*\)", re.IGNORECASE)


def parse_colour(text: str) -> Bgr:
    """(blue, green, red), 0 to 255 each, of a colour given as text.

    Args:
        text: `#rrggbb`, `#rgb` (digits of transparency may follow and are not used),
            `rgb(r, g, b)`, `bgr(b, g, r)` or a name of `NAMED_COLOURS`.

    Raises:
        ValueError: the text is none of these.
    """
    stripped = text.strip()
    named = NAMED_COLOURS.get(stripped.upper())
    if named is not None:
        return named
    digits = _HEX.fullmatch(stripped)
    if digits is not None:
        code = digits.group(1) or digits.group(2)
        if len(code) == 3:
            code = "".join(digit * 2 for digit in code)
        red, green, blue = (int(code[i : i + 2], 16) for i in (0, 2, 4))
        return blue, green, red
    channels = _CHANNELS.fullmatch(stripped)
    if channels is not None:
        first, second, third = (int(channels.group(i)) for i in (2, 3, 4))
        if max(first, second, third) <= 255:
            return (
                (first, second, third)
                if channels.group(1).lower() == "bgr"
                else (third, second, first)
            )
    raise InvalidFieldValueError(
        f"{text!r} is no colour; expected #rrggbb, rgb(r, g, b), bgr(b, g, r) with values up to "
        f"255, or one of {', '.join(NAMED_COLOURS)}"
    )


def colour_of(field: str, value: Any) -> Bgr:
    """`parse_colour` of the value of a field.

    Raises:
        ValueError: the value is no text or no colour; the text names the field.
    """
    if not isinstance(value, str):
        raise InvalidFieldValueError(f"Field `{field}` must be a colour as text, got {value!r}.")
    try:
        return parse_colour(value)
    except ValueError as error:
        raise InvalidFieldValueError(f"Field `{field}`: {error}.") from None
