"""Column runs, the storage of masks: arithmetic on flat integer arrays, many masks at once.

A run is a stretch of set pixels in one column: (column, top, bottom) with `bottom` exclusive. The
runs of a mask are sorted by column, then by row; they do not touch inside a column and never cross
into the next one.
`splits` (n + 1,) says where the runs of each mask begin, as in `runs[:, splits[i]:splits[i + 1]]`.
Nothing here knows the carrier, RLE texts or polygons.
"""

from __future__ import annotations

import cv2
import numpy as np
import numpy.typing as npt

IntArray = npt.NDArray[np.integer]


def mask_of_runs(splits: IntArray) -> npt.NDArray[np.int64]:
    """Index of the mask that each run belongs to, (m,) int64."""
    return np.repeat(np.arange(len(splits) - 1), np.diff(splits))


def splits_of_sizes(sizes: IntArray) -> npt.NDArray[np.int64]:
    """(n + 1,) int64 splits of groups with `sizes` entries."""
    splits = np.zeros(len(sizes) + 1, np.int64)
    np.cumsum(sizes, out=splits[1:])
    return splits


def drop_empty_pairs(transitions: IntArray) -> npt.NDArray[np.bool_] | None:
    """Which of the sorted flat positions, where set and unset pixels alternate, are real.

    A run that ends where it starts, and a gap of no pixels, show as a position that occurs twice;
    of a position that occurs an odd number of times one survives. None when all are real.
    """
    same = transitions[1:] == transitions[:-1]
    if not same.any():
        return None
    first = np.concatenate(([True], ~same))
    group = np.cumsum(first) - 1
    odd = np.bincount(group) % 2 == 1
    return first & odd[group]


def runs_of_bitmap(bitmap: npt.NDArray[np.generic]) -> npt.NDArray[np.int32]:
    """The runs (3, m) of one (h, w) bitmap; any memory order, any dtype, set means not zero."""
    height, width = bitmap.shape
    if bitmap.size == 0:
        return np.zeros((3, 0), np.int32)
    set_pixels = np.asarray(bitmap if bitmap.dtype == np.bool_ else bitmap != 0, np.bool_)
    columns = np.zeros(width * (height + 1) + 1, np.uint8)
    # A row of unset pixels before each column, and one pixel at the very end, close every run.
    columns[:-1].reshape(width, height + 1)[:, 1:] = _transposed(set_pixels)
    changes = np.flatnonzero(columns[1:] != columns[:-1])
    starts, stops = changes[::2], changes[1::2]
    columns = starts // (height + 1)
    runs = np.empty((3, len(starts)), np.int32)
    runs[0] = columns
    np.subtract(starts, columns * (height + 1), out=runs[1], casting="unsafe")
    np.subtract(stops, columns * (height + 1), out=runs[2], casting="unsafe")
    return runs


def _transposed(bitmap: npt.NDArray[np.bool_]) -> npt.NDArray[np.generic]:
    if bitmap.strides[1] != 1 or bitmap.strides[0] <= 0:
        return bitmap.T
    # OpenCV moves blocks, which is several times faster than copying through a transposed view.
    return np.asarray(cv2.transpose(bitmap.view(np.uint8)))


def bitmap_of_runs(runs: npt.NDArray[np.int32], size: tuple[int, int]) -> npt.NDArray[np.uint8]:
    """The bitmap (h, w) of one mask, uint8 0 and 1.

    Writing each stretch once and transposing the bytes is several times faster than any way that
    fills rows.
    """
    height, width = size
    edges = np.empty(2 * runs.shape[1] + 2, np.int64)
    edges[0], edges[-1] = 0, height * width
    base = runs[0] * np.int64(height)
    edges[1:-1:2] = base + runs[1]
    edges[2:-1:2] = base + runs[2]
    values = np.zeros(len(edges) - 1, np.uint8)
    values[1::2] = 1
    columns = np.repeat(values, np.diff(edges)).reshape(width, height)
    if columns.size == 0:
        return np.zeros(size, np.uint8)
    bitmap: npt.NDArray[np.uint8] = np.asarray(cv2.transpose(columns), np.uint8)
    return bitmap


