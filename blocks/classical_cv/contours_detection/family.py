"""Finding and drawing the outer outlines of bright regions. Knows no manifest and no version."""

from __future__ import annotations

import cv2
import numpy as np

from blocks.classical_cv.channels import to_bgr, to_gray
from blocks.parameters import whole_number
from execution_engine.errors import InvalidFieldValueError

CONTOUR_COLOR_BGR = (255, 0, 255)
FILLED = -1
MAX_LINE_THICKNESS = 255


def find_contours(pixels: np.ndarray) -> tuple[list[np.ndarray], np.ndarray]:
    """The outer outlines of the regions of pixels above 0.

    Args:
        pixels: (h, w) or (h, w, 3) uint8; colour is turned into one channel first.

    Returns:
        The outlines, each (n, 1, 2) int32 points (x, y) in px with straight runs reduced to their
        ends, and the hierarchy (1, m, 4) int32 with the indices of next, previous, first child and
        parent outline or -1.
    """
    contours, hierarchy = cv2.findContours(
        to_gray(pixels), cv2.RETR_EXTERNAL, cv2.CHAIN_APPROX_SIMPLE
    )
    if hierarchy is None:
        hierarchy = np.empty((1, 0, 4), dtype=np.int32)
    return list(contours), hierarchy


def draw_contours(
    pixels: np.ndarray, contours: list[np.ndarray], line_thickness: int
) -> np.ndarray:
    """A colour copy of an image with outlines drawn in magenta.

    Args:
        pixels: (h, w) or (h, w, 3) uint8.
        contours: (n, 1, 2) int32 points (x, y) each.
        line_thickness: px, or -1 to fill the outlines.

    Returns:
        (h, w, 3) BGR uint8.

    Raises:
        ValueError: the thickness is neither -1 nor from 1 to 255.
    """
    thickness = whole_number("line_thickness", line_thickness, FILLED, MAX_LINE_THICKNESS)
    if thickness == 0:
        raise InvalidFieldValueError(
            "Field `line_thickness` must be at least 1, or -1 to fill, got 0."
        )
    canvas = to_bgr(pixels)
    if canvas is pixels:
        canvas = pixels.copy()
    cv2.drawContours(canvas, contours, -1, CONTOUR_COLOR_BGR, thickness)
    return canvas
