"""COCO run-length encoding by arithmetic on runs: no function here makes a canvas.

Runs are counted down the columns, the first run is background. Anything about boxes, polygons or
rows of predictions belongs elsewhere.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

if TYPE_CHECKING:
    from supervision import CompactMask

Runs = tuple[NDArray[np.int64], NDArray[np.int64]]
"""Foreground runs [start, stop) as positions down the columns of a grid, sorted, never touching."""

_BITS = 5
_CHARACTERS_OF_INT64 = 13
MOST_PIXELS = 1 << 28
"""Largest grid of a mask that is read; runs of larger ones would not fit `sv.CompactMask`."""


def decode_counts(counts: str | bytes | Sequence[int] | np.ndarray) -> NDArray[np.int64]:
    """Run lengths (background first) from COCO's compressed text or from a list of lengths.

    Raises:
        ValueError: the text is cut off or no such code, or a length is negative.
    """
    if isinstance(counts, (str, bytes, bytearray)):
        lengths = _decompress(counts.encode("ascii") if isinstance(counts, str) else bytes(counts))
    else:
        lengths = np.asarray(counts, dtype=np.int64)
        if lengths.ndim != 1:
            raise ValueError(f"RLE counts must be a flat list, got shape {lengths.shape}")
    if (lengths < 0).any():
        raise ValueError("RLE counts hold a negative length")
    return lengths


def _decompress(text: bytes) -> NDArray[np.int64]:
    # A number is a little-endian sequence of 5-bit groups, each a character from 48 up; bit 5 says
    # that more follow, bit 4 of the last one is the sign. From the fourth on, a number is the
    # difference to the one two places before.
    codes = np.frombuffer(text, np.uint8).astype(np.int64) - 48
    if len(codes) == 0:
        return np.zeros(0, np.int64)
    if ((codes < 0) | (codes > 63)).any():
        raise ValueError("RLE counts hold characters that are no part of the code")
    last = (codes & 0x20) == 0
    if not last[-1]:
        raise ValueError("RLE counts end in the middle of a number")
    ends = np.flatnonzero(last)
    starts = np.empty_like(ends)
    starts[0], starts[1:] = 0, ends[:-1] + 1
    if (ends - starts >= _CHARACTERS_OF_INT64 - 1).any():
        raise ValueError("RLE counts hold a number that is too large")
    place = (np.arange(len(codes)) - np.repeat(starts, ends - starts + 1)) * _BITS
    values = np.add.reduceat((codes & 0x1F) << place, starts)
    negative = (codes[ends] & 0x10) != 0
    values -= np.where(negative, np.int64(1) << ((ends - starts + 1) * _BITS), 0)
    values[1::2] = np.cumsum(values[1::2])
    values[2::2] = np.cumsum(values[2::2])
    return values


def encode_counts(lengths: NDArray[np.int64]) -> str:
    """COCO's compressed text of run lengths (background first)."""
    values = np.asarray(lengths, dtype=np.int64).copy()
    values[3:] -= np.asarray(lengths, dtype=np.int64)[1:-2]
    characters = np.zeros((len(values), _CHARACTERS_OF_INT64), np.uint8)
    used = np.zeros(characters.shape, bool)
    open_rows = np.arange(len(values))
    for place in range(_CHARACTERS_OF_INT64):
        group = values & 0x1F
        values = values >> _BITS
        more = np.where(group & 0x10, values != -1, values != 0)
        characters[open_rows, place] = group + np.where(more, 0x20, 0) + 48
        used[open_rows, place] = True
        open_rows, values = open_rows[more], values[more]
        if len(open_rows) == 0:
            break
    return characters[used].tobytes().decode("ascii")


def runs_of_counts(lengths: NDArray[np.int64]) -> Runs:
    """Foreground runs of run lengths."""
    ends = np.cumsum(lengths)
    return _joined(ends[:-1:2], ends[1::2])


