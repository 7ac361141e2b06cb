"""Masks of prediction rows in JSON, polygons or RLE, as `sv.CompactMask` and as a column of RLE."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Literal

import numpy as np

from blocks.kinds.detections.compact import compact_from_crops
from blocks.kinds.detections.polygons import polygon_crop
from blocks.kinds.detections.rle import (
    compact_from_rles,
    plain_rle,
    require_grid,
    rles_from_compact,
)
from blocks.kinds.detections.row_members import Row

MaskColumns = Literal["none", "mask", "rle"]
"""What a kind has for masks in every set: nothing, a mask, or a mask and an `rle_mask` column."""

_RLE_KEYS = ("rle", "rle_mask")


def read_masks(
    name: str, rows: Sequence[Row], size: tuple[int, int] | None, mask_columns: MaskColumns
) -> tuple[Any, np.ndarray | None]:
    """(`sv.CompactMask` or None, column of RLE or None) of the rows.

    A row with neither RLE nor three points has no pixels where other rows have masks. The column of
    RLE is there when every row came as RLE, and always when `mask_columns` is `rle`.

    Args:
        name: the input, for messages.
        rows: the predictions.
        size: (height, width) of the image, px; without it the grid of the first RLE counts.
        mask_columns: what the kind has for masks in every set.

    Raises:
        ValueError: a mask is malformed, the size of the image is needed and not known, or masks are
            needed and no row has one.
    """
    if not rows:
        mask = None if mask_columns == "none" or size is None else compact_from_crops([], [], size)
        return mask, np.empty(0, dtype=object) if mask_columns == "rle" else None
    rles = [_rle_of(row) for row in rows]
    has_points = any("points" in row for row in rows)
    if not has_points and all(rle is None for rle in rles):
        if mask_columns == "rle":
            raise ValueError(f"`{name}.predictions` must have `rle_mask`, no row has a mask")
        return None, None
    if size is None:
        known = next((rle for rle in rles if rle is not None), None)
        if known is None or has_points:
            raise ValueError(f"`{name}.image` must have width and height: the rows have masks")
        size = _size_of(known)
    try:
        require_grid(size)
    except ValueError as error:
        raise ValueError(f"`{name}.image`: {error}") from error
    mask = _mask(name, rows, rles, size)
    came_as_rle = not has_points and all(rle is not None for rle in rles)
    if not came_as_rle and mask_columns != "rle":
        return mask, None
    written = [] if came_as_rle else rles_from_compact(mask)
    column = np.empty(len(rows), dtype=object)
    for index, rle in enumerate(rles):
        column[index] = written[index] if rle is None else plain_rle(rle)
    return mask, column


def _mask(
    name: str,
    rows: Sequence[Row],
    rles: Sequence[Mapping[str, Any] | None],
    size: tuple[int, int],
) -> Any:
    present = [rle for rle in rles if rle is not None]
    if len(present) == len(rows):
        try:
            return compact_from_rles(present, size)
        except ValueError as error:
            raise ValueError(f"`{name}.predictions`: {error}") from error
    from supervision import CompactMask

    from_rle, crops, offsets = [], [], []
    for index, (row, rle) in enumerate(zip(rows, rles, strict=True)):
        try:
            if rle is not None:
                from_rle.append(compact_from_rles([rle], size))
            else:
                crop, offset = _polygon_crop(row, size)
                crops.append(crop)
                offsets.append(offset)
        except (ValueError, TypeError, KeyError) as error:
            raise ValueError(
                f"`{name}.predictions[{index}]` has a mask that cannot be read: {error!r}"
            ) from error
    drawn = compact_from_crops(crops, offsets, size)
    if not from_rle:
        return drawn
    place = np.argsort([rle is None for rle in rles], kind="stable")
    return CompactMask.merge([*from_rle, drawn])[np.argsort(place)]


def _rle_of(row: Row) -> Mapping[str, Any] | None:
    for key in _RLE_KEYS:
        rle = row.get(key)
        if isinstance(rle, Mapping) and "size" in rle and "counts" in rle:
            return rle
    return None


def _size_of(rle: Mapping[str, Any]) -> tuple[int, int]:
    try:
        height, width = rle["size"]
        return int(height), int(width)
    except (TypeError, ValueError):
        return 0, 0


def _polygon_crop(row: Row, size: tuple[int, int]) -> tuple[np.ndarray, tuple[int, int]]:
    points = row.get("points") or []
    if len(points) < 3:
        # The box stays; its mask has no pixels.
        return np.zeros((0, 0), np.uint8), (0, 0)
    return polygon_crop([(point["x"], point["y"]) for point in points], size)
