"""What the versions of the ByteTrack block share: fields, and one tracker for each video."""

from __future__ import annotations

from threading import Lock
from typing import TYPE_CHECKING

import numpy as np
from pydantic import Field

from blocks.kinds.detections.columns import select, with_columns
from blocks.parameters import number, whole_number
from blocks.per_video import PerVideo
from blocks.transformations.byte_tracker.byte_track import ByteTrack, ByteTrackOptions
from blocks.transformations.tracking.tracks import NOT_TRACKED
from execution_engine.block_api import (
    OutputDefinition,
    Selector,
    VideoMetadata,
    WorkflowBlock,
    WorkflowBlockManifest,
)
from execution_engine.kinds.catalogue import (
    FLOAT_ZERO_TO_ONE_KIND,
    INTEGER_KIND,
    OBJECT_DETECTION_PREDICTION_KIND,
)

if TYPE_CHECKING:
    import supervision as sv

_USUAL_FPS = 30.0
_MOST_FRAMES = 1_000_000


class ByteTrackerManifest(WorkflowBlockManifest):
    """Fields of every version; `type`, the video and the detections are those of a version."""

    track_activation_threshold: float | Selector(kind=[FLOAT_ZERO_TO_ONE_KIND]) | None = Field(
        default=0.25,
        title="Track Activation Threshold",
        description="Confidence above which a detection may begin a track (0.1 more is needed).",
    )
    lost_track_buffer: int | Selector(kind=[INTEGER_KIND]) | None = Field(
        default=30,
        title="Lost Track Buffer",
        description="Frames, at 30 a second, for which a track that is not seen is kept.",
    )
    minimum_matching_threshold: float | Selector(kind=[FLOAT_ZERO_TO_ONE_KIND]) | None = Field(
        default=0.8,
        title="Minimum Matching Threshold",
        description="Greatest distance (1 - overlap x confidence) between a track and a detection.",
    )
    minimum_consecutive_frames: int | Selector(kind=[INTEGER_KIND]) | None = Field(
        default=1,
        title="Minimum Consecutive Frames",
        description="Frames in which an object must be seen before it gets an id.",
    )

    @classmethod
    def describe_outputs(cls) -> list[OutputDefinition]:
        return [OutputDefinition("tracked_detections", [OBJECT_DETECTION_PREDICTION_KIND])]

    @classmethod
    def get_execution_engine_compatibility(cls) -> str | None:
        return ">=1.3.0,<2.0.0"


class ByteTrackerBlock(WorkflowBlock):
    """Tracks the objects of each video by itself; ids of a video count from 1."""

    returns_futures = False

    def __init__(self) -> None:
        self._trackers: PerVideo[ByteTrack] = PerVideo()
        self._lock = Lock()

    def tracked(
        self,
        metadata: VideoMetadata,
        detections: sv.Detections,
        activation_threshold: float | None,
        lost_buffer: int | None,
        matching_threshold: float | None,
        consecutive_frames: int | None,
    ) -> sv.Detections:
        """The detections that belong to a track, with its id; the others are left out.

        Options count as they are in each frame; one that is None is the default.
        """
        defaults = ByteTrackOptions()
        frames = whole_number(
            "lost_track_buffer", 30 if lost_buffer is None else lost_buffer, 0, _MOST_FRAMES
        )
        options = ByteTrackOptions(
            number(
                "track_activation_threshold",
                _or(activation_threshold, defaults.activation_threshold),
                0,
                1,
            ),
            int((metadata.fps or _USUAL_FPS) / _USUAL_FPS * frames),
            number(
                "minimum_matching_threshold",
                _or(matching_threshold, defaults.matching_threshold),
                0,
                1,
            ),
            whole_number(
                "minimum_consecutive_frames",
                1 if consecutive_frames is None else consecutive_frames,
                1,
                _MOST_FRAMES,
            ),
        )
        scores = detections.confidence
        if scores is None:
            scores = np.ones(len(detections), np.float32)
        with self._lock:
            tracker = self._trackers.get_or_make(metadata.video_identifier, ByteTrack)
            ids = tracker.update(detections.xyxy, scores, options)
        return select(with_columns(detections, {"tracker_id": ids}), ids != NOT_TRACKED)


def _or(value: float | None, default: float) -> float:
    return default if value is None else value
