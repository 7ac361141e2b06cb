"""Making pictures of QR codes with OpenCV. Knows no manifest and no version."""

from __future__ import annotations

from typing import Any

import cv2
import numpy as np

from blocks.parameters import choice, whole_number
from blocks.visualizations.colour_text import Bgr
from execution_engine.errors import InvalidFieldValueError
from execution_engine.value_text import short_text

MOST_CHARACTERS = 7089
"""What the largest code holds at most: digits, with the least error correction."""
MODULE_SIZE = 10
"""Side of one of the squares that a code is made of, px."""
LARGEST_BORDER = 500
"""Widest free margin, in modules: the picture of the largest code then is a hundred megapixels."""

CORRECTION_LEVELS = {
    "Low (~7% word recovery / highest data capacity)": cv2.QRCODE_ENCODER_CORRECT_LEVEL_L,
    "Medium (~15% word recovery)": cv2.QRCODE_ENCODER_CORRECT_LEVEL_M,
    "Quartile (~25% word recovery)": cv2.QRCODE_ENCODER_CORRECT_LEVEL_Q,
    "High (~30% word recovery / lowest data capacity)": cv2.QRCODE_ENCODER_CORRECT_LEVEL_H,
}


def qr_modules(text: Any, error_correct: str) -> np.ndarray:
    """The modules of the smallest QR code that holds a text: (n, n) bool, True for dark.

    Text with characters beyond ASCII is stored as UTF-8.

    Raises:
        InvalidFieldValueError: the value is no text, cannot be stored or is too long, or there is
            no such level of error correction.
    """
    parameters = cv2.QRCodeEncoder.Params()
    parameters.correction_level = choice("error_correct", error_correct, CORRECTION_LEVELS)
    content = _storable(text)
    if len(content) > MOST_CHARACTERS:
        raise _too_long(content, error_correct)
    try:
        code = cv2.QRCodeEncoder.create(parameters).encode(content)
    except cv2.error as error:
        if error.code != cv2.Error.StsBadArg:
            raise
        raise _too_long(content, error_correct) from error
    dark = code == 0
    # OpenCV adds a margin of its own; the marks in three corners reach all four edges of a code.
    rows, columns = np.flatnonzero(dark.any(axis=1)), np.flatnonzero(dark.any(axis=0))
    return dark[rows[0] : rows[-1] + 1, columns[0] : columns[-1] + 1]


def draw_modules(modules: np.ndarray, border: Any, fill: Bgr, back: Bgr) -> np.ndarray:
    """A picture of a code.

    Args:
        modules: (n, n) bool.
        border: width of the free margin, in modules.
        fill: colour of dark modules.
        back: colour of the others and the margin.

    Returns:
        (h, h, 3) BGR uint8; h is `MODULE_SIZE` times n and two borders.

    Raises:
        InvalidFieldValueError: the border is no whole number from 0 to `LARGEST_BORDER`.
    """
    margin = whole_number("border", border, minimum=0, maximum=LARGEST_BORDER)
    dark = np.pad(modules, margin)
    colours = np.array([back, fill], np.uint8)[dark.astype(np.intp)]
    return np.ascontiguousarray(colours.repeat(MODULE_SIZE, axis=0).repeat(MODULE_SIZE, axis=1))


def _too_long(content: str, error_correct: str) -> InvalidFieldValueError:
    return InvalidFieldValueError(
        f"Field `text` must fit into a QR code with error correction {error_correct}, got "
        f"{len(content.encode())} bytes; the largest holds 1273 (High) to 2953 (Low) bytes of "
        "text, more of digits alone."
    )


def _storable(text: Any) -> str:
    if not isinstance(text, str):
        raise InvalidFieldValueError(f"Field `text` must be text, got {short_text(text)}.")
    # OpenCV takes the first for the end of the text and ends the process on the others.
    for place, character in enumerate(text):
        if character == "\0" or "\ud800" <= character <= "\udfff":
            raise InvalidFieldValueError(
                f"Field `text` must hold no NUL and no half of a surrogate pair, got "
                f"{character!r} at place {place}."
            )
    return text
