"""Finding copies of a small image in a large one. Knows no manifest and no version.

Maths: zero-mean normalised cross-correlation, and greedy non-maximum suppression of boxes of one
size.
"""

from __future__ import annotations

import cv2
import numpy as np

from blocks.classical_cv.channels import to_gray
from blocks.parameters import number
from execution_engine.errors import InvalidFieldValueError

SCORE_DIGITS = 5


def match_template(
    pixels: np.ndarray,
    template: np.ndarray,
    matching_threshold: float,
    apply_nms: bool,
    nms_threshold: float,
) -> tuple[np.ndarray, np.ndarray]:
    """The places where a template fits an image, best first.

    Both are compared in gray. A template larger than the image fits nowhere.

    Args:
        pixels: (h, w, 3) BGR or (h, w) uint8.
        template: the same for the image to look for.
        matching_threshold: least correlation of a match, -1..1.
        apply_nms: whether of overlapping matches only the best stays.
        nms_threshold: a match is dropped when its IoU with a better one is above this, 0..1.

    Returns:
        Boxes (n, 4) float32 xyxy px and correlations (n,) float32; equal correlations in reading
        order.

    Raises:
        ValueError: a threshold is no number or outside its range, or the template has one single
        gray level, with
            which nothing correlates.
    """
    least = number("matching_threshold", matching_threshold)
    largest_overlap = number("nms_threshold", nms_threshold, 0, 1)
    gray, wanted = to_gray(pixels), to_gray(template)
    if wanted.min() == wanted.max():
        raise InvalidFieldValueError(
            "Field `template` must hold an image with some contrast, got "
            f"{wanted.shape[1]}x{wanted.shape[0]} px of the single gray level {int(wanted.min())}."
        )
    height, width = wanted.shape
    if height > gray.shape[0] or width > gray.shape[1]:
        return np.empty((0, 4), np.float32), np.empty(0, np.float32)
    # Digits beyond these are rounding noise, which must not break ties or fail an exact copy.
    scores = np.round(cv2.matchTemplate(gray, wanted, cv2.TM_CCOEFF_NORMED), SCORE_DIGITS)
    rows, columns = np.nonzero(scores >= least)
    best_first = np.argsort(-scores[rows, columns], kind="stable")
    rows, columns = rows[best_first], columns[best_first]
    if apply_nms:
        kept = _suppress_overlaps(rows, columns, scores.shape, (height, width), largest_overlap)
        rows, columns = rows[kept], columns[kept]
    boxes = np.stack([columns, rows, columns + width, rows + height], axis=1).astype(np.float32)
    return boxes, np.clip(scores[rows, columns], -1, 1)


def _suppress_overlaps(
    rows: np.ndarray,
    columns: np.ndarray,
    grid: tuple[int, ...],
    box_hw: tuple[int, int],
    largest_overlap: float,
) -> np.ndarray:
    """Positions of the places (best first) that overlap no better one by more than the limit.

    All boxes have one size, so what a kept box rules out is one fixed patch of places around it.
    """
    ruled_out_by = _overlaps_by_shift(box_hw) > largest_overlap
    reach_y, reach_x = box_hw[0] - 1, box_hw[1] - 1
    ruled_out = np.zeros((grid[0] + 2 * reach_y, grid[1] + 2 * reach_x), dtype=bool)
    kept = []
    for position, (row, column) in enumerate(zip(rows.tolist(), columns.tolist(), strict=True)):
        if ruled_out[row + reach_y, column + reach_x]:
            continue
        kept.append(position)
        around = ruled_out[row : row + 2 * reach_y + 1, column : column + 2 * reach_x + 1]
        around |= ruled_out_by
    return np.array(kept, dtype=np.intp)


def _overlaps_by_shift(box_hw: tuple[int, int]) -> np.ndarray:
    """IoU of a box with itself moved by (dy, dx): (2h - 1, 2w - 1), no shift in the middle."""
    height, width = box_hw
    shared_y = height - np.abs(np.arange(1 - height, height))
    shared_x = width - np.abs(np.arange(1 - width, width))
    shared = shared_y[:, None] * shared_x[None, :]
    return shared / (2 * height * width - shared)
