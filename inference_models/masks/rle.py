"""COCO run-length codes of masks, both ways, many masks at once. The text format is `rle_text`'s.

Counts alternate unset, set, unset, ... pixels of the whole grid, column by column, beginning with
unset ones. Bitmaps are never made here.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import pairwise
from typing import Any

import numpy as np
import numpy.typing as npt

from inference_models.masks.carrier import InstanceMasks, checked_size
from inference_models.masks.errors import MalformedRLEError, MaskError
from inference_models.masks.rle_text import compress_counts, expand_counts
from inference_models.masks.runs import (
    join_touching,
    mask_of_runs,
    split_at_columns,
    splits_of_sizes,
)

Size = tuple[int, int]
RLE = dict[str, Any]


def encode_masks(masks: InstanceMasks, *, text: bool = True) -> list[RLE]:
    """Compressed COCO codes, one a mask: `{"size": [h, w], "counts": ...}`, of the masks' grid.

    Args:
        masks: n masks.
        text: counts as `str`, ready for JSON; as `bytes`, as `pycocotools` has them, when False.
    """
    counts, splits = mask_counts(masks)
    codes, ends = compress_counts(counts, splits)
    height, width = masks.mask_size
    whole: str | bytes = codes.decode("ascii") if text else codes
    return [
        {"size": [height, width], "counts": whole[start:stop]}
        for start, stop in pairwise(ends.tolist())
    ]


def mask_counts(
    masks: InstanceMasks,
) -> tuple[npt.NDArray[np.integer], npt.NDArray[np.int64]]:
    """Uncompressed counts over the whole grid: (k,) integers of all masks, and splits (n + 1,)."""
    height, width = masks.mask_size
    owner = mask_of_runs(masks.splits)
    # Half the bytes, nearly half the time, wherever positions fit.
    steps = np.array(height, np.int32 if height * width < 1 << 31 else np.int64)
    corners = np.multiply(masks.boxes[:, 0], steps) + masks.boxes[:, 1]
    starts = corners[owner] + np.multiply(masks.runs[0], steps) + masks.runs[1]
    stops = starts + (masks.runs[2] - masks.runs[1])
    return _alternate(starts, stops, masks.splits, owner, height * width)


def crop_counts(
    masks: InstanceMasks,
) -> tuple[npt.NDArray[np.integer], npt.NDArray[np.int64]]:
    """Uncompressed counts over each crop: (k,) integers of all masks, and splits (n + 1,)."""
    sizes = masks.boxes[:, 2:] - masks.boxes[:, :2].astype(np.int64)
    heights = sizes[:, 1]
    owner = mask_of_runs(masks.splits)
    starts = masks.runs[0] * heights[owner] + masks.runs[1]
    stops = starts + (masks.runs[2] - masks.runs[1])
    return _alternate(starts, stops, masks.splits, owner, sizes[:, 0] * heights)


def decode_rle(
    rles: Sequence[Mapping[str, Any]],
    image_size: Size | None = None,
    mask_size: Size | None = None,
) -> InstanceMasks:
    """Masks from COCO codes that share one grid.

    Args:
        rles: n objects with `size` [h, w] and `counts`: compressed `str` or `bytes`, or a list of
            integers.
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
    texts = [isinstance(rle["counts"], (str, bytes, bytearray)) for rle in rles]
    if all(texts):
        counts, splits = expand_counts([rle["counts"] for rle in rles])
    else:
        parts = [
            expand_counts([rle["counts"]], index)[0]
            if text
            else _plain_counts(rle["counts"], index)
            for index, (rle, text) in enumerate(zip(rles, texts, strict=True))
        ]
        splits = splits_of_sizes(np.array([len(part) for part in parts], np.int64))
        counts = np.concatenate(parts)
    _require_sums(counts, splits, size)
    return _masks_of_counts(counts, splits, size, image_size)


def decode_rle_on_any_grid(rles: Sequence[Mapping[str, Any]], image_size: Size) -> InstanceMasks:
    """Masks from COCO codes that may each name a grid of its own over one image.

    Codes that share a grid keep it; otherwise all masks meet on the image's pixels, by nearest
    neighbour.

    Args:
        rles: n codes as `decode_rle` takes them.
        image_size: the image; the grid, too, when there are no codes.

    Raises:
        MalformedRLEError: a code is broken; the message numbers it among those of its grid.
    """
    grids = [_size_of(rle, index) for index, rle in enumerate(rles)]
    kinds = sorted(set(grids))
    if len(kinds) < 2:
        return decode_rle(rles, image_size, mask_size=kinds[0] if kinds else image_size)
    rows = [[row for row, grid in enumerate(grids) if grid == kind] for kind in kinds]
    parts = [decode_rle([rles[row] for row in group], image_size).on_image_grid() for group in rows]
    return InstanceMasks.concat(parts).select(np.argsort(np.concatenate(rows)))


