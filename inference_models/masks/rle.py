"""COCO run-length codes of masks, both ways, many masks at once. The text format is that of
`pycocotools`.

Counts alternate unset, set, unset, ... pixels of the whole grid, column by column, beginning with
unset ones. As text, each count (from the fourth on, its difference to the count two places before)
is written in groups of five bits, lowest first, bit 5 saying that another group follows, plus 48.
Bitmaps are never made here.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import pairwise
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
    """Compressed COCO codes, one a mask: `{"size": [h, w], "counts": ...}`, of the masks' grid.

    Args:
        masks: n masks.
        text: counts as `str`, ready for JSON; as `bytes`, as `pycocotools` has them, when False.
    """
    counts, splits = mask_counts(masks)
    codes, ends = compress_counts(counts, splits)
    size = list(masks.mask_size)
    bounds = ends.tolist()
    whole: str | bytes = codes.decode("ascii") if text else codes
    return [{"size": list(size), "counts": whole[start:stop]} for start, stop in pairwise(bounds)]


def mask_counts(
    masks: InstanceMasks,
) -> tuple[npt.NDArray[np.int64], npt.NDArray[np.int64]]:
    """Uncompressed counts over the whole grid: (k,) int64 of all masks, and splits (n + 1,)."""
    height, width = masks.mask_size
    owner = mask_of_runs(masks.splits)
    starts = masks.boxes[:, 0].astype(np.int64) * height + masks.boxes[:, 1]
    starts = starts[owner] + masks.runs[0] * np.int64(height) + masks.runs[1]
    stops = starts + (masks.runs[2] - masks.runs[1])
    return _alternate(starts, stops, masks.splits, owner, height * width)


def crop_counts(
    masks: InstanceMasks,
) -> tuple[npt.NDArray[np.int64], npt.NDArray[np.int64]]:
    """Uncompressed counts over each mask's crop: (k,) int64 of all masks, and splits (n + 1,)."""
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


def compress_counts(
    counts: npt.NDArray[np.integer], splits: npt.NDArray[np.int64]
) -> tuple[bytes, npt.NDArray[np.int64]]:
    """The text of all counts, mask after mask, and where each mask's text begins (n + 1,)."""
    values = counts.copy()
    values[2:] -= counts[:-2]
    # The first three counts of a mask are written as they are.
    for place in range(3):
        plain = splits[:-1] + place
        plain = plain[plain < splits[1:]]
        values[plain] = counts[plain]
    folded = np.where(values < 0, ~values, values)
    groups = np.ones(len(values), np.int8)
    limit = 16
    longer = np.flatnonzero(folded >= limit)
    while len(longer):
        groups[longer] += 1
        limit <<= 5
        longer = longer[folded[longer] >= limit]
    ends = np.zeros(len(values) + 1, np.int64)
    np.cumsum(groups, out=ends[1:])
    text = np.empty(ends[-1], np.uint8)
    more = groups > 1
    text[ends[:-1]] = (values & 31).astype(np.uint8) + 48 + (more.view(np.uint8) << 5)
    at = np.flatnonzero(more)
    left, position, remaining = values[at], ends[at], groups[at]
    while len(left):
        left, position, remaining = left >> 5, position + 1, remaining - 1
        more = remaining > 1
        text[position] = (left & 31).astype(np.uint8) + 48 + (more.view(np.uint8) << 5)
        left, position, remaining = left[more], position[more], remaining[more]
    return text.tobytes(), ends[splits]


