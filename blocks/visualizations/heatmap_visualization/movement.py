"""Which tracked objects have moved. Draws nothing."""

from __future__ import annotations

from collections import OrderedDict
from typing import Any

import numpy as np
from numpy.typing import NDArray

MOST_TRACKS = 10_000


class MovingTracks:
    """Remembers where each track of one video last counted; the longest unseen is dropped first.

    Args:
        most_tracks: tracks remembered at a time.
    """

    def __init__(self, most_tracks: int = MOST_TRACKS) -> None:
        self._most_tracks = most_tracks
        self._places: OrderedDict[int, tuple[float, float]] = OrderedDict()

    def moved(
        self, tracker_ids: NDArray[Any], places: NDArray[Any], threshold: float
    ) -> NDArray[np.bool_]:
        """(n,) whether each track has moved so far since it last counted, or was first seen.

        Args:
            tracker_ids: (n,); negative ones are no tracks yet and have not moved.
            places: (n, 2) px.
            threshold: distance, px.
        """
        result = np.zeros(len(tracker_ids), bool)
        for row, (track, (x, y)) in enumerate(
            zip(tracker_ids.tolist(), np.asarray(places, np.float64).tolist(), strict=True)
        ):
            if track < 0:
                continue
            last = self._places.get(track)
            if last is not None:
                result[row] = np.hypot(x - last[0], y - last[1]) >= threshold
            if last is None or result[row]:
                self._places[track] = (x, y)
            self._places.move_to_end(track)
        while len(self._places) > self._most_tracks:
            self._places.popitem(last=False)
        return result

    def __len__(self) -> int:
        return len(self._places)
