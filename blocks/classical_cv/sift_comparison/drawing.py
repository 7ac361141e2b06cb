"""Drawing the features that two images share. Finds and matches none."""

from __future__ import annotations

from collections.abc import Sequence

import cv2
import numpy as np

from blocks.classical_cv.channels import to_bgr
from blocks.classical_cv.sift.family import KEYPOINT_COLOR_BGR


def draw_matches(
    first: np.ndarray,
    first_points: Sequence[cv2.KeyPoint],
    second: np.ndarray,
    second_points: Sequence[cv2.KeyPoint],
    matches: Sequence[cv2.DMatch],
) -> np.ndarray:
    """Two images side by side, the first left, with a line for each match.

    Args:
        first: (h, w, 3) BGR or (h, w) uint8.
        first_points: its features.
        second: the other image.
        second_points: its features.
        matches: pairs of rows of the two lists of features.

    Returns:
        (max(h), w + w, 3) BGR uint8, black below the lower image.
    """
    return cv2.drawMatches(  # type: ignore[call-overload]
        to_bgr(first),
        first_points,
        to_bgr(second),
        second_points,
        matches,
        None,
        matchColor=KEYPOINT_COLOR_BGR,
        flags=cv2.DRAW_MATCHES_FLAGS_NOT_DRAW_SINGLE_POINTS,
    )
