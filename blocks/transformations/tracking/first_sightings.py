"""`FirstSightings`: which ids of tracks are met for the first time. Tracks nothing."""

from __future__ import annotations

from collections import OrderedDict

import numpy as np
from numpy.typing import NDArray


class FirstSightings:
    """The ids met so far in one video. Not safe to use from several threads at once."""

    def __init__(self) -> None:
        self._seen: OrderedDict[int, None] = OrderedDict()

    def are_new(self, ids: NDArray[np.integer] | None, cache_size: int) -> NDArray[np.bool_]:
        """(n,) whether each of the ids (n,) is met for the first time.

        Args:
            ids: ids in this frame; None is no ids.
            cache_size: ids that are remembered; those not met longest are forgotten.
        """
        is_new = []
        for track in [] if ids is None else ids.tolist():
            is_new.append(track not in self._seen)
            self._seen[track] = None
            self._seen.move_to_end(track)
        while len(self._seen) > cache_size:
            self._seen.popitem(last=False)
        return np.array(is_new, dtype=bool)
