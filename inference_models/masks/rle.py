"""COCO run-length codes of masks, both ways, many masks at once. The text format is that of `pycocotools`.

Counts alternate unset, set, unset, ... pixels of the whole grid, column by column, beginning with unset ones. As text,
each count (from the fourth on, its difference to the count two places before) is written in groups of five bits, lowest
first, bit 5 saying that another group follows, plus 48. Bitmaps are never made here.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from inference_models.masks.carrier import InstanceMasks, checked_size
from inference_models.masks.errors import MalformedRLEError, MaskError
from inference_models.masks.runs import (
    join_touching,
    mask_of_runs,
    split_at_columns,
    splits_of_sizes,
)

Size = tuple[int, int]
RLE = dict[str, Any]

_MAX_GROUPS = 12


def encode_masks(masks: InstanceMasks, *, text: bool = True) -> list[RLE]:
    """Compressed COCO codes, one a mask: `{"size": [h, w], "counts": ...}` with the size of the grid.

    Args:
        masks: n masks.
        text: counts as `str`, ready for JSON; as `bytes`, as `pycocotools` has them, when False.
    """
    counts, splits = mask_counts(masks)
    codes, ends = compress_counts(counts, splits)
    size = list(masks.mask_size)
    bounds = ends.tolist()
    whole: str | bytes = codes.decode("ascii") if text else codes
    return [
        {"size": list(size), "counts": whole[start:stop]}
        for start, stop in zip(bounds[:-1], bounds[1:], strict=True)
    ]


def mask_counts(
    masks: InstanceMasks,
) -> tuple[npt.NDArray[np.int64], npt.NDArray[np.int64]]:
    """Uncompressed counts over the whole grid: (k,) int64 of all masks and their splits (n + 1,)."""
    height, width = masks.mask_size
    runs = masks.grid_runs()
    column_starts = runs[0] * height
    return _alternate(column_starts + runs[1], column_starts + runs[2], masks.splits, height * width)


def crop_counts(
    masks: InstanceMasks,
) -> tuple[npt.NDArray[np.int64], npt.NDArray[np.int64]]:
    """Uncompressed counts over each mask's own crop: (k,) int64 of all masks and their splits (n + 1,)."""
    sizes = masks.boxes[:, 2:] - masks.boxes[:, :2].astype(np.int64)
    heights = sizes[:, 1]
    column_starts = masks.runs[0] * heights[mask_of_runs(masks.splits)]
    areas = sizes[:, 0] * heights
    return _alternate(
        column_starts + masks.runs[1], column_starts + masks.runs[2], masks.splits, areas
    )


def decode_rle(
    rles: Sequence[Mapping[str, Any]],
    image_size: Size | None = None,
    mask_size: Size | None = None,
) -> InstanceMasks:
    """Masks from COCO codes that share one grid.

    Args:
        rles: n objects with `size` [h, w] and `counts`: compressed `str` or `bytes`, or a list of integers.
        image_size: the image the masks belong to; the grid's size when None.
        mask_size: the grid; needed only when there are no codes.

    Raises:
        MalformedRLEError: counts are no integers, negative, cut off, or do not add up to the size.
        MaskError: sizes differ, or nothing says what the grid is.
    """
    if not rles:
        if mask_size is None:
            raise MaskError("without any code the grid is unknown: pass mask_size")
        return InstanceMasks.empty(mask_size, image_size)
    sizes = {_size_of(rle, index) for index, rle in enumerate(rles)}
    if mask_size is not None:
        sizes.add(checked_size("mask_size", mask_size))
    if len(sizes) > 1:
        raise MaskError(f"codes of one set of masks must share one size, got {sorted(sizes)}")
    size = sizes.pop()
    parts = [_counts_of(rle["counts"], size, index) for index, rle in enumerate(rles)]
    splits = splits_of_sizes(np.array([len(part) for part in parts], np.int64))
    counts = np.concatenate(parts)
    return _masks_of_counts(counts, splits, size, image_size)


def compress_counts(
    counts: npt.NDArray[np.int64], splits: npt.NDArray[np.int64]
) -> tuple[bytes, npt.NDArray[np.int64]]:
    """The text of all counts, mask after mask, and where each mask's text begins and ends (n + 1,)."""
    values = counts.copy()
    values[2:] -= counts[:-2]
    # The first three counts of a mask are written as they are.
    for place in range(3):
        plain = splits[:-1] + place
        plain = plain[plain < splits[1:]]
        values[plain] = counts[plain]
    folded = values ^ (values >> 63)
    groups = np.ones(len(values), np.int64)
    limit = 16
    longer = np.flatnonzero(folded >= limit)
    while len(longer):
        groups[longer] += 1
        limit <<= 5
        longer = longer[folded[longer] >= limit]
    ends = np.zeros(len(values) + 1, np.int64)
    np.cumsum(groups, out=ends[1:])
    text = np.empty(ends[-1], np.uint8)
    left, at = values, ends[:-1]
    remaining = groups
    while len(left):
        more = remaining > 1
        text[at] = (left & 31) + 48 + (more << 5)
        left, at, remaining = left[more] >> 5, at[more] + 1, remaining[more] - 1
    return text.tobytes(), ends[splits]


