"""Counting the features that two images share. Knows no manifest and no version; finding features
belongs to `sift`.

Maths: ratio test of Lowe (2004).
"""

from __future__ import annotations

from typing import Any

import cv2
import numpy as np

from blocks.parameters import whole_number
from execution_engine.errors import InvalidFieldValueError

# Randomised k-d trees: their number, and the leaves looked at for each descriptor.
_KD_TREES: dict[str, bool | int | float | str] = {"algorithm": 1, "trees": 5}
_CHECKS: dict[str, bool | int | float | str] = {"checks": 50}
_SEED = 0

FLANN = "FlannBasedMatcher"
BRUTE_FORCE = "BFMatcher"
MATCHERS = {FLANN: True, BRUTE_FORCE: False}
"""Names of the ways to look for the nearest descriptors: whether it is the fast one."""


def good_matches(
    first: np.ndarray, second: np.ndarray, ratio: float, *, fast: bool
) -> list[cv2.DMatch]:
    """The features of one image that have a clear partner in another.

    A partner is clear when it is nearer than `ratio` times the second nearest. Without a second
    there is nothing to compare with and no match.

    Args:
        first: (n, d) float32 descriptors.
        second: (m, d) float32 descriptors.
        ratio: from 0, strict, to 1, everything that is not a tie.
        fast: look for neighbours with k-d trees, which may miss the nearest, instead of comparing
            all with all.

    Returns:
        At most n matches; `queryIdx` is a row of `first`, `trainIdx` one of `second`.
    """
    if len(first) == 0 or len(second) < 2:
        return []
    matcher: cv2.DescriptorMatcher
    if fast:
        # The trees are drawn by chance: the same descriptors must give the same trees.
        cv2.setRNGSeed(_SEED)
        matcher = cv2.FlannBasedMatcher(_KD_TREES, _CHECKS)
    else:
        matcher = cv2.BFMatcher()
    return [
        pair[0]
        for pair in matcher.knnMatch(first, second, k=2)
        if len(pair) == 2 and pair[0].distance < ratio * pair[1].distance
    ]


def descriptors_of(field: str, value: Any) -> np.ndarray:
    """The value of a field as (n, d) float32 descriptors.

    Raises:
        InvalidFieldValueError: the value is no table of finite numbers.
    """
    try:
        table = np.asarray(value)
        is_table = table.ndim == 2 and table.dtype.kind in "biuf"
    except ValueError:
        is_table = False
    if not is_table:
        raise InvalidFieldValueError(
            f"Field `{field}` must be descriptors, one row of numbers a feature, got "
            f"{_described(value)}."
        )
    with np.errstate(over="ignore"):
        numbers = np.ascontiguousarray(table, dtype=np.float32)
    if not np.isfinite(numbers).all():
        raise InvalidFieldValueError(
            f"Field `{field}` must be descriptors of finite 32-bit numbers, got "
            f"{table[~np.isfinite(numbers)][0]}."
        )
    return numbers


def check_same_length(
    first_field: str, first: np.ndarray, second_field: str, second: np.ndarray
) -> None:
    """Refuses descriptors of different kinds; an image without features has none of any kind.

    Raises:
        InvalidFieldValueError: rows of the two have different lengths.
    """
    if len(first) and len(second) and first.shape[1] != second.shape[1]:
        raise InvalidFieldValueError(
            f"Fields `{first_field}` and `{second_field}` must be descriptors of one length, got "
            f"{first.shape[1]} and {second.shape[1]} numbers."
        )


def matches_needed(value: Any) -> int:
    """The value of `good_matches_threshold`; raises `ValueError` naming the field."""
    return whole_number("good_matches_threshold", value, minimum=1)


def _described(value: Any) -> str:
    shape = getattr(value, "shape", None)
    return type(value).__name__ if shape is None else f"an array of shape {tuple(shape)}"
