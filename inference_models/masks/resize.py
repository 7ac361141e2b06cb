"""Masks from a model's raw values: resize and threshold without ever making a full-size canvas.

Bilinear enlargement is a straight line between two neighbouring samples, so along a column the
threshold is crossed at most once between them. The values are interpolated along x at the columns
an object can reach; where two vertically neighbouring values lie on different sides of the
threshold, the crossing row follows from a division and is confirmed with the two float32 weights of
that row. Work grows with the outline of the objects, not with the size of the image.

Every value equals that of `torch.nn.functional.interpolate(mode="bilinear", antialias=True,
align_corners=False)` in float32 up to the rounding of one fused multiply-add. This module knows no
model family and no file format.
"""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np
import numpy.typing as npt

from inference_models.masks.carrier import InstanceMasks
from inference_models.masks.errors import MaskError
from inference_models.masks.geometry import MaskGeometry
from inference_models.masks.patches import Activation, Patch, PatchFinder
from inference_models.masks.runs import drop_empty_pairs, runs_of_bitmap, splits_of_sizes
from inference_models.masks.taps import axis_segments, axis_taps

# Interpolated columns of this many values are worked on at once (0.5 MB): large enough that the
# fixed cost of an array operation does not show, small enough to stay in the cache.
_BLOCK_VALUES = 1 << 17


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
    resizer = _Resizer(geometry, threshold)
    patches = resizer.finder(activation).in_grids(logits, rows)
    masks = resizer.run(patches, len(rows))
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
        boxes: (n, 4) xyxy in network px; on the raw grid, values outside of an object's box become
            0 (after the activation). None keeps all values.
        threshold: a pixel is set when its interpolated value is greater; at least 0 when boxes are
            given.
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
    finder = resizer.finder(activation)
    if boxes is None:
        return resizer.run(finder.in_sums(coefficients, prototypes), len(coefficients))
    windows = geometry.crop_windows(boxes)
    if len(windows) != len(coefficients):
        raise MaskError(f"{len(coefficients)} objects need as many boxes, got {len(windows)}")
    if threshold < 0:
        raise MaskError(f"threshold must be at least 0 where boxes cut the masks, got {threshold}")
    patches = finder.in_windows(coefficients, prototypes, windows)
    return resizer.run(patches, len(coefficients))