def expand_counts(
    texts: Sequence[str | bytes], first_index: int = 0
) -> tuple[npt.NDArray[np.int64], npt.NDArray[np.int64]]:
    """The counts (k,) int64 that compressed texts stand for and their splits (n + 1,).

    The counts of a broken text may be negative or add up to anything. Errors number the texts from
    `first_index`.

    Raises:
        MalformedRLEError: a character is not part of the format, or a text ends inside a count.
    """
    raw = [_ascii(text, index) for index, text in enumerate(texts, first_index)]
    text_splits = splits_of_sizes(np.array([len(one) for one in raw], np.int64))
    digits = np.frombuffer(b"".join(raw), np.uint8) - np.uint8(48)
    wrong = np.flatnonzero(digits > 63)
    if len(wrong):
        index = int(np.searchsorted(text_splits, wrong[0], side="right")) - 1
        at = int(wrong[0] - text_splits[index])
        raise MalformedRLEError(
            f"counts of code {first_index + index} hold {raw[index][at : at + 1]!r} at {at}, "
            "which no count contains"
        )
    last = digits < 32
    filled = text_splits[1:] > text_splits[:-1]
    open_ended = np.flatnonzero(filled)[~last[text_splits[1:][filled] - 1]]
    if len(open_ended):
        index = int(open_ended[0])
        raise MalformedRLEError(
            f"counts of code {first_index + index} are cut off: the last of {len(raw[index])} "
            "characters asks for more"
        )
    ends = np.flatnonzero(last) + 1
    splits = np.searchsorted(ends, text_splits, side="right")
    starts = np.concatenate(([0], ends[:-1])).astype(np.int64)[: len(ends)]
    lengths = ends - starts
    if len(lengths) and int(lengths.max()) > _MAX_GROUPS:
        index = int(np.searchsorted(splits, lengths.argmax(), side="right")) - 1
        raise MalformedRLEError(
            f"counts of code {first_index + index} write a number in {lengths.max()} characters, "
            f"at most {_MAX_GROUPS} make sense"
        )
    values = _numbers(digits, starts, lengths)
    return _undo_differences(values, splits), splits


def _ascii(text: str | bytes, index: int) -> bytes:
    try:
        return text.encode("ascii") if isinstance(text, str) else bytes(text)
    except UnicodeEncodeError as error:
        raise MalformedRLEError(f"counts of code {index} are not ASCII: {error}") from error


def _numbers(
    digits: npt.NDArray[np.uint8], starts: npt.NDArray[np.int64], lengths: npt.NDArray[np.int64]
) -> npt.NDArray[np.int64]:
    values = np.zeros(len(starts), np.int64)
    at = np.arange(len(starts))
    group = 0
    while len(at):
        digit = digits[starts[at] + group]
        values[at] |= (digit & 31).astype(np.int64) << (5 * group)
        ends_here = lengths[at] == group + 1
        negative = at[ends_here & ((digit & 16) != 0)]
        values[negative] -= np.int64(1) << (5 * (group + 1))
        at = at[~ends_here]
        group += 1
    return values


def _undo_differences(
    values: npt.NDArray[np.int64], splits: npt.NDArray[np.int64]
) -> npt.NDArray[np.int64]:
    # Every mask gets an even number of places, so that its two interleaved chains fill the columns
    # of one table.
    sizes = np.diff(splits)
    pairs = splits_of_sizes((sizes + 1) // 2)
    table = np.zeros((int(pairs[-1]), 2), np.int64)
    owner = mask_of_runs(splits)
    place = np.arange(len(values)) - splits[owner] + 2 * pairs[owner]
    table.reshape(-1)[place] = values
    filled = sizes > 0
    begins = pairs[:-1][filled]
    first = table[begins, 0]
    table[begins, 0] = 0
    sums = np.zeros((len(table) + 1, 2), np.int64)
    np.cumsum(table, axis=0, out=sums[1:])
    counts = sums[1:] - np.repeat(sums[pairs[:-1]], np.diff(pairs), axis=0)
    counts[begins, 0] = first
    return counts.reshape(-1)[place]


def _alternate(
    starts: npt.NDArray[np.int64],
    stops: npt.NDArray[np.int64],
    splits: npt.NDArray[np.int64],
    owner: npt.NDArray[np.int64],
    totals: npt.NDArray[np.int64] | int,
) -> tuple[npt.NDArray[np.int64], npt.NDArray[np.int64]]:
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
    tails = np.broadcast_to(np.asarray(totals, np.int64), (count,)).copy()
    tails[filled] -= stops[splits[1:][filled] - 1]

    counts = np.empty(2 * len(starts) + count, np.int64)
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
