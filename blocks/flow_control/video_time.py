"""What gates know of videos: which one an image belongs to, its time, and state for each.

No block may live here.
"""

from __future__ import annotations

import time
from collections import OrderedDict
from collections.abc import Callable
from dataclasses import dataclass
from threading import Lock
from typing import Generic, Literal, TypeVar

from execution_engine.block_api import WorkflowImageData

T = TypeVar("T")

CROP_SUFFIX = " | crop: "
MAX_VIDEOS = 1024


@dataclass(frozen=True, slots=True)
class Moment:
    """A point in time on one of three clocks; moments of different clocks cannot be compared.

    Attributes:
        clock: `frames` (frame number over frame rate), `timestamps` (when frames were taken) or
            `host` (monotonic).
        seconds: position on that clock.
    """

    clock: Literal["frames", "timestamps", "host"]
    seconds: float

    def distance(self, other: Moment) -> float | None:
        """Seconds between two moments in any order, None when they are of different clocks."""
        return abs(self.seconds - other.seconds) if self.clock == other.clock else None


def moment_of(frame: WorkflowImageData | None) -> Moment:
    """The time of a frame; the host's clock without a frame or for an image that is no frame.

    Frames of a file, and numbered frames of an unknown source, are timed by `frame_number / fps`;
    frames of a live source, whose declared rate says little about time, by their timestamp.
    """
    if frame is None or not frame.has_video_metadata:
        return Moment("host", time.monotonic())
    metadata = frame.video_metadata
    numbered = metadata.comes_from_video_file or (
        metadata.comes_from_video_file is None and metadata.frame_number > 0
    )
    if numbered and metadata.fps:
        return Moment("frames", metadata.frame_number / metadata.fps)
    return Moment("timestamps", metadata.frame_timestamp.timestamp())


def video_of(frame: WorkflowImageData | None) -> str | None:
    """Identifier of the video a frame, or a crop of it, belongs to; None for other images."""
    if frame is None or not frame.has_video_metadata:
        return None
    return frame.video_metadata.video_identifier.split(CROP_SUFFIX, 1)[0]


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

    def set(self, video: str | None, value: T) -> None:
        """Stores `value`."""
        self.replace_if(video, value, lambda _: True)

    def __len__(self) -> int:
        return len(self._values)