def masks_of_crop_counts(
    counts: Sequence[npt.NDArray[np.integer]],
    crop_sizes: npt.NDArray[np.integer],
    offsets: npt.NDArray[np.integer],
    mask_size: Size,
) -> InstanceMasks:
    """Masks from uncompressed counts over crops.

    Args:
        counts: n arrays of counts, each over its own crop.
        crop_sizes: (n, 2) h, w of the crops.
        offsets: (n, 2) x, y of the crops on the grid, on which they must lie.
        mask_size: the grid.

    Raises:
        MalformedRLEError: counts do not add up to their crop.
    """
    splits = splits_of_sizes(np.array([len(one) for one in counts], np.int64))
    flat = np.concatenate([np.zeros(0, np.int64), *counts]).astype(np.int64)
    sizes = np.asarray(crop_sizes, np.int64).reshape(-1, 2)
    sums = np.bincount(mask_of_runs(splits), weights=flat, minlength=len(counts))
    wrong = np.flatnonzero((sums != sizes.prod(axis=1)) | (sums < 0))
    if len(wrong) or (flat < 0).any():
        index = int(wrong[0]) if len(wrong) else 0
        raise MalformedRLEError(
            f"counts of crop {index} add up to {sums[index]:.0f}, but it has "
            f"{sizes[index].prod()} pixels"
        )
    runs, run_splits, owners = _runs_of_counts(flat, splits, sizes[:, 0])
    shift = np.asarray(offsets, np.int32).reshape(-1, 2)[owners].T
    return InstanceMasks.from_runs(runs + shift[[0, 1, 1]], run_splits, mask_size=mask_size)


def _alternate(
    starts: npt.NDArray[np.integer],
    stops: npt.NDArray[np.integer],
    splits: npt.NDArray[np.int64],
    owner: npt.NDArray[np.int64],
    totals: npt.NDArray[np.int64] | int,
) -> tuple[npt.NDArray[np.integer], npt.NDArray[np.int64]]:
    """Counts from flat stretches of set pixels; stretches that touch, in neighbouring columns,
    become one."""
    count = len(splits) - 1
    touching = stops[:-1] == starts[1:]
    if touching.any():
        first = np.zeros(len(starts) + 1, np.bool_)
        first[splits] = True
        opens = first[:-1].copy()
        opens[1:] |= ~touching
        closes = np.append(opens[1:], True) | first[1:]
        sizes = np.diff(np.concatenate(([0], np.cumsum(opens)))[splits])
        starts, stops, owner = starts[opens], stops[closes], owner[opens]
        splits = splits_of_sizes(sizes)
    gaps = starts.copy()
    gaps[1:] -= stops[:-1]
    filled = splits[1:] > splits[:-1]
    begins = splits[:-1][filled]
    gaps[begins] = starts[begins]
    tails = np.broadcast_to(np.asarray(totals, starts.dtype), (count,)).copy()
    tails[filled] -= stops[splits[1:][filled] - 1]

    counts = np.empty(2 * len(starts) + count, starts.dtype)
    at = 2 * np.arange(len(starts)) + owner
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
    heights = np.full(len(splits) - 1, size[0], np.int64)
    runs, run_splits, _ = _runs_of_counts(counts, splits, heights)
    return InstanceMasks.from_runs(runs, run_splits, mask_size=size, image_size=image_size)


def _runs_of_counts(
    counts: npt.NDArray[np.int64], splits: npt.NDArray[np.int64], heights: npt.NDArray[np.int64]
) -> tuple[npt.NDArray[np.int32], npt.NDArray[np.int64], npt.NDArray[np.int64]]:
    """Runs of counts over grids of the given heights, their splits and owners."""
    ends = np.concatenate(([0], np.cumsum(counts)))
    owner = mask_of_runs(splits)
    place = np.arange(len(counts)) - splits[owner]
    stretch = np.flatnonzero((place % 2 == 1) & (counts > 0))
    owners = owner[stretch]
    stops = ends[stretch + 1] - ends[splits[owners]]
    starts = stops - counts[stretch]
    runs, pieces = split_at_columns(starts, stops, heights[owners])
    # A count of no unset pixels leaves two runs of a column without a gap.
    runs, owners = join_touching(runs, np.repeat(owners, pieces))
    return runs, splits_of_sizes(np.bincount(owners, minlength=len(splits) - 1)), owners


def _size_of(rle: Mapping[str, Any], index: int) -> Size:
    if not isinstance(rle, Mapping) or "size" not in rle or "counts" not in rle:
        raise MalformedRLEError(
            f'code {index} must be an object with "size" and "counts", got {rle!r:.80}'
        )
    size = rle["size"]
    try:
        height, width = size
        whole = int(height) == height and int(width) == width
    except (TypeError, ValueError) as error:
        raise MalformedRLEError(
            f"size of code {index} must be [height, width], got {size!r}"
        ) from error
    if not whole:
        raise MalformedRLEError(f"size of code {index} must be whole numbers, got {size!r}")
    return checked_size(f"size of code {index}", (int(height), int(width)))


def _plain_counts(counts: Any, index: int) -> npt.NDArray[np.int64]:
    given = np.asarray(counts)
    if given.ndim != 1 or (len(given) and given.dtype.kind not in "iu"):
        raise MalformedRLEError(
            f"counts of code {index} must be text or a list of integers, got {counts!r:.80}"
        )
    return given.astype(np.int64)


def _require_sums(counts: npt.NDArray[np.int64], splits: npt.NDArray[np.int64], size: Size) -> None:
    area = size[0] * size[1]
    wrong = np.flatnonzero((counts < 0) | (counts > area))
    if len(wrong):
        index = int(np.searchsorted(splits, wrong[0], side="right")) - 1
        total = sum(counts[splits[index] : splits[index + 1]].tolist())
        raise MalformedRLEError(
            f"counts of code {index} hold {counts[wrong[0]]} and add up to {total}; counts of size "
            f"{list(size)} lie in 0..{area} and add up to {area}"
        )
    # Sums of doubles are exact for any grid there can be, and too large ones cannot wrap around to
    # a right one.
    sums = np.bincount(mask_of_runs(splits), weights=counts, minlength=len(splits) - 1)
    wrong = np.flatnonzero(sums != area)
    if len(wrong):
        index = int(wrong[0])
        raise MalformedRLEError(
            f"counts of code {index} add up to {sums[index]:.0f}, but its size {list(size)} has "
            f"{area} pixels"
        )
