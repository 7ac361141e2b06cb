"""Texts of values for messages. Nothing here may import another module of this package."""

from __future__ import annotations

from typing import Any

_LONGEST = 60
# Whole numbers with more bits are described: the text of 20,000 bits takes long or is refused.
_MOST_BITS = 200
_DIGITS_OF_A_BIT = 0.30103


def short_text(value: Any) -> str:
    """The value as Python writes it, cut after 60 characters; a whole number of more than 60
    digits by how many it has.
    """
    if isinstance(value, int) and value.bit_length() > _MOST_BITS:
        digits = int(value.bit_length() * _DIGITS_OF_A_BIT) + 1
        sign = "a negative" if value < 0 else "a"
        return f"{sign} whole number of about {digits} digits"
    try:
        text = repr(value)
    except ValueError:  # holds a number that is not written
        return f"{type(value).__name__} with a number of thousands of digits"
    return text if len(text) <= _LONGEST else f"{text[: _LONGEST - 3]}..."
