"""Lines that may be skewed or curved: from each piece of text to the next. Knows no detection."""

from __future__ import annotations

import numpy as np

from blocks.transformations.stitch_ocr_detections.reading import Glyphs


def lines_by_chains(glyphs: Glyphs, tolerance: int) -> list[list[int]]:
    """Rows in lines, as they are read; the lines by their place.

    A line goes on with the next piece whose middle lies, across the lines, less than half the
    larger height and `tolerance` px from that of its last.
    """
    middles = glyphs.across.mean(axis=1)
    heights = glyphs.across[:, 1] - glyphs.across[:, 0]
    left = np.argsort(glyphs.along.mean(axis=1), kind="stable")
    lines: list[list[int]] = []
    while len(left):
        line = [int(left[0])]
        passed: list[int] = []
        for row in left[1:].tolist():
            last = line[-1]
            reach = max(heights[last], heights[row]) / 2 + tolerance
            (line if abs(middles[row] - middles[last]) < reach else passed).append(row)
        lines.append(line)
        left = np.array(passed, dtype=np.int64)
    return sorted(lines, key=lambda line: float(middles[line].mean()))
