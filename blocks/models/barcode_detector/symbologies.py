"""Widths of bars and gaps to text: EAN-13, UPC-A, EAN-8, Code 128 and Code 39. Knows no picture.

Sources: the tables of ISO/IEC 15420 (EAN/UPC), 15417 (Code 128) and 16388 (Code 39).
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

import numpy as np

# Distance of four to six measured widths from those of a character, in modules all together, up to
# which it is that character.
_FARTHEST = 2.0
# Free space beside a code, in modules. The standards ask for 7 to 10, printers often leave less.
_QUIET = 3.0
_EAN_GUARD = 0.7

# Gap, bar, gap, bar of digits in the left half, odd parity. Even parity is the mirror image, and
# the right half has the same widths as odd parity with colours swapped.
_DIGITS = np.array(
    [
        (3, 2, 1, 1), (2, 2, 2, 1), (2, 1, 2, 2), (1, 4, 1, 1), (1, 1, 3, 2),
        (1, 2, 3, 1), (1, 1, 1, 4), (1, 3, 1, 2), (1, 2, 1, 3), (3, 1, 1, 2),
    ],
    np.float64,
)  # fmt: skip
_BOTH_PARITIES = np.concatenate([_DIGITS, _DIGITS[:, ::-1]])
# Parities of the left half, 1 for even, say the first digit.
_FIRST_DIGITS = {
    parities: digit
    for digit, parities in enumerate(
        [
            (0, 0, 0, 0, 0, 0), (0, 0, 1, 0, 1, 1), (0, 0, 1, 1, 0, 1), (0, 0, 1, 1, 1, 0),
            (0, 1, 0, 0, 1, 1), (0, 1, 1, 0, 0, 1), (0, 1, 1, 1, 0, 0), (0, 1, 0, 1, 0, 1),
            (0, 1, 0, 1, 1, 0), (0, 1, 1, 0, 1, 0),
        ]
    )
}  # fmt: skip

# Bar, gap, bar, gap, bar, gap of each value.
_CODE_128_WIDTHS = (
    "212222 222122 222221 121223 121322 131222 122213 122312 132212 221213 221312 231212 "
    "112232 122132 122231 113222 123122 123221 223211 221132 221231 213212 223112 312131 "
    "311222 321122 321221 312212 322112 322211 212123 212321 232121 111323 131123 131321 "
    "112313 132113 132311 211313 231113 231311 112133 112331 132131 113123 113321 133121 "
    "313121 211331 231131 213113 213311 213131 311123 311321 331121 312113 312311 332111 "
    "314111 221411 431111 111224 111422 121124 121421 141122 141221 112214 112412 122114 "
    "122411 142112 142211 241211 221114 413111 241112 134111 111242 121142 121241 114212 "
    "124112 124211 411212 421112 421211 212141 214121 412121 111143 111341 131141 114113 "
    "114311 411113 411311 113141 114131 311141 411131 211412 211214 211232 233111"
)
_CODE_128 = np.array(
    [
        [int(width) for width in _CODE_128_WIDTHS[start : start + 6]]
        for start in range(0, len(_CODE_128_WIDTHS), 7)
    ],
    np.float64,
)
# The last of the values are the starts of the code sets A, B and C, and the stop, which has one
# bar more.
_STOP = 106
_LAST_BAR = 2.0
_START_A, _START_C = 103, 105
_FNC_1 = "\x1d"
_MOST_CHARACTERS = 256

# Which two of five bars are wide, for ten characters; which gap is wide tells the tens.
_WIDE_BARS = ("10001", "01001", "11000", "00101", "10100", "01100", "00011", "10010", "01010",
              "00110")  # fmt: skip
_BY_WIDE_GAP = {1: "1234567890", 2: "ABCDEFGHIJ", 3: "KLMNOPQRST", 0: "UVWXYZ-. *"}
_BY_NARROW_GAP = {0: "%", 1: "+", 2: "/", 3: "$"}


def _code_39() -> dict[tuple[bool, ...], str]:
    table = {}
    for gap, characters in _BY_WIDE_GAP.items():
        for bars, character in zip(_WIDE_BARS, characters, strict=True):
            wide = [False] * 9
            wide[::2] = [bar == "1" for bar in bars]
            wide[1::2] = [place == gap for place in range(4)]
            table[tuple(wide)] = character
    for gap, character in _BY_NARROW_GAP.items():
        wide = [False] * 9
        wide[1::2] = [place != gap for place in range(4)]
        table[tuple(wide)] = character
    return table


_CODE_39 = _code_39()
_CODE_39_GUARD = next(wide for wide, character in _CODE_39.items() if character == "*")
# Wide elements are two to three times as wide as narrow ones.
_LEAST_WIDE = 1.6
# Without a check digit, short codes are found in textures.
_SHORTEST_CODE_39 = 3


class Reading(NamedTuple):
    """A code on a line: its text and the positions of its first and last edge in the edges."""

    symbology: str
    text: str
    first: int
    last: int


def read_widths(edges: np.ndarray) -> Iterator[Reading]:
    """The codes on lines, in the direction of reading.

    Args:
        edges: (2 k,) places where the colour changes, ascending, the even ones from light to dark.
            Between two lines there is a gap that is wider than any code's elements.
    """
    widths = np.diff(edges)
    if len(widths) < 2:
        return
    before = np.concatenate([[np.inf], widths])
    after = np.concatenate([widths, [np.inf]])
    yield from _ean(widths, before, after, digits=6)
    yield from _ean(widths, before, after, digits=4)
    yield from _read_code_128(widths, before, after)
    yield from _read_code_39(widths, before, after)


def _windows(widths: np.ndarray, length: int) -> np.ndarray:
    """(k, length): the widths from each bar on."""
    if len(widths) < length:
        return np.empty((0, length))
    return np.lib.stride_tricks.sliding_window_view(widths, length)[::2]


def _ean(
    widths: np.ndarray, before: np.ndarray, after: np.ndarray, digits: int
) -> Iterator[Reading]:
    """EAN-13 with 6 digits a half, EAN-8 with 4."""
    count, modules = 8 * digits + 11, 14 * digits + 11
    middle = 3 + 4 * digits
    guards = [0, 1, 2, *range(middle, middle + 5), count - 3, count - 2, count - 1]
    windows = _windows(widths, count)
    module = windows.sum(axis=1) / modules
    fits = np.isfinite(module)
    for place in guards:
        fits &= np.abs(windows[:, place] - module) < _EAN_GUARD * module
    for start in np.flatnonzero(fits).tolist():
        first, size = 2 * start, module[start]
        last = first + count
        if before[first] < _QUIET * size or after[last] < _QUIET * size:
            continue
        halves = windows[start][3:middle], windows[start][middle + 5 : count - 3]
        measured = np.concatenate(halves).reshape(-1, 4)
        measured = measured / measured.sum(axis=1, keepdims=True) * 7
        distances = np.abs(measured[:, None] - _BOTH_PARITIES).sum(axis=2)
        found = distances.argmin(axis=1)
        if distances.min(axis=1).max() > _FARTHEST or (found[digits:] > 9).any():
            continue
        text = "".join(str(digit % 10) for digit in found.tolist())
        parities = tuple((found[:digits] > 9).astype(int).tolist())
        if digits == 6:
            lead = _FIRST_DIGITS.get(parities)
            if lead is None:
                continue
            text = f"{lead}{text}"
        elif any(parities):
            continue
        if not _ean_check(text):
            continue
        if digits == 4:
            yield Reading("EAN-8", text, first, last)
        elif text[0] == "0":
            yield Reading("UPC-A", text[1:], first, last)
        else:
            yield Reading("EAN-13", text, first, last)


def _ean_check(text: str) -> bool:
    weighted = sum(int(digit) * (3 if place % 2 else 1) for place, digit in enumerate(text[::-1]))
    return weighted % 10 == 0


def _read_code_128(widths: np.ndarray, before: np.ndarray, after: np.ndarray) -> Iterator[Reading]:
    windows = _windows(widths, 6)
    size = windows.sum(axis=1) / 11
    starts = _CODE_128[_START_A : _START_C + 1]
    distances = np.abs(windows[:, None] / size[:, None, None] - starts).sum(axis=2)
    fits = distances.min(axis=1) <= _FARTHEST
    fits &= before[::2][: len(size)] >= _QUIET * size
    for start in np.flatnonzero(fits).tolist():
        first = 2 * start
        values, last = _code_128_values(widths, first)
        if last is None or after[last] < _QUIET * size[start]:
            continue
        text = code_128_text(values)
        if text:
            yield Reading("Code 128", text, first, last)


def _code_128_values(widths: np.ndarray, first: int) -> tuple[list[int], int | None]:
    """Values of the characters from the start on, and the edge after the stop, None without."""
    values: list[int] = []
    size = widths[first : first + 6].sum() / 11
    for place in range(first, len(widths) - 6, 6):
        character = widths[place : place + 6]
        new_size = character.sum() / 11
        if not 0.7 * size < new_size < 1.4 * size or len(values) > _MOST_CHARACTERS:
            return values, None
        distances = np.abs(character / new_size - _CODE_128).sum(axis=1)
        value = int(distances.argmin())
        if distances[value] > _FARTHEST:
            return values, None
        if value == _STOP:
            closed = abs(widths[place + 6] / new_size - _LAST_BAR) < 1
            return values, place + 7 if closed else None
        values.append(value)
        size = new_size
    return values, None


def code_128_text(values: list[int]) -> str | None:
    """The text of Code 128, None where the check character is wrong or a function is not known.

    Args:
        values: of all characters from the start to the check character, without the stop.
    """
    if len(values) < 3 or not _START_A <= values[0] <= _START_C:
        return None
    weighted = sum(place * value for place, value in enumerate(values[1:-1], start=1))
    if (values[0] + weighted) % 103 != values[-1]:
        return None
    code = "ABC"[values[0] - _START_A]
    text, shifted = "", False
    for place, value in enumerate(values[1:-1]):
        now = {"A": "B", "B": "A"}[code] if shifted else code
        shifted = False
        if value == 102:  # FNC1: first it says that GS1 rules hold, later it ends a field
            text += _FNC_1 if place else ""
        elif now == "C":
            if value < 100:
                text += f"{value:02d}"
            elif value in (100, 101):
                code = "B" if value == 100 else "A"
            else:
                return None
        elif value < 64 or (value < 96 and now == "B"):
            text += chr(value + 32)
        elif value < 96:
            text += chr(value - 64)
        elif value == 98:
            shifted = True
        elif value == 99:
            code = "C"
        elif (value == 100 and now == "A") or (value == 101 and now == "B"):
            code = "B" if value == 100 else "A"
        else:
            return None
    return text


def _read_code_39(widths: np.ndarray, before: np.ndarray, after: np.ndarray) -> Iterator[Reading]:
    windows = _windows(widths, 9)
    if len(windows) == 0:
        return
    guard = np.array(_CODE_39_GUARD)
    narrow, wide = windows[:, ~guard], windows[:, guard]
    fits = wide.min(axis=1) >= _LEAST_WIDE * narrow.mean(axis=1)
    fits &= narrow.max(axis=1) < wide.min(axis=1)
    fits &= wide.max(axis=1) < 2 * wide.min(axis=1)
    for start in np.flatnonzero(fits).tolist():
        first, size = 2 * start, float(narrow[start].mean())
        text, last = _code_39_text(widths, first)
        quiet = _QUIET * size
        if last is None or before[first] < quiet or after[last] < quiet:
            continue
        if len(text) >= _SHORTEST_CODE_39:
            yield Reading("Code 39", text, first, last)


def _code_39_text(widths: np.ndarray, first: int) -> tuple[str, int | None]:
    """The text between two guards, and the edge after the second, None without one."""
    text = ""
    total = widths[first : first + 9].sum()
    # A gap as wide as a narrow or a wide element parts the characters.
    for place in range(first + 10, len(widths) - 8, 10):
        character = widths[place : place + 9]
        if not 0.8 * total < character.sum() < 1.25 * total or widths[place - 1] > total / 3:
            return text, None
        if len(text) > _MOST_CHARACTERS:
            return text, None
        half = (character.min() + character.max()) / 2
        found = _CODE_39.get(tuple((character > half).tolist()))
        if found is None or character.max() < _LEAST_WIDE * character.min():
            return text, None
        if found == "*":
            return text, place + 9
        text += found
        total = character.sum()
    return text, None
