"""Feature points by SIFT (Lowe 2004). Knows no manifest and no version; matching belongs to other
families.
"""

from __future__ import annotations

from typing import Any

import cv2
import numpy as np

from blocks.classical_cv.channels import to_bgr, to_gray

DESCRIPTOR_LENGTH = 128
KEYPOINT_COLOR_BGR = (0, 255, 0)


def detect_features(pixels: np.ndarray) -> tuple[list[cv2.KeyPoint], np.ndarray]:
    """The feature points of an image and their descriptors.

    Args:
        pixels: (h, w, 3) BGR or (h, w) uint8.

    Returns:
        n points, and their descriptors (n, 128) float32; (0, 128) when there are none.
    """
    points, descriptors = cv2.SIFT.create().detectAndCompute(to_gray(pixels), None)
    if descriptors is None:
        descriptors = np.empty((0, DESCRIPTOR_LENGTH), dtype=np.float32)
    return list(points), descriptors


def draw_features(pixels: np.ndarray, points: list[cv2.KeyPoint]) -> np.ndarray:
    """The image in gray with its feature points circled: (h, w, 3) BGR uint8."""
    canvas = to_bgr(to_gray(pixels))
    return cv2.drawKeypoints(canvas, points, None, color=KEYPOINT_COLOR_BGR)  # type: ignore[call-overload]


def describe_feature(point: cv2.KeyPoint) -> dict[str, Any]:
    """A feature point as plain data; place (x, y) and size in px, angle in degrees."""
    return {
        "pt": (point.pt[0], point.pt[1]),
        "size": point.size,
        "angle": point.angle,
        "response": point.response,
        "octave": point.octave,
        "class_id": point.class_id,
    }
