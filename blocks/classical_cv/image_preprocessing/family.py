"""Resizing, rotating and flipping of images. Knows no manifest and no version."""

from __future__ import annotations

import cv2
import numpy as np

from blocks.parameters import MOST_PIXELS_ACROSS, choice, picture_size, whole_number
from execution_engine.errors import InvalidFieldValueError

# Sizes that are whole up to rounding noise of sine and cosine must not lose a pixel.
_SIZE_SLACK = 1e-6
_FLIP_CODES = {"vertical": 0, "horizontal": 1, "both": -1}


def resize(pixels: np.ndarray, width: int, height: int) -> np.ndarray:
    """The image at another size; each new pixel is the mean of the area it covers where the image
    shrinks.

    Args:
        pixels: (h, w, 3) or (h, w) uint8.
        width: new width, px.
        height: new height, px.

    Raises:
        ValueError: a size below 1, or one that would take all memory.
    """
    size_wh = picture_size("width", width, "height", height)
    return cv2.resize(pixels, size_wh, interpolation=cv2.INTER_AREA)


def rotate(pixels: np.ndarray, rotation_degrees: int) -> np.ndarray:
    """The image turned counter-clockwise about its centre on a canvas that holds all of it; new
    corners are black.

    Args:
        pixels: (h, w, 3) or (h, w) uint8.
        rotation_degrees: angle in degrees; 0 gives back the input.

    Raises:
        ValueError: the angle is no whole number.
    """
    degrees = whole_number("rotation_degrees", rotation_degrees)
    if degrees == 0:
        return pixels
    return turned(pixels, degrees % 360)


def turned(pixels: np.ndarray, degrees: float) -> np.ndarray:
    """The image turned counter-clockwise about its centre on a canvas that holds all of it; new
    corners are black.

    Args:
        pixels: (h, w, 3) or (h, w) uint8.
        degrees: angle in degrees.

    Raises:
        InvalidFieldValueError: OpenCV cannot hold the canvas.
    """
    height, width = pixels.shape[:2]
    centre_x, centre_y = width // 2, height // 2
    matrix = cv2.getRotationMatrix2D((centre_x, centre_y), degrees, 1.0)
    cosine, sine = abs(matrix[0, 0]), abs(matrix[0, 1])
    new_width = int(height * sine + width * cosine + _SIZE_SLACK)
    new_height = int(height * cosine + width * sine + _SIZE_SLACK)
    if max(new_width, new_height) > MOST_PIXELS_ACROSS:
        raise InvalidFieldValueError(
            f"Field `image` must be an image whose turned canvas has at most {MOST_PIXELS_ACROSS} "
            f"px a side, got {new_width} x {new_height} px."
        )
    matrix[0, 2] += new_width / 2 - centre_x
    matrix[1, 2] += new_height / 2 - centre_y
    return cv2.warpAffine(pixels, matrix, (new_width, new_height))


def flip(pixels: np.ndarray, flip_type: str) -> np.ndarray:
    """The image turned over.

    Args:
        pixels: (h, w, 3) or (h, w) uint8.
        flip_type: `vertical` (top and bottom change places), `horizontal` (left and right) or
            `both`.

    Raises:
        ValueError: unknown flip type.
    """
    return cv2.flip(pixels, choice("flip_type", flip_type, _FLIP_CODES))
