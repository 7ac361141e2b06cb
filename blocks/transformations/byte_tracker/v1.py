"""Follows objects; the video comes as metadata."""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal

from pydantic import ConfigDict, Field

from blocks.transformations.byte_tracker.family import ByteTrackerBlock, ByteTrackerManifest
from execution_engine.block_api import (
    BlockResult,
    Selector,
    VideoMetadata,
    WorkflowBlockManifest,
)
from execution_engine.kinds.catalogue import (
    INSTANCE_SEGMENTATION_PREDICTION_KIND,
    OBJECT_DETECTION_PREDICTION_KIND,
    VIDEO_METADATA_KIND,
)

if TYPE_CHECKING:
    import supervision as sv


class ByteTrackerManifestV1(ByteTrackerManifest):
    model_config = ConfigDict(
        json_schema_extra={
            "name": "Byte Tracker",
            "version": "v1",
            "short_description": "Follow objects from frame to frame.",
            "long_description": (
                "Gives each object an id that it keeps from frame to frame (ByteTrack): confident "
                "detections are matched by overlap first, uncertain ones keep tracks alive. "
                "Detections that belong to no track are left out."
            ),
            "license": "Apache-2.0",
            "block_type": "transformation",
            "search_keywords": ["tracking", "track", "id", "bytetrack", "follow"],
        }
    )
    type: Literal["roboflow_core/byte_tracker@v1"]
    metadata: Selector(kind=[VIDEO_METADATA_KIND]) = Field(
        title="Video Metadata",
        description="Metadata that tell the video and its frame rate.",
        examples=["$inputs.video_metadata"],
    )
    detections: Selector(
        kind=[
            OBJECT_DETECTION_PREDICTION_KIND,
            INSTANCE_SEGMENTATION_PREDICTION_KIND,
        ]
    ) = Field(
        title="Detections",
        description="Objects to follow.",
        examples=["$steps.model.predictions"],
    )


class ByteTrackerBlockV1(ByteTrackerBlock):
    @classmethod
    def get_manifest(cls) -> type[WorkflowBlockManifest]:
        return ByteTrackerManifestV1

    def run(
        self,
        metadata: VideoMetadata,
        detections: sv.Detections,
        track_activation_threshold: float | None,
        lost_track_buffer: int | None,
        minimum_matching_threshold: float | None,
        minimum_consecutive_frames: int | None,
    ) -> BlockResult:
        """`tracked_detections`: the detections that belong to a track, with its id."""
        tracked = self.tracked(
            metadata,
            detections,
            track_activation_threshold,
            lost_track_buffer,
            minimum_matching_threshold,
            minimum_consecutive_frames,
        )
        return {"tracked_detections": tracked}
