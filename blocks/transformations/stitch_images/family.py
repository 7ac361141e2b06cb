"""Joining two overlapping views of one plane. Knows no manifest and no version.

Maths: SIFT features, ratio test of Lowe (2004), homography by RANSAC.
"""

from __future__ import annotations

from collections.abc import Sequence

import cv2
import numpy as np

from blocks.classical_cv.channels import to_bgr
from blocks.classical_cv.sift.family import detect_features
from blocks.parameters import number, whole_number
from execution_engine.errors import InvalidFieldValueError

DEFAULT_REPROJECTION_ERROR = 3.0
DEFAULT_MATCHES_A_FEATURE = 2
# A match counts when it is clearly nearer than the second best.
RATIO = 0.75
POINTS_OF_A_HOMOGRAPHY = 4
# Matching takes the product of both numbers of features: two detailed 4K pictures have hundreds of
# thousands, and the strongest ones fix the homography as well.
MOST_FEATURES = 10_000
# A panorama many times larger than its parts comes from a wrong homography.
LARGEST_GROWTH = 10


def stitch(
    first: np.ndarray,
    second: np.ndarray,
    max_allowed_reprojection_error: float | None,
    count_of_best_matches_per_query_descriptor: int | None,
) -> np.ndarray | None:
    """One picture of two overlapping ones, or None where they do not fit together.

    The picture whose features lie further left is warped into the plane of the other, which is laid
    over it. Places that neither shows are black.

    Args:
        first: (h, w, 3) BGR or (h, w) uint8.
        second: the same.
        max_allowed_reprojection_error: distance in px up to which a pair of features supports the
            homography; None for 3.
        count_of_best_matches_per_query_descriptor: candidates looked at for each feature of
            `first`; with 1 the best is taken untested, with 2 (None) or more it must be clearly
            nearer than the second best.

    Returns:
        (h, w, 3) BGR uint8, (h, w) where both inputs have one channel, or None.

    Raises:
        ValueError: a parameter is no positive number.
    """
    error = number(
        "max_allowed_reprojection_error",
        DEFAULT_REPROJECTION_ERROR
        if max_allowed_reprojection_error is None
        else max_allowed_reprojection_error,
    )
    if error <= 0:
        raise InvalidFieldValueError(
            f"Field `max_allowed_reprojection_error` must be a number above 0, got {error!r}."
        )
    candidates = whole_number(
        "count_of_best_matches_per_query_descriptor",
        DEFAULT_MATCHES_A_FEATURE
        if count_of_best_matches_per_query_descriptor is None
        else count_of_best_matches_per_query_descriptor,
        minimum=1,
    )
    if first.ndim != second.ndim:
        first, second = to_bgr(first), to_bgr(second)
    first_points, first_descriptors = _strongest(*detect_features(first))
    second_points, second_descriptors = _strongest(*detect_features(second))
    pairs = _match(first_descriptors, second_descriptors, candidates)
    if len(pairs) < POINTS_OF_A_HOMOGRAPHY:
        return None
    first_places = np.array([point.pt for point in first_points], dtype=np.float32)
    second_places = np.array([point.pt for point in second_points], dtype=np.float32)
    fixed, moving = first, second
    fixed_places, moving_places = first_places[pairs[:, 0]], second_places[pairs[:, 1]]
    if first_places[:, 0].mean() < second_places[:, 0].mean():
        fixed, moving = second, first
        fixed_places, moving_places = moving_places, fixed_places
    homography, _ = cv2.findHomography(moving_places, fixed_places, cv2.RANSAC, error)
    return None if homography is None else _join(fixed, moving, homography)


def _strongest(
    points: Sequence[cv2.KeyPoint], descriptors: np.ndarray
) -> tuple[Sequence[cv2.KeyPoint], np.ndarray]:
    """The features of the strongest response, in their order."""
    if len(points) <= MOST_FEATURES:
        return points, descriptors
    responses = np.array([point.response for point in points])
    kept = np.sort(np.argsort(-responses, kind="stable")[:MOST_FEATURES])
    return [points[index] for index in kept], descriptors[kept]


def _match(query: np.ndarray, train: np.ndarray, candidates: int) -> np.ndarray:
    """Pairs of indices (n, 2) of descriptors that belong together."""
    if len(query) == 0 or len(train) == 0:
        return np.empty((0, 2), dtype=int)
    # Further candidates would not be looked at.
    found = cv2.BFMatcher().knnMatch(query, train, k=min(candidates, 2, len(train)))
    if candidates == 1:
        kept = [best[0] for best in found]
    else:
        kept = [
            best[0]
            for best in found
            if len(best) > 1 and best[0].distance < RATIO * best[1].distance
        ]
    return np.array([(match.queryIdx, match.trainIdx) for match in kept], dtype=int).reshape(-1, 2)


def _join(fixed: np.ndarray, moving: np.ndarray, homography: np.ndarray) -> np.ndarray | None:
    height, width = moving.shape[:2]
    corners = np.array([[0, 0], [0, height], [width, height], [width, 0]], dtype=np.float64)
    depth = corners @ homography[2, :2] + homography[2, 2]
    # A corner at or behind the horizon has no place in the plane of the other picture.
    if not (depth > 0).all():
        return None
    moved = (corners @ homography[:2, :2].T + homography[:2, 2]) / depth[:, None]
    outline = np.concatenate([moved, [(0, 0), (fixed.shape[1], fixed.shape[0])]])
    left, top = np.rint(outline.min(axis=0))
    right, bottom = np.rint(outline.max(axis=0))
    areas = fixed.shape[0] * fixed.shape[1] + height * width
    if (right - left) * (bottom - top) > LARGEST_GROWTH * areas:
        return None
    shift = np.array([[1, 0, -left], [0, 1, -top], [0, 0, 1]])
    size_wh = (int(right - left), int(bottom - top))
    panorama = cv2.warpPerspective(moving, shift @ homography, size_wh)
    x, y = int(-left), int(-top)
    panorama[y : y + fixed.shape[0], x : x + fixed.shape[1]] = fixed
    return panorama
