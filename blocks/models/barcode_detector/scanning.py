"""Finding barcodes on lines across a picture. Knows no symbology.

Lines run in four directions: one is never more than 22.5 degrees off the direction in which a code
is read, and crosses all of its bars when they are half as high as the code is wide.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator
from typing import NamedTuple

import cv2
import numpy as np

from blocks.models.barcode_detector.symbologies import read_widths
from blocks.models.read_codes import ReadCode

_ANGLES = (0, 90, 45, 135)
_MOST_LINES = 160
_LEAST_STEP = 2
# Rows that are averaged to a line.
_LINE_HEIGHT = 3
# A bar and the gap beside it differ by so many levels, and by such a part of what the darkest and
# the brightest place around them differ by.
_LEAST_CONTRAST = 20
_LEAST_CHANGE = 0.2
# What counts as around, as a part of the line.
_NEIGHBOURHOOD = 1 / 8
_LEAST_NEIGHBOURHOOD = 31
_BETWEEN_LINES = 1e5
# Lines that must agree.
_LEAST_HITS = 2
# Lines in a row that may miss a code which the lines around them cross.
_MOST_MISSES = 4


def scan(gray: np.ndarray) -> Iterator[ReadCode]:
    """The barcodes of a picture; one may come several times.

    Args:
        gray: (h, w) uint8.
    """
    for angle in _ANGLES:
        turned, back = _turned(gray, angle)
        for text, ends in _codes_on_lines(turned):
            yield ReadCode.of_corners(text, cv2.transform(ends[None], back)[0])


def _turned(gray: np.ndarray, angle: int) -> tuple[np.ndarray, np.ndarray]:
    """The picture turned, and the (2, 3) map of its places to those of the picture."""
    height, width = gray.shape
    radians = np.deg2rad(angle)
    cosine, sine = float(np.cos(radians)), float(np.sin(radians))
    if angle == 0:
        return gray, np.array([[1, 0, 0], [0, 1, 0]], np.float64)
    new_width = int(np.ceil(abs(width * cosine) + abs(height * sine)))
    new_height = int(np.ceil(abs(width * sine) + abs(height * cosine)))
    back = np.array([[cosine, -sine, 0], [sine, cosine, 0]])
    centre = np.array([(new_width - 1) / 2, (new_height - 1) / 2])
    back[:, 2] = np.array([(width - 1) / 2, (height - 1) / 2]) - back[:, :2] @ centre
    turned = cv2.warpAffine(
        gray,
        back,
        (new_width, new_height),
        flags=cv2.INTER_LINEAR | cv2.WARP_INVERSE_MAP,
        borderMode=cv2.BORDER_CONSTANT,
        borderValue=(255,),
    )
    return turned, back


def _codes_on_lines(gray: np.ndarray) -> Iterator[tuple[str, np.ndarray]]:
    """Text and the ends (n, 2) on all lines, x, y in px, of each code with bars across rows."""
    rows, edges, places = _edges(gray)
    if len(edges) == 0:
        return
    hits: dict[tuple[str, str], list[tuple[int, float, float]]] = defaultdict(list)
    for reading in read_widths(edges):
        ends = places[[reading.first, reading.last]]
        hits[reading.symbology, reading.text].append((int(rows[reading.first]), *ends.tolist()))
    count = len(edges)
    for reading in read_widths(-edges[::-1]):
        left, right = count - 1 - reading.last, count - 1 - reading.first
        ends = places[[left, right]]
        hits[reading.symbology, reading.text].append((int(rows[left]), *ends.tolist()))
    step = _step(gray.shape[0])
    for (_, text), lines in hits.items():
        for group in _groups(sorted(lines), step):
            if len(group) >= _LEAST_HITS:
                half = step / 2
                # A code goes on for half a step beyond its first and last line.
                top = [(x, group[0][0] - half) for x in group[0][1:]]
                bottom = [(x, group[-1][0] + half) for x in group[-1][1:]]
                inner = [(x, y) for y, *ends in group for x in ends]
                yield text, np.array(top + inner + bottom, np.float64)


def _step(height: int) -> int:
    return max(_LEAST_STEP, height // _MOST_LINES)


def _edges(gray: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Row, place over all lines, and x of each change of colour, the first of a line to dark.

    A change is a way up or down between two turns of the brightness and lies where half of the way
    is done: blur and uneven light move a bar's brightness, but not this place.
    """
    height, width = gray.shape
    reach = _LINE_HEIGHT // 2
    lines = np.arange(reach, height - reach, _step(height))
    if len(lines) == 0 or width < 3:
        return np.empty(0, np.intp), np.empty(0), np.empty(0)
    band = cv2.blur(gray, (1, _LINE_HEIGHT))[lines]
    # A bar at the end of a line has two sides, too: the line goes on as bright as it is there.
    brightest, _ = _extremes(band)
    band = np.concatenate([brightest[:, :1], band, brightest[:, -1:]], axis=1)
    ways = _ways(band)
    # Lines begin and end in light.
    new_line = np.concatenate([[True], np.diff(ways.line) != 0, [True]])
    ways = ways.kept(~((new_line[:-1] & ways.up) | (new_line[1:] & ~ways.up)))
    places = _half_way(band.astype(np.float64), ways) - 1
    return lines[ways.line], ways.line * _BETWEEN_LINES + places, places


