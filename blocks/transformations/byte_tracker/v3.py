"""Follows objects and tells new ones from those seen before."""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal

from pydantic import ConfigDict, Field

from blocks.kinds.detections.columns import select
from blocks.parameters import whole_number
from blocks.per_video import PerVideo
from blocks.transformations.byte_tracker.family import ByteTrackerBlock, ByteTrackerManifest
from blocks.transformations.tracking.first_sightings import FirstSightings
from execution_engine.block_api import (
    BlockResult,
    OutputDefinition,
    Selector,
    WorkflowBlockManifest,
    WorkflowImageData,
)
from execution_engine.kinds.catalogue import (
    IMAGE_KIND,
    INSTANCE_SEGMENTATION_PREDICTION_KIND,
    KEYPOINT_DETECTION_PREDICTION_KIND,
    OBJECT_DETECTION_PREDICTION_KIND,
)

if TYPE_CHECKING:
    import supervision as sv


class ByteTrackerManifestV3(ByteTrackerManifest):
    model_config = ConfigDict(
        json_schema_extra={
            "name": "Byte Tracker",
            "version": "v3",
            "short_description": "Follow objects from frame to frame.",
            "long_description": (
                "Gives each object an id that it keeps from frame to frame (ByteTrack): confident "
                "detections are matched by overlap first, uncertain ones keep tracks alive. "
                "Detections that belong to no track are left out. Also tells which "
                "objects are seen for the first time."
            ),
            "license": "Apache-2.0",
            "block_type": "transformation",
            "search_keywords": ["tracking", "track", "id", "bytetrack", "follow"],
        }
    )
    type: Literal["roboflow_core/byte_tracker@v3"]
    image: Selector(kind=[IMAGE_KIND]) = Field(
        title="Image",
        description="Frame that the detections were made on; it tells the video.",
        examples=["$inputs.image"],
    )
    detections: Selector(
        kind=[
            OBJECT_DETECTION_PREDICTION_KIND,
            INSTANCE_SEGMENTATION_PREDICTION_KIND,
            KEYPOINT_DETECTION_PREDICTION_KIND,
        ]
    ) = Field(
        title="Detections",
        description="Objects to follow.",
        examples=["$steps.model.predictions"],
    )
    instances_cache_size: int = Field(
        default=16384,
        title="Instances Cache Size",
        description="Ids that are remembered to tell new objects from those seen before.",
    )

    @classmethod
    def describe_outputs(cls) -> list[OutputDefinition]:
        names = ("tracked_detections", "new_instances", "already_seen_instances")
        return [OutputDefinition(name, [OBJECT_DETECTION_PREDICTION_KIND]) for name in names]


class ByteTrackerBlockV3(ByteTrackerBlock):
    def __init__(self) -> None:
        super().__init__()
        self._seen: PerVideo[FirstSightings] = PerVideo()

    @classmethod
    def get_manifest(cls) -> type[WorkflowBlockManifest]:
        return ByteTrackerManifestV3

    def run(
        self,
        image: WorkflowImageData,
        detections: sv.Detections,
        track_activation_threshold: float | None,
        lost_track_buffer: int | None,
        minimum_matching_threshold: float | None,
        minimum_consecutive_frames: int | None,
        instances_cache_size: int,
    ) -> BlockResult:
        """`tracked_detections`: the detections that belong to a track, with its id;
        `new_instances`: those whose id was not seen before; `already_seen_instances`: the others.
        """
        cache_size = whole_number("instances_cache_size", instances_cache_size, 1)
        tracked = self.tracked(
            image.video_metadata,
            detections,
            track_activation_threshold,
            lost_track_buffer,
            minimum_matching_threshold,
            minimum_consecutive_frames,
        )
        with self._lock:
            seen = self._seen.get_or_make(image.video_metadata.video_identifier, FirstSightings)
            is_new = seen.are_new(tracked.tracker_id, cache_size)
        return {
            "tracked_detections": tracked,
            "new_instances": select(tracked, is_new),
            "already_seen_instances": select(tracked, ~is_new),
        }