class _Resizer:
    """Turns patches of one geometry into masks."""

    def __init__(self, geometry: MaskGeometry, threshold: float) -> None:
        self._geometry = geometry
        self._threshold = np.float32(threshold)
        (height, width), (target_height, target_width) = geometry.inner_size, geometry.target_size
        self._taps_y = axis_taps(height, target_height)
        self._taps_x = axis_taps(width, target_width)
        self._grows = target_height >= height
        self._segments = axis_segments(self._taps_y) if self._grows else None

    def finder(self, activation: Activation | None) -> PatchFinder:
        """What finds the patches this resizer takes."""
        threshold = float(self._threshold)
        return PatchFinder(self._geometry, self._taps_y, self._taps_x, threshold, activation)

    def run(self, patches: Iterable[Patch | None], count: int) -> InstanceMasks:
        """The masks of `count` patches, None standing for an object with no sample above the
        threshold."""
        sizes = np.zeros(count, np.int64)
        parts: list[npt.NDArray[np.int32]] = []
        block: list[tuple[int, Patch]] = []
        values = 0
        flush = self._columns_that_grow if self._grows else self._columns_that_shrink
        for index, patch in enumerate(patches):
            if patch is None or patch.columns.end <= patch.columns.begin:
                continue
            block.append((index, patch))
            values += (patch.columns.end - patch.columns.begin) * len(patch.values)
            if values >= _BLOCK_VALUES:
                parts.append(flush(block, sizes))
                block, values = [], 0
        if block:
            parts.append(flush(block, sizes))
        return InstanceMasks.from_runs(
            np.concatenate(parts, axis=1) if parts else np.zeros((3, 0), np.int32),
            splits_of_sizes(sizes),
            mask_size=self._geometry.mask_size,
            image_size=self._geometry.image_size,
            origin=self._geometry.origin,
        )

    def _columns_that_grow(
        self, block: list[tuple[int, Patch]], sizes: npt.NDArray[np.int64]
    ) -> npt.NDArray[np.int32]:
        """Runs of the patches of one block, whose counts go into `sizes`; the vertical axis does
        not shrink."""
        heights = np.array([len(patch.values) for _, patch in block], np.int32)
        begins = np.array([patch.columns.begin for _, patch in block], np.int32)
        widths = np.array([patch.columns.end for _, patch in block], np.int32) - begins
        lows = np.array([patch.rows.low for _, patch in block], np.int32)
        offsets = splits_of_sizes(heights.astype(np.int64) * widths)
        columns = np.empty(offsets[-1], np.float32)
        bounds = offsets.tolist()
        # Values that are not finite are named below; a warning would only say that there are some.
        with np.errstate(invalid="ignore", over="ignore"):
            for (_, patch), start, stop in zip(block, bounds[:-1], bounds[1:], strict=True):
                self._interpolate_x(patch, columns[start:stop])
        self._require_finite(columns, block)

        # Every column begins and ends at or below the threshold, so no change lies between two.
        above = columns > self._threshold
        if self._threshold != 0:
            # Weights add up to 1 but for rounding, which may lift equal values above the threshold.
            for (_, patch), start, stop in zip(block, bounds[:-1], bounds[1:], strict=True):
                above[start:stop].reshape(-1, len(patch.values))[:, [0, -1]] = False
        changes = np.flatnonzero(above[1:] != above[:-1])
        before, after, rising = columns[changes], columns[changes + 1], above[changes + 1]
        owner = np.repeat(np.arange(len(block)), np.diff(np.searchsorted(changes, offsets)))
        place = (changes - offsets[owner]).astype(np.int32)
        height = heights[owner]
        column = place // height
        segment = place - column * height + lows[owner] + 1
        rows = self._crossings(segment, before, after, rising)

        first_columns = splits_of_sizes(widths)[:-1]
        key = (column + first_columns[owner]) * (self._geometry.target_size[0] + 1) + rows
        x = column + begins[owner]
        real = drop_empty_pairs(key)
        if real is not None:
            x, rows, owner = x[real], rows[real], owner[real]
        indices = [index for index, _ in block]
        sizes[indices] = np.bincount(owner[::2], minlength=len(block))
        return np.stack([x[::2], rows[::2], rows[1::2]]).astype(np.int32)

    def _crossings(
        self,
        segment: npt.NDArray[np.int32],
        before: npt.NDArray[np.float32],
        after: npt.NDArray[np.float32],
        rising: npt.NDArray[np.bool_],
    ) -> npt.NDArray[np.int64]:
        """First output row at which the line from `before` to `after` is on the side of `after`."""
        segments = self._segments
        assert segments is not None
        begin, end = segments.begin[segment], segments.end[segment]
        high = after.astype(np.float64)
        share = (self._threshold - before.astype(np.float64)) / (high - before)
        guess = np.ceil((segment - 0.5 + share) / segments.spacing - 0.5)
        rows = np.clip(guess, begin, end).astype(np.int64)

        def crossed(outputs: npt.NDArray[np.int64]) -> npt.NDArray[np.bool_]:
            # One fused multiply-add, as the reference rounds: exact product and sum, then a single
            # rounding.
            low = before * segments.weight_low[outputs]
            value = (low + high * segments.weight_high[outputs]).astype(np.float32)
            return (value > self._threshold) == rising

        # The division is good to far less than a row, so only its two neighbours need the exact
        # test.
        earlier = (rows > begin) & crossed(np.maximum(rows - 1, 0))
        later = (rows < end) & ~earlier & ~crossed(np.minimum(rows, len(segments.weight_low) - 1))
        rows -= earlier
        rows += later
        return rows

    def _columns_that_shrink(
        self, block: list[tuple[int, Patch]], sizes: npt.NDArray[np.int64]
    ) -> npt.NDArray[np.int32]:
        """The same where the vertical axis shrinks: outputs are fewer than samples, so all are
        computed."""
        parts = []
        for index, patch in block:
            rows, width = patch.rows, patch.columns.end - patch.columns.begin
            columns = np.empty(width * len(patch.values), np.float32)
            with np.errstate(invalid="ignore", over="ignore"):
                self._interpolate_x(patch, columns)
            self._require_finite(columns, [(index, patch)])
            samples = columns.reshape(width, -1).T
            values = self._taps_y.interpolate(samples, rows.low, rows.begin, rows.end)
            runs = runs_of_bitmap(values > self._threshold)
            runs += np.array([[patch.columns.begin], [rows.begin], [rows.begin]], np.int32)
            sizes[index] = runs.shape[1]
            parts.append(runs)
        return np.concatenate(parts, axis=1)

    def _interpolate_x(self, patch: Patch, out: npt.NDArray[np.float32]) -> None:
        reach = patch.columns
        samples = np.ascontiguousarray(patch.values.T)
        lines = out.reshape(reach.end - reach.begin, len(patch.values))
        self._taps_x.interpolate(samples, reach.low, reach.begin, reach.end, lines)

    def _require_finite(
        self, values: npt.NDArray[np.float32], block: list[tuple[int, Patch]]
    ) -> None:
        if np.isfinite(values).all():
            return
        bad = next(index for index, patch in block if not np.isfinite(patch.values).all())
        raise MaskError(f"mask values must be finite, got NaN or infinity for object {bad}")