class _Ways(NamedTuple):
    """Ways up and down, in the order of lines: from `start` to `end`, px, both included."""

    line: np.ndarray
    start: np.ndarray
    end: np.ndarray
    up: np.ndarray

    def kept(self, rows: np.ndarray) -> _Ways:
        return _Ways(*(column[rows] for column in self))


def _ways(band: np.ndarray) -> _Ways:
    """The ways of lines (n, w) that matter: up and down in turn on each line."""
    slope = np.diff(band.astype(np.int16), axis=1)
    line, start = np.nonzero(slope)
    end = start + 1
    change = slope[line, start].astype(np.int64)
    brightest, darkest = _extremes(band)
    contrast = (brightest - darkest)[line, start]
    least = np.maximum(_LEAST_CONTRAST, _LEAST_CHANGE * contrast)
    # Small ways are noise on the large ones around them.
    for part in (0.0, 0.4, 1.0):
        kept = np.abs(change) >= part * least
        line, start, end, change, least = (a[kept] for a in (line, start, end, change, least))
        if len(line) == 0:
            break
        turns = (np.diff(line) != 0) | (np.diff(np.sign(change)) != 0)
        first = np.concatenate([[0], np.flatnonzero(turns) + 1])
        last = np.concatenate([first[1:] - 1, [len(line) - 1]])
        change, least = np.add.reduceat(change, first), np.maximum.reduceat(least, first)
        line, start, end = line[first], start[first], end[last]
    return _Ways(line, start, end, change > 0)


def _extremes(band: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """The brightest and the darkest pixel around each place of lines (n, w)."""
    around = max(_LEAST_NEIGHBOURHOOD, int(band.shape[1] * _NEIGHBOURHOOD)) | 1
    kernel = np.ones((1, around), np.uint8)
    return cv2.dilate(band, kernel), cv2.erode(band, kernel)


def _half_way(band: np.ndarray, ways: _Ways) -> np.ndarray:
    """(n,) x where each way passes the middle of its two ends, px."""
    width = band.shape[1]
    begins, ends = band[ways.line, ways.start], band[ways.line, ways.end]
    brightest, darkest = _extremes(band)
    around = ((brightest + darkest) / 2)[ways.line, ways.start]
    # Blur takes the ends of a narrow bar's ways off those of wide ones: both tell where half is.
    middle = ((begins + ends) / 2 + around) / 2
    middle = np.clip(middle, np.minimum(begins, ends) + 1, np.maximum(begins, ends) - 1)
    steps = ways.end - ways.start
    way = np.repeat(np.arange(len(steps)), steps)
    x = np.arange(len(way)) - np.repeat(np.cumsum(steps) - steps, steps) + ways.start[way]
    flat = band.ravel()
    here = flat[ways.line[way] * width + x] - middle[way]
    there = flat[ways.line[way] * width + x + 1] - middle[way]
    passes = np.where(ways.up[way], (here < 0) & (there >= 0), (here >= 0) & (there < 0))
    way, x, here, there = way[passes], x[passes], here[passes], there[passes]
    crossings = x + here / (here - there)
    # Noise may make it pass several times.
    count = np.bincount(way, minlength=len(steps))
    return np.bincount(way, crossings, minlength=len(steps)) / np.maximum(count, 1)


def _groups(
    lines: list[tuple[int, float, float]], step: int
) -> Iterator[list[tuple[int, float, float]]]:
    """The lines of one text, parted where they are of several codes."""
    groups: list[list[tuple[int, float, float]]] = []
    for y, left, right in lines:
        for group in groups:
            last_y, last_left, last_right = group[-1]
            near = y - last_y <= (_MOST_MISSES + 1) * step
            if near and left < last_right and last_left < right:
                group.append((y, left, right))
                break
        else:
            groups.append([(y, left, right)])
    yield from groups