def counts_of_runs(runs: Runs, pixels: int) -> NDArray[np.int64]:
    """Run lengths of foreground runs on a grid of so many pixels; no trailing run of length 0."""
    starts, stops = runs
    borders = np.zeros(2 * len(starts) + 2, np.int64)
    borders[1:-1:2], borders[2:-1:2], borders[-1] = starts, stops, pixels
    lengths = np.diff(borders)
    return lengths[:-1] if len(starts) and lengths[-1] == 0 else lengths


def runs_of_crop(crop: NDArray[np.bool_]) -> Runs:
    """Foreground runs of a mask (h, w)."""
    flat = np.zeros(crop.size + 2, np.int8)
    flat[1:-1] = crop.ravel(order="F")
    steps = np.flatnonzero(np.diff(flat))
    return steps[::2], steps[1::2]


def crop_runs(runs: Runs, size: tuple[int, int]) -> tuple[Runs, tuple[int, int], tuple[int, int]]:
    """The runs on the smallest grid that holds them.

    Args:
        runs: foreground runs on the whole grid.
        size: (height, width) of the whole grid.

    Returns:
        The runs, the (height, width) of the small grid, and the (x, y) of its corner in the whole.
        Without foreground: one background pixel at (0, 0).
    """
    starts, stops = runs
    if len(starts) == 0:
        return runs, (1, 1), (0, 0)
    height = size[0]
    first_column, top = np.divmod(starts, height)
    last_column, bottom = np.divmod(stops - 1, height)
    x0, x1 = int(first_column[0]), int(last_column[-1])
    if (first_column != last_column).any():
        # A run that goes on in the next column touches the bottom and the top.
        y0, y1 = 0, height - 1
    else:
        y0, y1 = int(top.min()), int(bottom.max())
    crop_height = y1 - y0 + 1
    new_starts = (first_column - x0) * crop_height + (top - y0)
    new_stops = (last_column - x0) * crop_height + (bottom - y0) + 1
    return _joined(new_starts, new_stops), (crop_height, x1 - x0 + 1), (x0, y0)


def place_runs(
    runs: Runs, crop_height: int, offset: tuple[int, int], size: tuple[int, int]
) -> Runs:
    """The runs of a crop on the whole grid; the crop must lie inside it.

    Args:
        runs: foreground runs of the crop.
        crop_height: height of the crop.
        offset: (x, y) of its corner in the whole grid.
        size: (height, width) of the whole grid.
    """
    starts, stops = runs
    height = size[0]
    if len(starts) == 0 or crop_height == height:
        return starts + offset[0] * height, stops + offset[0] * height
    first_column = starts // crop_height
    pieces = (stops - 1) // crop_height - first_column + 1
    if (pieces > 1).any():
        # Runs that go on in the next column of the crop are apart in the whole grid.
        run = np.repeat(np.arange(len(starts)), pieces)
        nth = np.arange(len(run)) - np.repeat(np.cumsum(pieces) - pieces, pieces)
        column = first_column[run] + nth
        top = np.maximum(starts[run], column * crop_height)
        end = np.minimum(stops[run], (column + 1) * crop_height)
    else:
        column, top, end = first_column, starts, stops
    shift = (column + offset[0]) * height + offset[1] - column * crop_height
    return _joined(top + shift, end + shift)


def _joined(starts: NDArray[np.int64], stops: NDArray[np.int64]) -> Runs:
    """Runs without empty ones, those that touch made one."""
    filled = stops > starts
    if not filled.all():
        starts, stops = starts[filled], stops[filled]
    apart = starts[1:] != stops[:-1]
    if not apart.all():
        starts = starts[np.concatenate(([True], apart))]
        stops = stops[np.concatenate((apart, [True]))]
    return starts, stops


def runs_of_rle(rle: Mapping[str, Any]) -> tuple[Runs, tuple[int, int]]:
    """Foreground runs and grid (height, width) of `{"size": [h, w], "counts"}`.

    Raises:
        ValueError: a member is missing or the counts do not cover the grid exactly.
    """
    if not isinstance(rle, Mapping) or "size" not in rle or "counts" not in rle:
        raise ValueError('an RLE mask must be {"size": [height, width], "counts": text}')
    height, width = (int(side) for side in rle["size"])
    require_grid((height, width))
    lengths = decode_counts(rle["counts"])
    pixels = int(lengths.sum())
    if pixels != height * width:
        raise ValueError(
            f"an RLE mask of size [{height}, {width}] must cover {height * width} px, "
            f"its counts cover {pixels}"
        )
    return runs_of_counts(lengths), (height, width)


