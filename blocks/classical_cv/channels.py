"""Gray or colour: gives a block the number of channels it needs. No filtering belongs here."""

from __future__ import annotations

import cv2
import numpy as np

from execution_engine.errors import InvalidFieldValueError


def to_gray(pixels: np.ndarray) -> np.ndarray:
    """The image as one channel.

    Args:
        pixels: (h, w), (h, w, 1), (h, w, 3) BGR or (h, w, 4) BGRA, uint8.

    Returns:
        (h, w) uint8; a view of the input where that already has one channel. Weights are those of
        ITU-R BT.601.

    Raises:
        ValueError: the array is no image of 1, 3 or 4 channels, or has no pixels.
    """
    channels = _count_channels(pixels)
    if channels == 1:
        return pixels if pixels.ndim == 2 else pixels[:, :, 0]
    return cv2.cvtColor(pixels, cv2.COLOR_BGR2GRAY if channels == 3 else cv2.COLOR_BGRA2GRAY)


def to_bgr(pixels: np.ndarray) -> np.ndarray:
    """The image as three channels.

    Args:
        pixels: (h, w), (h, w, 1), (h, w, 3) BGR or (h, w, 4) BGRA, uint8.

    Returns:
        (h, w, 3) BGR uint8; the input itself where that already has three channels.

    Raises:
        ValueError: the array is no image of 1, 3 or 4 channels, or has no pixels.
    """
    channels = _count_channels(pixels)
    if channels == 3:
        return pixels
    if channels == 4:
        return cv2.cvtColor(pixels, cv2.COLOR_BGRA2BGR)
    return cv2.cvtColor(to_gray(pixels), cv2.COLOR_GRAY2BGR)


def _count_channels(pixels: np.ndarray) -> int:
    channels = 1 if pixels.ndim == 2 else pixels.shape[2] if pixels.ndim == 3 else 0
    if channels not in (1, 3, 4) or pixels.size == 0:
        raise InvalidFieldValueError(
            "An image of shape (h, w) or (h, w, 3) with at least one pixel is needed, got shape "
            f"{pixels.shape}."
        )
    return channels
