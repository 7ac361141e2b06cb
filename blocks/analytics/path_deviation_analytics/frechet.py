"""`PathDeviations`: how far the ways of tracked objects are from a path. Knows no block.

The measure is the discrete Fréchet distance (Eiter and Mannila, "Computing Discrete Fréchet
Distance", 1994): the shortest leash with which one can walk along both ways from point to point,
never back.
"""

from __future__ import annotations

from collections import OrderedDict

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]

MOST_TRACKS = 16384
"""Tracks of a video whose way is remembered."""
MOST_NUMBERS = 1 << 24
"""Numbers that are kept for a video: one for each track and point of the path."""


class PathDeviations:
    """The ways of the objects of one video along one path.

    Of a way only the last row of the table of leashes is kept, so a frame takes the same time
    however long the ways are. Not safe to use from several threads at once.

    Args:
        path: (m, 2) x, y of its points, px, m > 0.
        anchor: place of the objects that is followed.
    """

    def __init__(self, path: Floats, anchor: str) -> None:
        self._path = path
        self._anchor = anchor
        self._rows: OrderedDict[int, Floats] = OrderedDict()
        self._most_tracks = max(1, min(MOST_TRACKS, MOST_NUMBERS // len(path)))

    def is_for(self, path: Floats, anchor: str) -> bool:
        """Whether it measures against this path by this anchor."""
        return anchor == self._anchor and np.array_equal(path, self._path)

    def update(self, ids: NDArray[np.int64], points: Floats) -> Floats:
        """Takes in a frame; (n,) distances of the ways so far from the path, px.

        Args:
            ids: (n,) tracks; negative ones, which are not confirmed, are ways of one point.
            points: (n, 2) x, y, px.
        """
        distances = np.zeros(len(ids))
        for row, track in enumerate(ids.tolist()):
            leashes = next_leashes(self._rows.get(track), self._path, points[row])
            distances[row] = leashes[-1]
            if track >= 0:
                self._rows[track] = leashes
                self._rows.move_to_end(track)
        while len(self._rows) > self._most_tracks:
            self._rows.popitem(last=False)
        return distances


def next_leashes(before: Floats | None, path: Floats, point: Floats) -> Floats:
    """(m,) leashes of a way that went on to a point: for each point of the path, the shortest with
    which way and path can be walked up to there.

    Args:
        before: the same one point earlier, None at the first point.
        path: (m, 2) x, y.
        point: (2,) x, y.
    """
    with np.errstate(over="ignore"):
        away = path - point
    distances = np.hypot(away[:, 0], away[:, 1])
    if before is None:
        return np.maximum.accumulate(distances)
    # On the way before: still at this point of the path, or at the one before it.
    reached = before.copy()
    np.minimum(before[1:], before[:-1], out=reached[1:])
    leashes: list[float] = []
    last = np.inf
    for arrived, distance in zip(reached.tolist(), distances.tolist(), strict=True):
        # Or this point of the way was reached earlier on the path.
        last = max(distance, min(arrived, last))
        leashes.append(last)
    return np.array(leashes)
