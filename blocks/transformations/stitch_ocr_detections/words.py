"""Words of a text by the gaps between its pieces. Knows no detection.

Maths: Otsu's threshold, the one that leaves most variance between two groups.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from blocks.transformations.stitch_ocr_detections.lines import in_order
from blocks.transformations.stitch_ocr_detections.reading import Glyphs

SAME_LINE = 0.5
"""How far centres of one line may lie from its middle, in heights of a piece."""
WORD_GAP = 0.3
"""Gaps between words are wider than this, and wider by this than those between letters, in widths
of a piece."""


def words_by_gaps(glyphs: Glyphs, threshold_multiplier: float) -> list[list[list[int]]]:
    """Rows in words in lines, as they are read; the lines by their place.

    Args:
        glyphs: n pieces of text.
        threshold_multiplier: above 1 fewer words, below 1 more.
    """
    lines = [in_order(glyphs, line) for line in _lines_by_centres(glyphs)]
    gaps = [_gaps(glyphs, line) for line in lines]
    threshold = word_gap(np.concatenate(gaps)) if gaps else None
    if threshold is None:
        return [[line] for line in lines]
    return [
        [
            word.tolist()
            for word in np.split(
                np.array(line), np.flatnonzero(between > threshold * threshold_multiplier) + 1
            )
        ]
        for line, between in zip(lines, gaps, strict=True)
    ]


def word_gap(gaps: NDArray[np.float64]) -> float | None:
    """The gap from which on another word begins, None when the gaps are all of one kind.

    Args:
        gaps: (n,) in widths of a piece.
    """
    ordered = np.sort(gaps)
    counts = np.arange(1, len(ordered))
    if not len(counts):
        return None
    sums = np.cumsum(ordered)
    below = sums[:-1] / counts
    above = (sums[-1] - sums[:-1]) / (len(ordered) - counts)
    best = int(np.argmax(counts * (len(ordered) - counts) * (above - below) ** 2))
    if above[best] <= WORD_GAP or above[best] - below[best] <= WORD_GAP:
        return None
    return float(ordered[best] + ordered[best + 1]) / 2


def _lines_by_centres(glyphs: Glyphs) -> list[list[int]]:
    centres = glyphs.across.mean(axis=1)
    if not len(centres):
        return []
    reach = SAME_LINE * float(np.median(glyphs.across[:, 1] - glyphs.across[:, 0]))
    lines: list[list[int]] = []
    total = 0.0
    for row in np.argsort(centres, kind="stable").tolist():
        if not lines or abs(centres[row] - total / len(lines[-1])) > reach:
            lines.append([])
            total = 0.0
        lines[-1].append(row)
        total += float(centres[row])
    return lines


def _gaps(glyphs: Glyphs, line: list[int]) -> NDArray[np.float64]:
    """(k - 1,) gaps between the pieces of a line, in their mean widths; 0 without a width."""
    along = glyphs.along[line]
    widths = along[:, 1] - along[:, 0]
    scale = (widths[1:] + widths[:-1]) / 2
    gaps: NDArray[np.float64] = np.divide(
        along[1:, 0] - along[:-1, 1], scale, out=np.zeros(len(scale)), where=scale > 0
    )
    return gaps
