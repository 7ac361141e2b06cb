"""Lines of pieces of text, by the place where each begins. The way of every version."""

from __future__ import annotations

import numpy as np

from blocks.transformations.stitch_ocr_detections.reading import Glyphs


def lines_by_tolerance(glyphs: Glyphs, tolerance: int) -> list[list[int]]:
    """Rows in lines, as they are read; the lines by their place.

    A line holds all that begin, across the lines and in whole px, at most `tolerance` after its
    first.
    """
    starts = np.round(glyphs.across[:, 0])
    lines: list[list[int]] = []
    first = -np.inf
    for row in np.argsort(starts, kind="stable").tolist():
        if not lines or starts[row] - first > tolerance:
            lines.append([])
            first = starts[row]
        lines[-1].append(row)
    return [in_order(glyphs, line) for line in lines]


def in_order(glyphs: Glyphs, line: list[int]) -> list[int]:
    """The rows of a line in the order in which they are read."""
    return sorted(line, key=lambda row: float(glyphs.along[row, 0]))
