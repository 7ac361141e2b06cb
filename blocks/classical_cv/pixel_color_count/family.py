"""Counting the pixels near a colour, and reading that colour. Knows no manifest and no version."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import cv2
import numpy as np

from blocks.classical_cv.channels import to_bgr
from blocks.parameters import whole_number
from execution_engine.errors import InvalidFieldValueError

NAMED_COLORS_RGB = {
    "black": (0, 0, 0),
    "white": (255, 255, 255),
    "gray": (128, 128, 128),
    "grey": (128, 128, 128),
    "red": (255, 0, 0),
    "green": (0, 255, 0),
    "blue": (0, 0, 255),
    "yellow": (255, 255, 0),
    "cyan": (0, 255, 255),
    "magenta": (255, 0, 255),
}


def count_color(pixels: np.ndarray, target_color: Any, tolerance: int) -> int:
    """How many pixels differ from a colour by at most the tolerance in every channel.

    Args:
        pixels: (h, w, 3) BGR or (h, w) uint8; a gray pixel counts as that gray in all channels.
        target_color: see `read_color`.
        tolerance: largest difference a channel may have, gray levels.

    Raises:
        ValueError: the colour cannot be read, or the tolerance is negative.
    """
    # Any larger tolerance takes every colour, too.
    margin = min(whole_number("tolerance", tolerance, minimum=0), 255)
    red, green, blue = read_color(target_color)
    centre = np.array([blue, green, red])
    low, high = np.clip(centre - margin, 0, 255), np.clip(centre + margin, 0, 255)
    return cv2.countNonZero(cv2.inRange(to_bgr(pixels), low, high))


def read_color(color: Any) -> tuple[int, int, int]:
    """(red, green, blue) of a colour given as text or as three numbers.

    Args:
        color: `#rrggbb`, `#rgb`, `(r, g, b)`, `rgb(r, g, b)`, `bgr(b, g, r)`, a common name, or a
            sequence of the three whole numbers red, green, blue.

    Raises:
        ValueError: none of these, or a channel outside 0..255.
    """
    channels: Sequence[Any] | None
    if isinstance(color, str):
        channels = _parse(color.strip().lower())
    elif isinstance(color, (list, tuple, np.ndarray)):
        channels = list(color)
    else:
        channels = None
    if channels is None or len(channels) != 3:
        raise InvalidFieldValueError(
            "Field `target_color` must be `#rrggbb`, `#rgb`, `(r, g, b)`, `rgb(r, g, b)`, "
            f"`bgr(b, g, r)`, one of {', '.join(sorted(NAMED_COLORS_RGB))}, or three numbers, got "
            f"{color!r}."
        )
    red, green, blue = (whole_number("target_color", channel, 0, 255) for channel in channels)
    return red, green, blue


def _parse(text: str) -> Sequence[int] | None:
    if text in NAMED_COLORS_RGB:
        return NAMED_COLORS_RGB[text]
    try:
        if text.startswith("#") and len(text) in (4, 7):
            digits = text[1:] if len(text) == 7 else "".join(digit * 2 for digit in text[1:])
            return [int(digits[start : start + 2], 16) for start in (0, 2, 4)]
        order, bracket, rest = text.partition("(")
        if bracket and rest.endswith(")") and order in ("", "rgb", "bgr"):
            channels = [int(part) for part in rest[:-1].split(",")]
            return channels[::-1] if order == "bgr" else channels
    except ValueError:
        return None
    return None
