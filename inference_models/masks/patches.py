"""Finding objects on a model's raw mask grid: which samples each object needs, and their values.

Nothing here interpolates. A patch holds every sample that an output above the threshold can depend
on.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Literal

import numpy as np
import numpy.typing as npt

from inference_models.masks.errors import MaskError
from inference_models.masks.geometry import MaskGeometry
from inference_models.masks.taps import AxisTaps

Activation = Literal["sigmoid"]
FloatGrid = npt.NDArray[np.float32]

# Grid cells looked at together when objects are searched for: 2 MB of floats, which stay in the
# cache.
_BLOCK_CELLS = 1 << 19


@dataclass(frozen=True, slots=True, eq=False)
class Reach:
    """What one axis of an object touches: outputs begin..end (exclusive), made of samples low..high
    (exclusive).

    On an axis that does not shrink, `low` may be -1 and `high` one more than there are samples:
    those stand for a sample outside of the grid that closes the object there.
    """

    begin: int
    end: int
    low: int
    high: int


@dataclass(frozen=True, slots=True, eq=False)
class Patch:
    """The samples around one object on the inner grid: `values` (rows.high - rows.low, columns.high
    - columns.low)."""

    values: FloatGrid
    rows: Reach
    columns: Reach


class PatchFinder:
    """Cuts patches for one geometry.

    Args:
        geometry: sizes of the grids.
        taps_y, taps_x: the weights from `geometry.inner_size` to `geometry.target_size`.
        threshold: a pixel is set when its value is greater.
        activation: applied to raw values first.
    """

    def __init__(
        self,
        geometry: MaskGeometry,
        taps_y: AxisTaps,
        taps_x: AxisTaps,
        threshold: float,
        activation: Activation | None,
    ) -> None:
        self._geometry = geometry
        self._taps_y, self._taps_x = taps_y, taps_x
        self._activate = _activation(activation)
        # A superset of the object is enough to find it: the threshold goes back through the
        # activation with a margin.
        self._raw_threshold = np.float32(_threshold_before(threshold, activation))
        self._below = np.float32(min(0.0, threshold) - 1.0)

    def in_windows(
        self,
        coefficients: FloatGrid,
        prototypes: npt.NDArray[np.floating],
        windows: npt.NDArray[np.int64],
    ) -> Iterator[Patch | None]:
        """Patches of sums of prototypes (k, hm, wm) that are 0 outside of an object's window of the
        raw grid."""
        left, top = self._geometry.trim[:2]
        height, width = self._geometry.inner_size
        grid_height, grid_width = self._geometry.grid_size
        count = len(prototypes)
        for weights, (x0, y0, x1, y1) in zip(coefficients, windows.tolist(), strict=True):
            x0, x1 = max(x0, left, 0), min(x1, left + width, grid_width)
            y0, y1 = max(y0, top, 0), min(y1, top + height, grid_height)
            if x1 <= x0 or y1 <= y0:
                yield None
                continue
            samples = prototypes[:, y0:y1, x0:x1].reshape(count, -1)
            inner = self._activate(weights @ samples.astype(np.float32, copy=False))
            rows = _reach_rows(self._taps_y, y0 - top, y1 - top)
            columns = _reach_columns(self._taps_x, x0 - left, x1 - left)
            # Zeros are not above the threshold, so they also serve as the samples outside of the
            # grid.
            values = np.zeros((rows.high - rows.low, columns.high - columns.low), np.float32)
            y, x = y0 - top - rows.low, x0 - left - columns.low
            values[y : y + y1 - y0, x : x + x1 - x0] = inner.reshape(y1 - y0, x1 - x0)
            yield Patch(values, rows, columns)

    def in_sums(
        self, coefficients: FloatGrid, prototypes: npt.NDArray[np.floating]
    ) -> Iterator[Patch | None]:
        """Patches of sums of prototypes (k, hm, wm) that are kept everywhere."""
        flat = np.ascontiguousarray(prototypes, np.float32).reshape(len(prototypes), -1)
        block = max(1, _BLOCK_CELLS // flat.shape[1])
        for start in range(0, len(coefficients), block):
            sums = coefficients[start : start + block] @ flat
            grids = sums.reshape(-1, *self._geometry.grid_size)
            yield from self.in_grids(grids, np.arange(len(grids)))

    def in_grids(
        self, grids: npt.NDArray[np.floating], rows: npt.NDArray[np.integer]
    ) -> Iterator[Patch | None]:
        """Patches of the raw grids (q, hm, wm) that `rows`, sorted, names."""
        left, top, right, bottom = (max(0, side) for side in self._geometry.trim)
        grown = [max(0, -side) for side in self._geometry.trim]
        grids = grids[:, top : grids.shape[1] - bottom, left : grids.shape[2] - right]
        height, width = self._geometry.inner_size
        block = max(1, _BLOCK_CELLS // (height * width))
        # Eight cells a word: any() along an axis becomes an OR of words.
        above = np.zeros((min(block, len(rows)), height, -(-width // 8) * 8), np.bool_)
        for start in range(0, len(rows), block):
            chosen = rows[start : start + block]
            part = grids[chosen[0] : chosen[-1] + 1]
            if len(part) != len(chosen):
                part = grids[chosen]
            if any(grown):
                part = np.pad(part, ((0, 0), (grown[1], grown[3]), (grown[0], grown[2])))
            found = above[: len(chosen)]
            np.greater(part, self._raw_threshold, out=found[:, :, :width])
            for grid, y0, y1, x0, x1 in zip(part, *_extents(found), strict=True):
                yield self._cut(grid, y0, y1, x0, x1) if y1 > y0 else None

    def _cut(self, grid: npt.NDArray[np.floating], y0: int, y1: int, x0: int, x1: int) -> Patch:
        rows = _reach_rows(self._taps_y, y0, y1)
        columns = _reach_columns(self._taps_x, x0, x1)
        low, high = max(rows.low, 0), min(rows.high, len(grid))
        inner = grid[low:high, columns.low : columns.high].astype(np.float32, copy=False)
        values = self._activate(inner)
        if (low, high) != (rows.low, rows.high):
            framed = np.full((rows.high - rows.low, values.shape[1]), self._below)
            framed[low - rows.low : high - rows.low] = values
            values = framed
        return Patch(values, rows, columns)


def _reach_columns(taps: AxisTaps, low: int, high: int) -> Reach:
    begin = int(taps.last.searchsorted(low))
    end = int(taps.first.searchsorted(high))
    if end <= begin:
        return Reach(begin, begin, 0, 0)
    return Reach(begin, end, int(taps.first[begin]), int(taps.last[end - 1]) + 1)


def _reach_rows(taps: AxisTaps, low: int, high: int) -> Reach:
    if taps.target < taps.source:
        return _reach_columns(taps, low, high)
    # Between an object's outermost samples and their neighbours lies all that it can reach.
    return Reach(0, taps.target, low - 1, high + 1)


def _extents(
    found: npt.NDArray[np.bool_],
) -> tuple[list[int], list[int], list[int], list[int]]:
    """Half-open rows y0, y1 and columns x0, x1 of the set cells of each (h, w) grid; y1 is 0
    without any."""
    words = found.view(np.uint64)
    rows = np.bitwise_or.reduce(words, axis=2) != 0
    columns = np.bitwise_or.reduce(words, axis=1).view(np.uint8) != 0
    y1 = rows.shape[1] - rows[:, ::-1].argmax(axis=1)
    x1 = columns.shape[1] - columns[:, ::-1].argmax(axis=1)
    y1[~rows.any(axis=1)] = 0
    return (
        rows.argmax(axis=1).tolist(),
        y1.tolist(),
        columns.argmax(axis=1).tolist(),
        x1.tolist(),
    )


def _activation(name: Activation | None) -> Callable[[FloatGrid], FloatGrid]:
    if name is None:
        return lambda values: values
    if name == "sigmoid":
        return _sigmoid
    raise MaskError(f'activation must be None or "sigmoid", got {name!r}')


def _sigmoid(values: FloatGrid) -> FloatGrid:
    with np.errstate(over="ignore"):
        return np.float32(1) / (np.float32(1) + np.exp(-values))


def _threshold_before(threshold: float, activation: Activation | None) -> float:
    if activation is None:
        return threshold
    if threshold <= 0:
        return -np.inf
    if threshold >= 1:
        return np.inf
    return float(np.log(threshold / (1 - threshold))) - 1e-3
