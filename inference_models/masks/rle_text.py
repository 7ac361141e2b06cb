"""The text that COCO codes write counts in: groups of five bits a character. Knows counts only, no
masks.

Each count (from the fourth of a mask on, its difference to the count two places before) is cut into
groups of five bits, lowest first; bit 5 says that another group follows, the top bit of the last
group is the sign, and 48 is added.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

from inference_models.masks.errors import MalformedRLEError
from inference_models.masks.runs import mask_of_runs, splits_of_sizes

_MAX_GROUPS = 12


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
