"""`VideoFrame`: one frame with its place in its video. Decodes nothing."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime

import numpy as np

from execution_engine.images.metadata import VideoMetadata


@dataclass(frozen=True, slots=True, eq=False)
class VideoFrame:
    """A frame as it goes into a workflow and, with the result, to the sink.

    Attributes:
        image: (h, w, 3) BGR uint8, upright.
        frame_id: counts from 1 in the source; frames that could not be used have their number too.
        frame_timestamp: when the frame was taken: for files the start of the run plus the place in
            the file, for live sources its arrival.
        source_id: position of the source in the list of sources.
        video_identifier: name under which blocks keep state for this source.
        position: seconds since the first frame of the source.
        fps: declared frames a second, None when the source says nothing.
        measured_fps: frames a second that arrive from a live source; None for files.
        comes_from_video_file: whether the source is a file.
        total_frames: declared length of the file in frames, None when unknown.
        grabbed_at: monotonic clock (s) when the frame was decoded.
    """

    image: np.ndarray
    frame_id: int
    frame_timestamp: datetime
    source_id: int
    video_identifier: str
    position: float
    fps: float | None
    measured_fps: float | None
    comes_from_video_file: bool
    total_frames: int | None
    grabbed_at: float

    def metadata(self) -> VideoMetadata:
        """The place of the frame in its video, as blocks see it."""
        return VideoMetadata(
            video_identifier=self.video_identifier,
            frame_number=self.frame_id,
            frame_timestamp=self.frame_timestamp,
            fps=self.fps,
            measured_fps=self.measured_fps,
            comes_from_video_file=self.comes_from_video_file,
            total_frames=self.total_frames,
        )
