"""How far the straight edges of an image are turned. Turns nothing itself and knows no manifest.

Maths: a histogram of the directions of gradients, weighted by their strength; the mean direction
around its peak is that of angles times the number of directions that count as one.
"""

from __future__ import annotations

import cv2
import numpy as np
from numpy.typing import NDArray

from blocks.classical_cv.channels import to_gray
from blocks.parameters import MOST_PIXELS_ACROSS, choice, whole_number

FEWEST_PIXELS_ACROSS = 32
"""Smallest `internal_resolution`, px."""
FLAT = 2.0
"""Standard deviation of the levels below which an image has no edges to speak of."""
CLEAR_PEAK = 3.0
"""How many times as much as the mean direction the peak must have to count."""
_BINS_A_DEGREE = 2
_AROUND_PEAK = 3.0
_SMALLEST_SIDE = 3
# (directions that count as one, in degrees; direction of the gradient that is wanted)
_TARGETS = {"vertical": (180, 0.0), "horizontal": (180, 90.0), "either": (90, 0.0)}


def correction(pixels: np.ndarray, target_orientation: str, internal_resolution: int) -> float:
    """Degrees to turn the image counter-clockwise by, so that its edges lie as they should.

    0 where the image is flat or no direction stands out.

    Args:
        pixels: (h, w, 3) BGR or (h, w) uint8.
        target_orientation: `vertical` or `horizontal`: the angle lies in (-90, 90]; `either` of
            the two, whichever is nearer: it lies in (-45, 45].
        internal_resolution: longest side that the image is looked at with, px.

    Raises:
        InvalidFieldValueError: unknown orientation, or a resolution out of range.
    """
    period, wanted = choice("target_orientation", target_orientation, _TARGETS)
    longest = whole_number(
        "internal_resolution", internal_resolution, FEWEST_PIXELS_ACROSS, MOST_PIXELS_ACROSS
    )
    gray = _within(to_gray(pixels), longest)
    if min(gray.shape) < _SMALLEST_SIDE or float(gray.std()) < FLAT:
        return 0.0
    directions, weights = _gradients(gray)
    dominant = _dominant(directions % period, weights, period)
    if dominant is None:
        return 0.0
    angle = (dominant - wanted) % period
    return angle - period if angle > period / 2 else angle


def _within(gray: NDArray[np.uint8], longest: int) -> NDArray[np.uint8]:
    scale = longest / max(gray.shape)
    if scale >= 1:
        return gray
    size_wh = (max(1, round(gray.shape[1] * scale)), max(1, round(gray.shape[0] * scale)))
    return np.asarray(cv2.resize(gray, size_wh, interpolation=cv2.INTER_AREA), np.uint8)


def _gradients(gray: NDArray[np.uint8]) -> tuple[NDArray[np.float32], NDArray[np.float32]]:
    """Direction in degrees, clockwise from the x axis on the screen, and strength of each pixel."""
    contrast = cv2.createCLAHE(clipLimit=2.0, tileGridSize=(8, 8)).apply(gray)
    # Floats first: whole levels would give faint slopes few directions, mostly those of the axes.
    smooth = cv2.GaussianBlur(contrast.astype(np.float32), (5, 5), 0)
    # The kernel of Scharr is true to directions within tenths of a degree, that of Sobel is not.
    across = cv2.Scharr(smooth, cv2.CV_32F, 1, 0)
    down = cv2.Scharr(smooth, cv2.CV_32F, 0, 1)
    polar = cv2.cartToPolar(across, down, angleInDegrees=True)
    strength, direction = (np.asarray(part, np.float32) for part in polar)
    # Noise has weak gradients in all directions, many times as many as edges have strong ones.
    strength[strength < strength.mean()] = 0
    return direction, strength


def _dominant(
    directions: NDArray[np.float32], weights: NDArray[np.float32], period: int
) -> float | None:
    """The direction that stands out, 0 <= degrees < period; None when none does."""
    count = period * _BINS_A_DEGREE
    bins = np.minimum((directions * _BINS_A_DEGREE).astype(np.int32), count - 1)
    histogram = np.bincount(bins.ravel(), weights.ravel(), count)
    smooth = (np.roll(histogram, 1) + histogram + np.roll(histogram, -1)) / 3
    if smooth.max() < CLEAR_PEAK * smooth.mean() or smooth.max() == 0:
        return None
    peak = (int(smooth.argmax()) + 0.5) / _BINS_A_DEGREE
    away = (directions - peak + period / 2) % period - period / 2
    near = np.abs(away) <= _AROUND_PEAK
    turns = np.deg2rad(directions[near].astype(np.float64) * (360 / period))
    mean = np.arctan2(weights[near] @ np.sin(turns), weights[near] @ np.cos(turns))
    return float(np.rad2deg(mean) * period / 360) % period
