"""Contrast-limited adaptive histogram equalisation of one channel. Colour is none of its business.

Maths: Zuiderveld, Graphics Gems IV (1994), with a tile of an eighth of the image, a limit of 3 % of
a tile's pixels a level, 256 levels of width 65 on a scale of 14 bits. OpenCV's variant would be
faster, but its wider levels and its coarser tiles give visibly other pictures than scikit-image's.
"""

from __future__ import annotations

from itertools import product

import cv2
import numpy as np

TILES_A_SIDE = 8
CLIP_LIMIT = 0.03
SCALE = (1 << 14) - 1
BINS = 256
BIN_WIDTH = 65


def equalize_adaptively(gray: np.ndarray) -> np.ndarray:
    """The image with its contrast raised tile by tile, stretched over the whole range.

    Args:
        gray: (h, w) uint8 of at least two levels.

    Returns:
        (h, w) float32, 0..1.
    """
    height, width = gray.shape
    tile_height, tile_width = max(height // TILES_A_SIDE, 1), max(width // TILES_A_SIDE, 1)
    rows, columns = -(-height // tile_height), -(-width // tile_width)
    tables = _tile_tables(gray, rows, columns, (tile_height, tile_width))
    result = np.empty(gray.shape, dtype=np.float32)
    # Between the middles of neighbouring tiles the same four tables apply.
    for row, column in product(range(rows + 1), range(columns + 1)):
        ys, down = _between_middles(row, tile_height, height)
        xs, right = _between_middles(column, tile_width, width)
        above, below = max(row - 1, 0), min(row, rows - 1)
        before, after = max(column - 1, 0), min(column, columns - 1)
        part = np.ascontiguousarray(gray[ys, xs])
        if part.size == 0:
            continue
        top = (1 - right) * cv2.LUT(part, tables[above, before]) + right * cv2.LUT(
            part, tables[above, after]
        )
        bottom = (1 - right) * cv2.LUT(part, tables[below, before]) + right * cv2.LUT(
            part, tables[below, after]
        )
        result[ys, xs] = (1 - down[:, None]) * top + down[:, None] * bottom
    low, high = float(result.min()), float(result.max())
    return (result - low) / max(high - low, 1)


def _between_middles(index: int, tile: int, length: int) -> tuple[slice, np.ndarray]:
    """Pixels from the middle of a tile to that of tile `index`, and the share of the latter."""
    start = index * tile - tile // 2
    inside = slice(max(start, 0), max(min(start + tile, length), 0))
    shares = (np.arange(inside.start, inside.stop) - start) / tile
    return inside, shares.astype(np.float32)


def _tile_tables(gray: np.ndarray, rows: int, columns: int, tile_hw: tuple[int, int]) -> np.ndarray:
    """For each tile what every gray level becomes: (rows, columns, 256) float32 on the scale."""
    height, width = gray.shape
    tile_height, tile_width = tile_hw
    padded = cv2.copyMakeBorder(
        gray,
        0,
        rows * tile_height - height,
        0,
        columns * tile_width - width,
        cv2.BORDER_REFLECT_101,
    )
    low, high = int(gray.min()), int(gray.max())
    levels = np.clip((np.arange(256) - low) / (high - low), 0, 1)
    bin_of_level = np.rint(levels * SCALE).astype(int) // BIN_WIDTH
    pixels = tile_height * tile_width
    limit = max(int(CLIP_LIMIT * pixels), 1)
    histograms = np.empty((rows, columns, BINS))
    for row, column in product(range(rows), range(columns)):
        tile = padded[
            row * tile_height : (row + 1) * tile_height,
            column * tile_width : (column + 1) * tile_width,
        ]
        histogram = np.bincount(bin_of_level[tile.ravel()], minlength=BINS)
        histograms[row, column] = _clip(histogram, limit)
    cumulative = np.cumsum(histograms, axis=-1)
    return np.minimum(cumulative * (SCALE / pixels), SCALE)[..., bin_of_level].astype(np.float32)


def _clip(histogram: np.ndarray, limit: int) -> np.ndarray:
    """A histogram (256,) int with what is over the limit spread over its other bins.

    What does not divide evenly is dealt out one by one to bins that lie regularly apart. The last
    deal may give away a few pixels more than there are, as in Zuiderveld's rule.
    """
    clipped = np.minimum(histogram, limit)
    excess = int((histogram - clipped).sum())
    share = excess // BINS
    low = clipped < limit - share
    clipped[low] += share
    excess -= share * int(low.sum())
    nearly_full = (clipped >= limit - share) & (clipped < limit)
    excess -= int((limit - clipped[nearly_full]).sum())
    clipped[nearly_full] = limit
    while excess > 0:
        before = excess
        for start in range(BINS):
            room = clipped < limit
            step = max(1, int(room.sum()) // excess)
            dealt = room[start::step]
            clipped[start::step] += dealt
            excess -= int(dealt.sum())
            if excess <= 0:
                break
        if excess == before:
            break
    return clipped
