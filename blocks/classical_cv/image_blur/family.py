"""The four ways of smoothing an image. Knows no manifest and no version."""

from __future__ import annotations

import cv2
import numpy as np

from blocks.parameters import check_work, choice, odd_number, whole_number

# Spread of the bilateral filter in gray levels and in px.
BILATERAL_SIGMA_COLOR = 75
BILATERAL_SIGMA_SPACE = 75
# Work grows with the window, of the bilateral filter with its square: beyond this a frame takes
# minutes.
LARGEST_WINDOW = 4095
LARGEST_BILATERAL_WINDOW = 255


def blur(pixels: np.ndarray, blur_type: str, kernel_size: int) -> np.ndarray:
    """A smoothed copy of an image.

    Args:
        pixels: (h, w, 3) or (h, w) uint8.
        blur_type: `average` (box mean), `gaussian` (sigma follows from the kernel size), `median`,
            or `bilateral` (keeps edges).
        kernel_size: side of the square window, px; odd for `gaussian` and `median`. For `bilateral`
            the diameter of the neighbourhood.

    Returns:
        An array of the input's shape and dtype.

    Raises:
        ValueError: unknown blur type, or a kernel size that it cannot work with.
    """
    smooth = choice("blur_type", blur_type, _BLURS)
    return smooth(pixels, kernel_size)


def _average(pixels: np.ndarray, kernel_size: int) -> np.ndarray:
    size = whole_number("kernel_size", kernel_size, minimum=1, maximum=LARGEST_WINDOW)
    return cv2.blur(pixels, (size, size))


def _gaussian(pixels: np.ndarray, kernel_size: int) -> np.ndarray:
    size = odd_number("kernel_size", kernel_size, "a gaussian blur", LARGEST_WINDOW)
    check_work("kernel_size", _area(pixels), 2 * size)
    return cv2.GaussianBlur(pixels, (size, size), 0)


def _median(pixels: np.ndarray, kernel_size: int) -> np.ndarray:
    size = odd_number("kernel_size", kernel_size, "a median blur", LARGEST_WINDOW)
    return cv2.medianBlur(pixels, size)


def _bilateral(pixels: np.ndarray, kernel_size: int) -> np.ndarray:
    diameter = whole_number("kernel_size", kernel_size, minimum=1, maximum=LARGEST_BILATERAL_WINDOW)
    check_work("kernel_size", _area(pixels), diameter * diameter)
    return cv2.bilateralFilter(pixels, diameter, BILATERAL_SIGMA_COLOR, BILATERAL_SIGMA_SPACE)


def _area(pixels: np.ndarray) -> int:
    return pixels.shape[0] * pixels.shape[1]


_BLURS = {"average": _average, "gaussian": _gaussian, "median": _median, "bilateral": _bilateral}
