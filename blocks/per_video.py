"""State that a block keeps for each video. Knows no block and no clock."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable
from threading import Lock
from typing import Generic, TypeVar

T = TypeVar("T")

MAX_VIDEOS = 1024


class PerVideo(Generic[T]):
    """One value for each video, the longest unused dropped first so that a long run cannot grow it.

    Safe to use from several threads.

    Args:
        max_videos: videos remembered at a time.
    """

    def __init__(self, max_videos: int = MAX_VIDEOS) -> None:
        self._max_videos = max_videos
        self._values: OrderedDict[str | None, T] = OrderedDict()
        self._lock = Lock()

    def replace_if(
        self, video: str | None, value: T, condition: Callable[[T | None], bool]
    ) -> bool:
        """Stores `value` if `condition` holds for the stored one, and says whether it did.

        The condition gets None when nothing is stored.
        """
        with self._lock:
            replaced = condition(self._values.get(video))
            if replaced:
                self._values[video] = value
            if video in self._values:
                self._values.move_to_end(video)
            if len(self._values) > self._max_videos:
                self._values.popitem(last=False)
            return replaced

    def get(self, video: str | None) -> T | None:
        """The stored value, None when there is none."""
        with self._lock:
            if video in self._values:
                self._values.move_to_end(video)
            return self._values.get(video)

    def get_or_make(self, video: str | None, make: Callable[[], T]) -> T:
        """The stored value; when there is none, what `make` gives, stored."""
        with self._lock:
            if video not in self._values:
                self._values[video] = make()
            self._values.move_to_end(video)
            if len(self._values) > self._max_videos:
                self._values.popitem(last=False)
            return self._values[video]

    def set(self, video: str | None, value: T) -> None:
        """Stores `value`."""
        self.replace_if(video, value, lambda _: True)

    def __len__(self) -> int:
        return len(self._values)
