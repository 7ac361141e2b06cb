"""Masks from a model's raw values: resize and threshold without ever making a full-size canvas.

Bilinear enlargement is a straight line between two neighbouring samples, so along a column the threshold is crossed
at most once between them. The values are interpolated along x at the columns an object can reach; where two vertically
neighbouring values lie on different sides of the threshold, the crossing row follows from a division and is confirmed
with the two float32 weights of that row. Work grows with the outline of the objects, not with the size of the image.

Every value equals that of `torch.nn.functional.interpolate(mode="bilinear", antialias=True, align_corners=False)` in
float32 up to the rounding of one fused multiply-add. This module knows no model family and no file format.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Literal

import numpy as np
import numpy.typing as npt

from inference_models.masks.carrier import InstanceMasks
from inference_models.masks.errors import MaskError
from inference_models.masks.geometry import MaskGeometry
from inference_models.masks.runs import drop_empty_pairs, splits_of_sizes
from inference_models.masks.taps import AxisTaps, Segments, axis_segments, axis_taps

Activation = Literal["sigmoid"]

# Interpolated columns of this many values are worked on at once (4 MB): large enough that the fixed cost of an array
# operation does not show, small enough for the cache and for a bounded footprint.
_BLOCK_VALUES = 1 << 20
_SUPPORT_BLOCK_CELLS = 1 << 19


def masks_from_logits(
    logits: npt.NDArray[np.floating],
    geometry: MaskGeometry,
    *,
    threshold: float = 0.0,
    activation: Activation | None = None,
    instances: npt.ArrayLike | None = None,
) -> InstanceMasks:
    """Masks of objects whose values the model gives directly, one grid an object.

    Args:
        logits: (q, hm, wm) values on `geometry.grid_size`, finite.
        geometry: where that grid lies and which size to deliver.
        threshold: a pixel is set when its interpolated value is greater.
        activation: applied to the values before they are interpolated.
        instances: rows of `logits` to use, in order, repeats allowed; all when None.

    Returns:
        Masks on `geometry.mask_size`, one a row.

    Raises:
        MaskError: the shape does not fit the geometry, or a value near an object is not finite.
    """
    logits = np.asarray(logits)
    if logits.ndim != 3 or logits.shape[1:] != geometry.grid_size:
        raise MaskError(f"logits must be (n, {geometry.grid_size}), got shape {logits.shape}")
    if instances is None:
        rows, back = np.arange(len(logits)), None
    else:
        rows, back = np.unique(np.asarray(instances, np.int64).reshape(-1), return_inverse=True)
        if len(rows) and not -len(logits) <= rows[0] <= rows[-1] < len(logits):
            raise MaskError(f"instances must be rows of {len(logits)} grids, got {rows[[0, -1]]}")
    patches = _patches_of_logits(logits, rows, geometry, threshold, activation)
    masks = _Resizer(geometry, threshold).run(patches, len(rows))
    return masks if back is None else masks.select(back)


def masks_from_prototypes(
    coefficients: npt.NDArray[np.floating],
    prototypes: npt.NDArray[np.floating],
    geometry: MaskGeometry,
    *,
    boxes: npt.ArrayLike | None = None,
    threshold: float = 0.0,
    activation: Activation | None = None,
) -> InstanceMasks:
    """Masks of objects whose values are sums of prototypes.

    Args:
        coefficients: (n, k) weights of the prototypes.
        prototypes: (k, hm, wm) on `geometry.grid_size`.
        geometry: where that grid lies and which size to deliver.
        boxes: (n, 4) xyxy in network px; on the raw grid, values outside of an object's box become 0 (after the
            activation). None keeps all values.
        threshold: a pixel is set when its interpolated value is greater; at least 0 when boxes are given.
        activation: applied to the sums before they are interpolated.

    Returns:
        Masks on `geometry.mask_size`, one a row of `coefficients`.

    Raises:
        MaskError: shapes do not fit each other, or a value near an object is not finite.
    """
    coefficients = np.ascontiguousarray(coefficients, np.float32)
    prototypes = np.asarray(prototypes)
    if prototypes.ndim != 3 or prototypes.shape[1:] != geometry.grid_size:
        raise MaskError(
            f"prototypes must be (k, {geometry.grid_size}), got shape {prototypes.shape}"
        )
    if coefficients.ndim != 2 or coefficients.shape[1] != len(prototypes):
        raise MaskError(
            f"coefficients must be (n, {len(prototypes)}) for {len(prototypes)} prototypes, "
            f"got shape {coefficients.shape}"
        )
    resizer = _Resizer(geometry, threshold)
    if boxes is None:
        flat = np.ascontiguousarray(prototypes, np.float32).reshape(len(prototypes), -1)
        patches = _patches_of_sums(coefficients, flat, geometry, threshold, activation)
        return resizer.run(patches, len(coefficients))
    windows = geometry.crop_windows(boxes)
    if len(windows) != len(coefficients):
        raise MaskError(f"{len(coefficients)} rows of coefficients need as many boxes, got {len(windows)}")
    if threshold < 0:
        raise MaskError(f"threshold must be at least 0 where boxes cut the masks, got {threshold}")
    patches = _patches_in_windows(coefficients, prototypes, windows, geometry, activation)
    return resizer.run(patches, len(coefficients))


@dataclass(slots=True, eq=False)
class _Patch:
    """Values around one object on the inner grid.

    `values` (h, w) starts at (row, column). Rows just above and below, and columns left and right of the patch, hold
    nothing above the threshold; a row index of -1 or of the grid's height stands for such a row outside of the grid.
    """

    values: npt.NDArray[np.float32]
    row: int
    column: int


def _patches_in_windows(
    coefficients: npt.NDArray[np.float32],
    prototypes: npt.NDArray[np.floating],
    windows: npt.NDArray[np.int64],
    geometry: MaskGeometry,
    activation: Activation | None,
) -> Iterator[_Patch | None]:
    left, top = geometry.trim[:2]
    height, width = geometry.inner_size
    count = len(prototypes)
    activate = _activation(activation)
    for weights, (x0, y0, x1, y1) in zip(coefficients, windows.tolist(), strict=True):
        x0, x1 = max(x0, left), min(x1, left + width)
        y0, y1 = max(y0, top), min(y1, top + height)
        if x1 <= x0 or y1 <= y0:
            yield None
            continue
        samples = prototypes[:, y0:y1, x0:x1].reshape(count, -1)
        inner = activate(weights @ samples.astype(np.float32, copy=False))
        values = np.zeros((y1 - y0 + 2, x1 - x0 + 2), np.float32)
        values[1:-1, 1:-1] = inner.reshape(y1 - y0, x1 - x0)
        row, column = y0 - top - 1, x0 - left - 1
        # Outside of the grid there is no column of zeros: the edge sample is repeated instead.
        first, last = int(column < 0), values.shape[1] - int(column + values.shape[1] > width)
        yield _Patch(values[:, first:last], row, column + first)


def _patches_of_sums(
    coefficients: npt.NDArray[np.float32],
    prototypes: npt.NDArray[np.float32],
    geometry: MaskGeometry,
    threshold: float,
    activation: Activation | None,
) -> Iterator[_Patch | None]:
    block = max(1, _SUPPORT_BLOCK_CELLS // prototypes.shape[1])
    for start in range(0, len(coefficients), block):
        sums = coefficients[start : start + block] @ prototypes
        grids = sums.reshape(-1, *geometry.grid_size)
        yield from _patches_of_logits(
            grids, np.arange(len(grids)), geometry, threshold, activation
        )


def _patches_of_logits(
    logits: npt.NDArray[np.floating],
    rows: npt.NDArray[np.integer],
    geometry: MaskGeometry,
    threshold: float,
    activation: Activation | None,
) -> Iterator[_Patch | None]:
    left, top, right, bottom = (max(0, side) for side in geometry.trim)
    grown = [max(0, -side) for side in geometry.trim]
    trimmed = logits[:, top : logits.shape[1] - bottom, left : logits.shape[2] - right]
    height, width = geometry.inner_size
    activate = _activation(activation)
    # A superset of the object is enough here, so the threshold is taken back through the activation with a margin.
    raw_threshold = _threshold_before(threshold, activation)
    below = np.float32(min(0.0, threshold) - 1.0)
    block = max(1, _SUPPORT_BLOCK_CELLS // (height * width))
    padded_width = -(-width // 8) * 8
    above = np.zeros((min(block, len(rows)), height, padded_width), np.bool_)
    for start in range(0, len(rows), block):
        chosen = rows[start : start + block]
        grids = trimmed[chosen[0] : chosen[-1] + 1]
        if len(grids) != len(chosen):
            grids = trimmed[chosen]
        if any(grown):
            grids = np.pad(grids, ((0, 0), (grown[1], grown[3]), (grown[0], grown[2])))
        part = above[: len(chosen)]
        np.greater(grids, raw_threshold, out=part[:, :, :width])
        y0, y1, x0, x1 = _extent(part)
        for grid, r0, r1, c0, c1 in zip(grids, y0, y1, x0, x1, strict=True):
            if r1 <= r0:
                yield None
                continue
            c0, c1 = max(c0 - 1, 0), min(c1 + 1, width)
            inside = slice(max(r0 - 1, 0), min(r1 + 1, height))
            values = activate(grid[inside, c0:c1].astype(np.float32, copy=False))
            if r0 == 0 or r1 == height:
                framed = np.full((r1 - r0 + 2, c1 - c0), below)
                framed[int(r0 == 0) : len(framed) - int(r1 == height)] = values
                values = framed
            yield _Patch(values, r0 - 1, c0)


def _extent(above: npt.NDArray[np.bool_]) -> tuple[list[int], list[int], list[int], list[int]]:
    """Half-open row and column ranges of the set cells of each (h, w) grid; w is a multiple of 8."""
    words = above.view(np.uint64)
    rows = np.bitwise_or.reduce(words, axis=2) != 0
    columns = np.bitwise_or.reduce(words, axis=1).view(np.uint8) != 0
    empty = ~rows.any(axis=1)
    y0, x0 = rows.argmax(axis=1), columns.argmax(axis=1)
    y1 = rows.shape[1] - rows[:, ::-1].argmax(axis=1)
    x1 = columns.shape[1] - columns[:, ::-1].argmax(axis=1)
    y1[empty] = 0
    return y0.tolist(), y1.tolist(), x0.tolist(), x1.tolist()


def _activation(
    name: Activation | None,
) -> Callable[[npt.NDArray[np.float32]], npt.NDArray[np.float32]]:
    if name is None:
        return lambda values: values
    if name == "sigmoid":
        return _sigmoid
    raise MaskError(f'activation must be None or "sigmoid", got {name!r}')


def _sigmoid(values: npt.NDArray[np.float32]) -> npt.NDArray[np.float32]:
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


class _Resizer:
    """Turns patches of one geometry into masks."""

    def __init__(self, geometry: MaskGeometry, threshold: float) -> None:
        self._geometry = geometry
        self._threshold = threshold
        self._taps_x = axis_taps(geometry.inner_size[1], geometry.target_size[1])
        self._taps_y = axis_taps(geometry.inner_size[0], geometry.target_size[0])
        self._matrix_x = self._taps_x.matrix()
        self._firsts, self._lasts = self._taps_x.first, self._taps_x.last
        grows = geometry.target_size[0] >= geometry.inner_size[0]
        self._segments: Segments | None = axis_segments(self._taps_y) if grows else None
        self._matrix_y = None if grows else self._taps_y.matrix()

    def run(self, patches: Iterator[_Patch | None], count: int) -> InstanceMasks:
        sizes = np.zeros(count, np.int64)
        parts: list[npt.NDArray[np.int32]] = []
        block: list[tuple[int, _Patch, int, int]] = []
        values = 0
        for index, patch in enumerate(patches):
            if patch is None:
                continue
            x0, x1 = self._outputs(patch)
            if x1 <= x0:
                continue
            block.append((index, patch, x0, x1))
            values += (x1 - x0) * self._column_length(patch)
            if values >= _BLOCK_VALUES:
                parts.append(self._flush(block, sizes))
                block, values = [], 0
        if block:
            parts.append(self._flush(block, sizes))
        runs = np.concatenate(parts, axis=1) if parts else np.zeros((3, 0), np.int32)
        y, x = self._geometry.origin
        return InstanceMasks.from_runs(
            runs,
            splits_of_sizes(sizes),
            mask_size=self._geometry.mask_size,
            image_size=self._geometry.image_size,
            origin=(y, x),
        )
