"""Follows objects by ByteTrack."""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal

from blocks.transformations.trackers_bytetrack.two_stage import TwoStageByteTrack, TwoStageOptions
from blocks.transformations.tracking.fields import (
    Share,
    WholeNumber,
    activation,
    confident,
    consecutive_frames,
    minimum_overlap,
)
from blocks.transformations.tracking.tracker_block import (
    TrackerBlock,
    TrackerManifest,
    describe,
    frames,
    lost_frames,
    share,
)
from execution_engine.block_api import BlockResult, WorkflowBlockManifest, WorkflowImageData

if TYPE_CHECKING:
    import supervision as sv

DEFAULTS = TwoStageOptions()


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
    minimum_iou_threshold: Share = minimum_overlap(DEFAULTS.minimum_iou)
    minimum_consecutive_frames: WholeNumber = consecutive_frames(DEFAULTS.consecutive_frames)
    track_activation_threshold: Share = activation(
        DEFAULTS.activation_threshold, "a confident detection"
    )
    high_conf_det_threshold: Share = confident(
        DEFAULTS.confident, "a confident detection; the others are matched last."
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
            share("minimum_iou_threshold", minimum_iou_threshold, DEFAULTS.minimum_iou),
            frames(
                "minimum_consecutive_frames",
                minimum_consecutive_frames,
                DEFAULTS.consecutive_frames,
            ),
            lost_frames(lost_track_buffer, image),
            share(
                "track_activation_threshold",
                track_activation_threshold,
                DEFAULTS.activation_threshold,
            ),
            share("high_conf_det_threshold", high_conf_det_threshold, DEFAULTS.confident),
        )
        return self.follow(image, detections, options, instances_cache_size)