def require_grid(size: tuple[int, int]) -> None:
    """Raises `ValueError` for a grid (height, width) without pixels or with too many."""
    height, width = size
    if height <= 0 or width <= 0 or height * width > MOST_PIXELS:
        raise ValueError(
            f"masks are read on grids of 1 to {MOST_PIXELS} px, got height {height}, width {width}"
        )


def plain_rle(rle: Mapping[str, Any]) -> dict[str, Any]:
    """`{"size": [h, w], "counts": text}` with Python numbers and text, the JSON form of an RLE."""
    counts = rle["counts"]
    if isinstance(counts, (bytes, bytearray)):
        counts = counts.decode("ascii")
    elif not isinstance(counts, str):
        counts = encode_counts(decode_counts(counts))
    height, width = rle["size"]
    return {"size": [int(height), int(width)], "counts": counts}


def compact_from_runs(
    crops: Sequence[tuple[Runs, tuple[int, int], tuple[int, int]]], image_size: tuple[int, int]
) -> CompactMask:
    """`sv.CompactMask` of one crop a mask: (runs, (height, width), (x, y)), see `crop_runs`.

    Args:
        crops: the masks.
        image_size: (height, width) of the image they lie in.
    """
    from supervision import CompactMask

    lengths = [counts_of_runs(runs, shape[0] * shape[1]) for runs, shape, _ in crops]
    return CompactMask(
        [item.astype(np.int32) for item in lengths],
        np.array([shape for _, shape, _ in crops], np.int32).reshape(-1, 2),
        np.array([offset for _, _, offset in crops], np.int32).reshape(-1, 2),
        (int(image_size[0]), int(image_size[1])),
    )


def compact_from_rles(
    rles: Sequence[Mapping[str, Any]], image_size: tuple[int, int]
) -> CompactMask:
    """`sv.CompactMask` (n) of COCO RLEs, each cut to its support.

    A mask on another grid than the image is brought to the image's by nearest-neighbour sampling.

    Args:
        rles: `{"size": [h, w], "counts"}` each.
        image_size: (height, width) of the image, px.

    Raises:
        ValueError: an RLE is malformed; the text says which.
    """
    from supervision import CompactMask

    crops, sizes = [], []
    for row, rle in enumerate(rles):
        try:
            runs, size = runs_of_rle(rle)
        except (ValueError, TypeError) as error:
            raise ValueError(f"mask {row}: {error}") from error
        crops.append(crop_runs(runs, size))
        sizes.append(size)
    image_size = (int(image_size[0]), int(image_size[1]))
    if len(set(sizes)) <= 1:
        mask = compact_from_runs(crops, sizes[0] if sizes else image_size)
        return mask if mask.image_shape == image_size else mask.resize(image_size)
    return CompactMask.merge(
        [
            compact_from_runs([crop], size).resize(image_size)
            for crop, size in zip(crops, sizes, strict=True)
        ]
    )


def rles_from_compact(mask: CompactMask) -> list[dict[str, Any]]:
    """`{"size": [h, w], "counts": text}` of each mask, on the grid of the image."""
    size = (int(mask.image_shape[0]), int(mask.image_shape[1]))
    boxes = mask.bbox_xyxy.tolist()
    result = []
    for lengths, (x0, y0, _, y1) in zip(mask._rles, boxes, strict=True):
        runs = runs_of_counts(lengths.astype(np.int64))
        placed = place_runs(runs, y1 - y0 + 1, (x0, y0), size)
        counts = encode_counts(counts_of_runs(placed, size[0] * size[1]))
        result.append({"size": [size[0], size[1]], "counts": counts})
    return result
