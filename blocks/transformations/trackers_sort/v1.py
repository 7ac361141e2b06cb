"""Follows objects by SORT."""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal

from blocks.transformations.trackers_sort.sort import Sort, SortOptions
from blocks.transformations.tracking.fields import (
    Share,
    WholeNumber,
    activation,
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

DEFAULTS = SortOptions()


class SortTrackerManifest(TrackerManifest):
    model_config = describe(
        "SORT Tracker",
        "Follow objects from frame to frame by SORT.",
        "Gives each object an id that it keeps from frame to frame: each detection is matched by "
        "its overlap with the place where an object should be now. Fast and simple.",
        ["sort", "kalman"],
    )
    type: Literal["roboflow_core/trackers_sort@v1"]
    minimum_iou_threshold: Share = minimum_overlap(DEFAULTS.minimum_iou)
    minimum_consecutive_frames: WholeNumber = consecutive_frames(DEFAULTS.consecutive_frames)
    track_activation_threshold: Share = activation(DEFAULTS.activation_threshold, "a detection")


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
        )
        return self.follow(image, detections, options, instances_cache_size)
