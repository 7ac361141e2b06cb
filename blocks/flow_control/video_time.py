"""What gates know of videos: which one an image belongs to and its time.

State of each video is in `blocks.per_video`; no block may live here.
"""

from __future__ import annotations

import time
from dataclasses import dataclass
from typing import Literal

from execution_engine.block_api import VideoMetadata, WorkflowImageData

CROP_SUFFIX = " | crop: "


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
    return moment_in(frame.video_metadata)


def moment_in(metadata: VideoMetadata) -> Moment:
    """The time of a frame by its place in its video, see `moment_of`."""
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