def split_at_columns(
    starts: IntArray, stops: IntArray, heights: IntArray
) -> tuple[npt.NDArray[np.int32], npt.NDArray[np.int64]]:
    """Cuts flat column-major stretches [start, stop) of grids of `heights` (m,) into runs.

    Returns:
        The runs (3, k), and for each of the m stretches how many runs it became (m,).
    """
    first = starts // heights
    counts = (stops - 1) // heights - first + 1
    if len(starts) and int(counts.max()) == 1:
        base = first * heights
        return np.stack([first, starts - base, stops - base]).astype(np.int32), counts
    stretch = np.repeat(np.arange(len(starts)), counts)
    within = np.arange(len(stretch)) - np.repeat(np.cumsum(counts) - counts, counts)
    columns = first[stretch] + within
    height = heights[stretch]
    base = columns * height
    tops = np.maximum(starts[stretch] - base, 0)
    bottoms = np.minimum(stops[stretch] - base, height)
    return np.stack([columns, tops, bottoms]).astype(np.int32), counts


def bounds_of_runs(
    runs: npt.NDArray[np.int32], splits: npt.NDArray[np.int64]
) -> npt.NDArray[np.int32]:
    """(n, 4) int32 x0, y0, x1, y1 (half-open) around the runs of each mask; zeros for a mask
    without runs."""
    bounds = np.zeros((len(splits) - 1, 4), np.int32)
    filled = np.flatnonzero(splits[1:] > splits[:-1])
    if len(filled):
        first = splits[:-1][filled]
        bounds[filled, 0] = runs[0, first]
        bounds[filled, 1] = np.minimum.reduceat(runs[1], first)
        bounds[filled, 2] = runs[0, splits[1:][filled] - 1] + 1
        bounds[filled, 3] = np.maximum.reduceat(runs[2], first)
    return bounds


def lengths_per_mask(
    runs: npt.NDArray[np.int32], splits: npt.NDArray[np.int64]
) -> npt.NDArray[np.int64]:
    """Number of set pixels of each mask, (n,) int64."""
    total = np.zeros(runs.shape[1] + 1, np.int64)
    np.cumsum(runs[2] - runs[1], out=total[1:])
    return total[splits[1:]] - total[splits[:-1]]


def take_masks(
    splits: npt.NDArray[np.int64], rows: IntArray
) -> tuple[npt.NDArray[np.int64], npt.NDArray[np.int64]]:
    """Indices of the runs of the masks `rows`, in that order, and their new splits."""
    sizes = np.diff(splits)[rows]
    new_splits = splits_of_sizes(sizes)
    index = np.arange(new_splits[-1]) + np.repeat(splits[:-1][rows] - new_splits[:-1], sizes)
    return index, new_splits


def union_of_runs(
    runs: IntArray, groups: IntArray, height: int, width: int, count: int
) -> tuple[npt.NDArray[np.int32], npt.NDArray[np.int64]]:
    """Joins runs that overlap or touch in the same column of the same group.

    Args:
        runs: (3, m) on one grid of `height` x `width`, in any order.
        groups: (m,) group of each run.
        height: rows of the grid, px.
        width: columns of the grid, px.
        count: number of groups.

    Returns:
        Sorted runs (3, k) and the splits of the groups (count + 1,).
    """
    if runs.shape[1] == 0:
        return runs.astype(np.int32), np.zeros(count + 1, np.int64)
    # One row of air between columns keeps stretches of neighbouring columns apart.
    base = (groups.astype(np.int64) * width + runs[0]) * (height + 1)
    starts, stops = base + runs[1], base + runs[2]
    order = np.argsort(starts, kind="stable")
    starts, stops = starts[order], np.maximum.accumulate(stops[order])
    opens = np.concatenate(([True], starts[1:] > stops[:-1]))
    starts = starts[opens]
    stops = stops[np.concatenate((opens[1:], [True]))]
    column = starts // (height + 1)
    group = column // width
    joined = np.stack(
        [column - group * width, starts - column * (height + 1), stops - column * (height + 1)]
    )
    return joined.astype(np.int32), splits_of_sizes(np.bincount(group, minlength=count))


def join_touching(
    runs: npt.NDArray[np.int32], owner: npt.NDArray[np.int64]
) -> tuple[npt.NDArray[np.int32], npt.NDArray[np.int64]]:
    """Joins runs of one column that have no gap between them."""
    if runs.shape[1] < 2:
        return runs, owner
    joins = (
        (runs[1, 1:] == runs[2, :-1]) & (runs[0, 1:] == runs[0, :-1]) & (owner[1:] == owner[:-1])
    )
    if not joins.any():
        return runs, owner
    opens = np.concatenate(([True], ~joins))
    closes = np.concatenate((~joins, [True]))
    return np.stack([runs[0, opens], runs[1, opens], runs[2, closes]]), owner[opens]
