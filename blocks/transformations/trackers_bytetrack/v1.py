"""Follows objects by ByteTrack."""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal

from pydantic import Field

from blocks.transformations.trackers_bytetrack.two_stage import TwoStageByteTrack, TwoStageOptions
from blocks.transformations.tracking.tracker_block import (
    Share,
    TrackerBlock,
    TrackerManifest,
    WholeNumber,
    describe,
    frames,
    lost_frames,
    share,
)
from execution_engine.block_api import BlockResult, WorkflowBlockManifest, WorkflowImageData

if TYPE_CHECKING:
    import supervision as sv


class ByteTrackTrackerManifest(TrackerManifest):
    model_config = describe(
        "ByteTrack Tracker",
        "Follow objects from frame to frame by ByteTrack.",
        "Gives each object an id that it keeps from frame to frame: confident detections are "
        "matched by overlap first, uncertain ones then keep tracks alive that found none, such as "
        "those of objects that are half hidden.",
        ["bytetrack", "byte"],
    )
    type: Literal["roboflow_core/trackers_bytetrack@v1"]
    minimum_iou_threshold: Share = Field(
        default=0.1,
        title="Minimum IoU Threshold",
        description="Least overlap of a detection and the place where a track should be.",
        examples=[0.1, "$inputs.minimum_iou_threshold"],
    )
    minimum_consecutive_frames: WholeNumber = Field(
        default=2,
        title="Minimum Consecutive Frames",
        description="Frames in a row in which an object must be seen before it gets an id.",
        examples=[2, "$inputs.minimum_consecutive_frames"],
    )
    track_activation_threshold: Share = Field(
        default=0.7,
        title="Track Activation Threshold",
        description="Least confidence of a confident detection that begins a track.",
        examples=[0.7, "$inputs.track_activation_threshold"],
    )
    high_conf_det_threshold: Share = Field(
        default=0.6,
        title="High Confidence Detection Threshold",
        description="Least confidence of a confident detection; the others are matched last.",
        examples=[0.6, "$inputs.high_conf_det_threshold"],
    )


class ByteTrackTrackerBlockV1(TrackerBlock[TwoStageByteTrack, TwoStageOptions]):
    @classmethod
    def get_manifest(cls) -> type[WorkflowBlockManifest]:
        return ByteTrackTrackerManifest

    def new_tracker(self) -> TwoStageByteTrack:
        return TwoStageByteTrack()

    def run(
        self,
        image: WorkflowImageData,
        detections: sv.Detections,
        lost_track_buffer: int | None,
        instances_cache_size: int,
        minimum_iou_threshold: float | None,
        minimum_consecutive_frames: int | None,
        track_activation_threshold: float | None,
        high_conf_det_threshold: float | None,
    ) -> BlockResult:
        """`tracked_detections`: the detections that belong to a track, with its id;
        `new_instances`: those whose id was not met before; `already_seen_instances`: the others.
        """
        options = TwoStageOptions(
            share("minimum_iou_threshold", minimum_iou_threshold, 0.1),
            frames("minimum_consecutive_frames", minimum_consecutive_frames, 2),
            lost_frames(lost_track_buffer, image),
            share("track_activation_threshold", track_activation_threshold, 0.7),
            share("high_conf_det_threshold", high_conf_det_threshold, 0.6),
        )
        return self.follow(image, detections, options, instances_cache_size)