def expand_counts(text: str | bytes) -> npt.NDArray[np.int64]:
    """The counts (k,) int64 that a compressed text stands for; they may be negative in a broken one.

    Raises:
        MalformedRLEError: a character is not part of the format, or the text ends inside a count.
    """
    try:
        raw = text.encode("ascii") if isinstance(text, str) else bytes(text)
    except UnicodeEncodeError as error:
        raise MalformedRLEError(f"counts hold a character outside of ASCII: {error}") from error
    digits = np.frombuffer(raw, np.uint8).astype(np.int64) - 48
    wrong = np.flatnonzero((digits < 0) | (digits > 63))
    if len(wrong):
        at = int(wrong[0])
        raise MalformedRLEError(f"counts hold {raw[at : at + 1]!r} at {at}, which no count contains")
    if not len(digits):
        return digits
    last = (digits & 32) == 0
    if not last[-1]:
        raise MalformedRLEError(f"counts are cut off: the last of {len(digits)} characters asks for more")
    ends = np.flatnonzero(last) + 1
    starts = np.concatenate(([0], ends[:-1]))
    lengths = ends - starts
    if int(lengths.max()) > _MAX_GROUPS:
        raise MalformedRLEError(f"a count is written in {lengths.max()} characters, at most {_MAX_GROUPS} make sense")
    shift = 5 * (np.arange(len(digits)) - np.repeat(starts, lengths))
    values = np.add.reduceat((digits & 31) << shift, starts)
    negative = (digits[ends - 1] & 16) != 0
    values[negative] -= np.int64(1) << (5 * lengths[negative])
    values[1::2] = np.cumsum(values[1::2])
    values[2::2] = np.cumsum(values[2::2])
    return values


def _alternate(
    starts: npt.NDArray[np.int64],
    stops: npt.NDArray[np.int64],
    splits: npt.NDArray[np.int64],
    totals: npt.NDArray[np.int64] | int,
) -> tuple[npt.NDArray[np.int64], npt.NDArray[np.int64]]:
    """Counts from flat stretches of set pixels; stretches that touch, in neighbouring columns, become one."""
    count = len(splits) - 1
    touching = stops[:-1] == starts[1:]
    if touching.any():
        first = np.zeros(len(starts) + 1, np.bool_)
        first[splits] = True
        opens = first[:-1].copy()
        opens[1:] |= ~touching
        closes = np.append(opens[1:], True) | first[1:]
        sizes = np.diff(np.concatenate(([0], np.cumsum(opens)))[splits])
        starts, stops, splits = starts[opens], stops[closes], splits_of_sizes(sizes)
    gaps = starts.copy()
    gaps[1:] -= stops[:-1]
    filled = splits[1:] > splits[:-1]
    begins = splits[:-1][filled]
    gaps[begins] = starts[begins]
    tails = np.broadcast_to(np.asarray(totals, np.int64), (count,)).copy()
    tails[filled] -= stops[splits[1:][filled] - 1]

    counts = np.empty(2 * len(starts) + count, np.int64)
    at = 2 * np.arange(len(starts)) + mask_of_runs(splits)
    counts[at] = gaps
    counts[at + 1] = stops - starts
    bounds = 2 * splits + np.arange(count + 1)
    counts[bounds[1:] - 1] = tails
    # A grid whose last pixel is set has no unset ones to count at the end.
    needless = (tails == 0) & filled
    if needless.any():
        counts = np.delete(counts, bounds[1:][needless] - 1)
        bounds = bounds - np.concatenate(([0], np.cumsum(needless)))
    return counts, bounds


def _masks_of_counts(
    counts: npt.NDArray[np.int64],
    splits: npt.NDArray[np.int64],
    size: Size,
    image_size: Size | None,
) -> InstanceMasks:
    ends = np.cumsum(counts)
    owner = mask_of_runs(splits)
    place = np.arange(len(counts)) - splits[owner]
    stretch = np.flatnonzero((place % 2 == 1) & (counts > 0))
    area = size[0] * size[1]
    stops = ends[stretch] - owner[stretch] * area
    starts = stops - counts[stretch]
    runs, pieces = split_at_columns(starts, stops, size[0])
    owners = np.repeat(owner[stretch], pieces)
    runs, owners = join_touching(runs, owners)
    sizes = np.bincount(owners, minlength=len(splits) - 1)
    return InstanceMasks.from_runs(
        runs, splits_of_sizes(sizes), mask_size=size, image_size=image_size
    )


def _size_of(rle: Mapping[str, Any], index: int) -> Size:
    if not isinstance(rle, Mapping) or "size" not in rle or "counts" not in rle:
        raise MalformedRLEError(f'code {index} must be an object with "size" and "counts", got {rle!r:.80}')
    size = rle["size"]
    try:
        height, width = size
        whole = int(height) == height and int(width) == width
    except (TypeError, ValueError) as error:
        raise MalformedRLEError(f"size of code {index} must be [height, width], got {size!r}") from error
    if not whole:
        raise MalformedRLEError(f"size of code {index} must be whole numbers, got {size!r}")
    return checked_size(f"size of code {index}", (int(height), int(width)))


def _counts_of(counts: Any, size: Size, index: int) -> npt.NDArray[np.int64]:
    if isinstance(counts, (str, bytes, bytearray)):
        try:
            values = expand_counts(bytes(counts) if isinstance(counts, bytearray) else counts)
        except MalformedRLEError as error:
            raise MalformedRLEError(f"code {index}: {error.message}") from error
    else:
        given = np.asarray(counts)
        if given.ndim != 1 or (len(given) and given.dtype.kind not in "iu"):
            raise MalformedRLEError(
                f"counts of code {index} must be text or a list of integers, got {counts!r:.80}"
            )
        values = given.astype(np.int64)
    area = size[0] * size[1]
    if len(values) and int(values.min()) < 0:
        raise MalformedRLEError(
            f"counts of code {index} hold {values.min()}; a count cannot be negative"
        )
    # Each count is checked first, so the sum cannot wrap around.
    if len(values) and int(values.max()) > area or int(values.sum()) != area:
        total = sum(values.tolist())
        raise MalformedRLEError(
            f"counts of code {index} add up to {total}, but its size {list(size)} has {area} pixels"
        )
    return values
