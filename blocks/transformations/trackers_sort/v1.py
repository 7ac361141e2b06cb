"""Follows objects by SORT."""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal

from pydantic import Field

from blocks.transformations.trackers_sort.sort import Sort, SortOptions
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


class SortTrackerManifest(TrackerManifest):
    model_config = describe(
        "SORT Tracker",
        "Follow objects from frame to frame by SORT.",
        "Gives each object an id that it keeps from frame to frame: each detection is matched by "
        "its overlap with the place where an object should be now. Fast and simple.",
        ["sort", "kalman"],
    )
    type: Literal["roboflow_core/trackers_sort@v1"]
    minimum_iou_threshold: Share = Field(
        default=0.3,
        title="Minimum IoU Threshold",
        description="Least overlap of a detection and the place where a track should be.",
        examples=[0.3, "$inputs.minimum_iou_threshold"],
    )
    minimum_consecutive_frames: WholeNumber = Field(
        default=3,
        title="Minimum Consecutive Frames",
        description="Frames in a row in which an object must be seen before it gets an id.",
        examples=[3, "$inputs.minimum_consecutive_frames"],
    )
    track_activation_threshold: Share = Field(
        default=0.25,
        title="Track Activation Threshold",
        description="Least confidence of a detection that begins a track.",
        examples=[0.25, "$inputs.track_activation_threshold"],
    )


class SortTrackerBlockV1(TrackerBlock[Sort, SortOptions]):
    @classmethod
    def get_manifest(cls) -> type[WorkflowBlockManifest]:
        return SortTrackerManifest

    def new_tracker(self) -> Sort:
        return Sort()

    def run(
        self,
        image: WorkflowImageData,
        detections: sv.Detections,
        lost_track_buffer: int | None,
        instances_cache_size: int,
        minimum_iou_threshold: float | None,
        minimum_consecutive_frames: int | None,
        track_activation_threshold: float | None,
    ) -> BlockResult:
        """`tracked_detections`: the detections that belong to a track, with its id;
        `new_instances`: those whose id was not met before; `already_seen_instances`: the others.
        """
        options = SortOptions(
            share("minimum_iou_threshold", minimum_iou_threshold, 0.3),
            frames("minimum_consecutive_frames", minimum_consecutive_frames, 3),
            lost_frames(lost_track_buffer, image),
            share("track_activation_threshold", track_activation_threshold, 0.25),
        )
        return self.follow(image, detections, options, instances_cache_size)
