"""Follows objects by OC-SORT."""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal

from pydantic import Field

from blocks.transformations.trackers_ocsort.oc_sort import OcSort, OcSortOptions
from blocks.transformations.tracking.fields import (
    Share,
    WholeNumber,
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

DEFAULTS = OcSortOptions()


class OcSortTrackerManifest(TrackerManifest):
    model_config = describe(
        "OC-SORT Tracker",
        "Follow objects from frame to frame by OC-SORT.",
        "Gives each object an id that it keeps from frame to frame, also when it turns or is "
        "hidden for a while: detections are matched by overlap and by the direction in which "
        "objects go, and tracks that are found again are corrected along the way between.",
        ["ocsort", "oc-sort", "occlusion"],
    )
    type: Literal["roboflow_core/trackers_ocsort@v1"]
    minimum_iou_threshold: Share = minimum_overlap(DEFAULTS.minimum_iou)
    minimum_consecutive_frames: WholeNumber = consecutive_frames(DEFAULTS.consecutive_frames)
    high_conf_det_threshold: Share = confident(
        DEFAULTS.confident, "a detection; those below are left out."
    )
    direction_consistency_weight: Share = Field(
        default=DEFAULTS.direction_weight,
        title="Direction Consistency Weight",
        description="What the direction of an object counts beside the overlap.",
        examples=[0.2, "$inputs.direction_consistency_weight"],
    )
    delta_t: WholeNumber = Field(
        default=DEFAULTS.direction_frames,
        title="Delta T",
        description="Frames between the two places that tell the direction of an object.",
        examples=[3, "$inputs.delta_t"],
    )


class OcSortTrackerBlockV1(TrackerBlock[OcSort, OcSortOptions]):
    @classmethod
    def get_manifest(cls) -> type[WorkflowBlockManifest]:
        return OcSortTrackerManifest

    def new_tracker(self) -> OcSort:
        return OcSort()

    def run(
        self,
        image: WorkflowImageData,
        detections: sv.Detections,
        lost_track_buffer: int | None,
        instances_cache_size: int,
        minimum_iou_threshold: float | None,
        minimum_consecutive_frames: int | None,
        high_conf_det_threshold: float | None,
        direction_consistency_weight: float | None,
        delta_t: int | None,
    ) -> BlockResult:
        """`tracked_detections`: the detections that belong to a track, with its id;
        `new_instances`: those whose id was not met before; `already_seen_instances`: the others.
        """
        options = OcSortOptions(
            share("minimum_iou_threshold", minimum_iou_threshold, DEFAULTS.minimum_iou),
            frames(
                "minimum_consecutive_frames",
                minimum_consecutive_frames,
                DEFAULTS.consecutive_frames,
            ),
            lost_frames(lost_track_buffer, image),
            share("high_conf_det_threshold", high_conf_det_threshold, DEFAULTS.confident),
            share(
                "direction_consistency_weight",
                direction_consistency_weight,
                DEFAULTS.direction_weight,
            ),
            frames("delta_t", delta_t, DEFAULTS.direction_frames),
        )
        return self.follow(image, detections, options, instances_cache_size)
