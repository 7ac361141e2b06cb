"""What the blocks of SORT, ByteTrack, OC-SORT and BoT-SORT share: fields, outputs, and one tracker
for each video. How boxes are matched is the matter of each family.
"""

from __future__ import annotations

import math
from abc import abstractmethod
from collections.abc import Sequence
from threading import Lock
from typing import TYPE_CHECKING, Any, Generic, Protocol, TypeVar

import numpy as np
from numpy.typing import ArrayLike, NDArray
from pydantic import ConfigDict, Field

from blocks.kinds.detections.columns import select, with_columns
from blocks.kinds.prediction_kinds import TRACKED_KINDS
from blocks.parameters import number, whole_number
from blocks.per_video import PerVideo
from blocks.transformations.tracking.fields import WholeNumber
from blocks.transformations.tracking.first_sightings import FirstSightings
from blocks.transformations.tracking.tracks import NOT_TRACKED
from execution_engine.block_api import (
    OutputDefinition,
    Selector,
    WorkflowBlock,
    WorkflowBlockManifest,
    WorkflowImageData,
)
from execution_engine.kinds.catalogue import IMAGE_KIND

if TYPE_CHECKING:
    import supervision as sv

_USUAL_FPS = 30.0
_MOST_FRAMES = 1_000_000

O_contra = TypeVar("O_contra", contravariant=True)
O = TypeVar("O")  # noqa: E741 - the options of a tracker
T = TypeVar("T", bound="Tracker[Any]")


def describe(
    name: str, short_description: str, long_description: str, search_keywords: Sequence[str]
) -> ConfigDict:
    """What editors show of a tracker."""
    return ConfigDict(
        json_schema_extra={
            "name": name,
            "version": "v1",
            "short_description": short_description,
            "long_description": (
                f"{long_description} Detections that belong to no track, or to one that is too "
                "young, are left out. Each video is tracked by itself, and its ids count from 1. "
                "Also tells which objects are met for the first time."
            ),
            "license": "Apache-2.0",
            "block_type": "transformation",
            "search_keywords": ["tracking", "track", "id", "follow", *search_keywords],
        }
    )


class TrackerManifest(WorkflowBlockManifest):
    """Fields of every tracker; those about matching are of the families."""

    image: Selector(kind=[IMAGE_KIND]) = Field(
        title="Image",
        description="Frame that the detections were made on; it tells the video.",
        examples=["$inputs.image"],
    )
    detections: Selector(kind=[*TRACKED_KINDS]) = Field(
        title="Detections",
        description="Objects to follow.",
        examples=["$steps.model.predictions"],
    )
    lost_track_buffer: WholeNumber = Field(
        default=30,
        title="Lost Track Buffer",
        description="Frames, at 30 a second, for which a track that is not seen is kept.",
        examples=[30, "$inputs.lost_track_buffer"],
    )
    instances_cache_size: int = Field(
        default=16384,
        title="Instances Cache Size",
        description="Ids that are remembered to tell new objects from those seen before.",
        examples=[16384],
    )

    @classmethod
    def describe_outputs(cls) -> list[OutputDefinition]:
        names = ("tracked_detections", "new_instances", "already_seen_instances")
        return [OutputDefinition(name, [*TRACKED_KINDS]) for name in names]

    @classmethod
    def get_execution_engine_compatibility(cls) -> str | None:
        return ">=1.3.0,<2.0.0"


class Tracker(Protocol[O_contra]):
    """Gives boxes (n, 4) xyxy with scores (n,) the ids (n,) of tracks, frame by frame."""

    def update(
        self, boxes: ArrayLike, scores: ArrayLike, options: O_contra
    ) -> NDArray[np.int64]: ...


class _Video(Generic[T]):
    def __init__(self, tracker: T) -> None:
        self.lock = Lock()
        self.tracker = tracker
        self.seen = FirstSightings()


class TrackerBlock(WorkflowBlock, Generic[T, O]):
    """Tracks the objects of each video by itself."""

    returns_futures = False

    def __init__(self) -> None:
        self._videos: PerVideo[_Video[T]] = PerVideo()

    @abstractmethod
    def new_tracker(self) -> T:
        """A tracker for a new video."""

    def follow(
        self,
        image: WorkflowImageData,
        detections: sv.Detections,
        options: O,
        cache_size: int,
    ) -> dict[str, sv.Detections]:
        """The outputs for the next frame of a video.

        Options count as they are in each frame. Detections without confidence are sure.
        """
        cache_size = whole_number("instances_cache_size", cache_size, 1)
        scores = detections.confidence
        if scores is None:
            scores = np.ones(len(detections), np.float32)
        video = self._videos.get_or_make(
            image.video_metadata.video_identifier, lambda: _Video(self.new_tracker())
        )
        with video.lock:
            ids = video.tracker.update(detections.xyxy, scores, options)
            tracked = select(with_columns(detections, {"tracker_id": ids}), ids != NOT_TRACKED)
            is_new = video.seen.are_new(tracked.tracker_id, cache_size)
        return {
            "tracked_detections": tracked,
            "new_instances": select(tracked, is_new),
            "already_seen_instances": select(tracked, ~is_new),
        }


def share(field: str, value: float | None, default: float) -> float:
    """A field from 0 to 1; None is the default.

    Raises:
        InvalidFieldValueError: the value is outside; the text names the field.
    """
    return default if value is None else number(field, value, 0, 1)


def frames(field: str, value: int | None, default: int, minimum: int = 1) -> int:
    """A field of so many frames; None is the default.

    Raises:
        InvalidFieldValueError: the value is no whole number of at least the minimum; the text
            names the field.
    """
    return default if value is None else whole_number(field, value, minimum, _MOST_FRAMES)


def lost_frames(lost_track_buffer: int | None, image: WorkflowImageData) -> int:
    """Frames of this video for which a track is kept; the field counts 30 a second.

    Raises:
        InvalidFieldValueError: the value is no whole number of at least 0.
    """
    at_usual_rate = frames("lost_track_buffer", lost_track_buffer, 30, 0)
    fps = image.video_metadata.fps
    if fps is None or not math.isfinite(fps) or fps <= 0:
        fps = _USUAL_FPS
    return int(min(fps / _USUAL_FPS * at_usual_rate, _MOST_FRAMES))
