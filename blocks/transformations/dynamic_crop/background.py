"""The colour behind masked crops, as workflows write it."""

from __future__ import annotations

import re
from collections.abc import Sequence
from numbers import Real

from blocks.visualizations.colour_text import parse_colour
from execution_engine.errors import InvalidFieldValueError
from execution_engine.value_text import short_text

_TUPLE = re.compile(r"\(?\s*(\d{1,3})\s*,\s*(\d{1,3})\s*,\s*(\d{1,3})\s*\)?")


def background_bgr(colour: str | Sequence[float]) -> tuple[int, int, int]:
    """(blue, green, red), 0 to 255 each.

    Args:
        colour: (red, green, blue) as numbers or as text such as `(255, 0, 0)`, or any text that
            `parse_colour` takes: `#rgb`, `#rrggbb`, `rgb(r, g, b)`, a name.

    Raises:
        ValueError: the colour is none of these.
    """
    channels: Sequence[float]
    if isinstance(colour, str):
        match = _TUPLE.fullmatch(colour.strip())
        if match is None:
            return parse_colour(colour)
        channels = [int(channel) for channel in match.groups()]
    else:
        channels = list(colour)
    fits = len(channels) == 3 and all(
        isinstance(channel, Real) and 0 <= channel <= 255 for channel in channels
    )
    if not fits:
        raise InvalidFieldValueError(
            "`background_color` must be red, green and blue from 0 to 255, got "
            f"{short_text(colour)}"
        )
    red, green, blue = (int(channel) for channel in channels)
    return blue, green, red
