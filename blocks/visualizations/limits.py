"""Checks of numbers that drawing works with: they may have come through references.

Limits are far beyond any picture and keep a wrong number from taking all memory or time.
"""

from __future__ import annotations

from typing import Any

from blocks.parameters import number, whole_number

MOST_PIXELS_ACROSS = 32767
"""Widest line and largest radius that OpenCV draws, px."""
LARGEST_TEXT_SCALE = 100.0
SMALLEST_TEXT_SCALE = 0.01


def pixels(field: str, value: Any, minimum: int = 0) -> int:
    """A length in px as an int; raises `ValueError` naming the field."""
    return whole_number(field, value, minimum=minimum, maximum=MOST_PIXELS_ACROSS)


def shift(field: str, value: Any) -> int:
    """A place or a way in px, which may be negative, as an int; raises `ValueError` naming the
    field.
    """
    return whole_number(field, value, minimum=-MOST_PIXELS_ACROSS, maximum=MOST_PIXELS_ACROSS)


def line_thickness(field: str, value: Any) -> int:
    """Thickness of a line, px; 0 is the thinnest there is. Raises `ValueError` naming the field."""
    return max(1, pixels(field, value))


def fraction(field: str, value: Any) -> float:
    """A number from 0 to 1 as a float; raises `ValueError` naming the field."""
    return number(field, value, minimum=0.0, maximum=1.0)


def text_scale(field: str, value: Any) -> float:
    """Size of letters relative to the font's own; raises `ValueError` naming the field."""
    return number(field, value, minimum=SMALLEST_TEXT_SCALE, maximum=LARGEST_TEXT_SCALE)
