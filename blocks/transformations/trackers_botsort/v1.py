"""Follows objects by BoT-SORT, also where the camera moves."""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray
from pydantic import Field

from blocks.kinds.detections.boxes import as_boxes
from blocks.parameters import whole_number
from blocks.transformations.trackers_botsort.bot_sort import BotSort, BotSortOptions
from blocks.transformations.trackers_botsort.camera_motion import CameraMotion, Method
from blocks.transformations.tracking.fields import (
    Share,
    WholeNumber,
    activation,
    confident,
    consecutive_frames,
)
from blocks.transformations.tracking.tracker_block import (
    TrackerBlock,
    TrackerManifest,
    describe,
    frames,
    lost_frames,
    share,
)
from execution_engine.block_api import (
    BlockResult,
    Selector,
    WorkflowBlockManifest,
    WorkflowImageData,
)
from execution_engine.kinds.catalogue import BOOLEAN_KIND

if TYPE_CHECKING:
    import supervision as sv

_MOST_DOWNSCALE = 1000

DEFAULTS = BotSortOptions()


class BotSortTrackerManifest(TrackerManifest):
    model_config = describe(
        "BoT-SORT Tracker",
        "Follow objects from frame to frame by BoT-SORT.",
        "Gives each object an id that it keeps from frame to frame: confident detections are "
        "matched by overlap and confidence first, uncertain ones then keep tracks alive. The "
        "motion of the camera can be measured in the pictures and taken into account.",
        ["botsort", "bot-sort", "camera motion", "optical flow", "drone"],
    )
    type: Literal["roboflow_core/trackers_botsort@v1"]
    minimum_iou_threshold_first_assoc: Share = Field(
        default=DEFAULTS.first_minimum,
        title="Minimum IoU Threshold of the First Association",
        description="Least overlap x confidence of a confident detection and a track with an id.",
        examples=[0.2, "$inputs.minimum_iou_threshold_first_assoc"],
    )
    minimum_iou_threshold_second_assoc: Share = Field(
        default=DEFAULTS.second_minimum,
        title="Minimum IoU Threshold of the Second Association",
        description="Least overlap of an uncertain detection and a track seen in the last frame.",
        examples=[0.5, "$inputs.minimum_iou_threshold_second_assoc"],
    )
    minimum_iou_threshold_unconfirmed_assoc: Share = Field(
        default=DEFAULTS.unconfirmed_minimum,
        title="Minimum IoU Threshold of Unconfirmed Tracks",
        description="Least overlap x confidence of a confident detection and a track without id.",
        examples=[0.3, "$inputs.minimum_iou_threshold_unconfirmed_assoc"],
    )
    minimum_consecutive_frames: WholeNumber = consecutive_frames(DEFAULTS.consecutive_frames)
    track_activation_threshold: Share = activation(
        DEFAULTS.activation_threshold, "a confident detection"
    )
    high_conf_det_threshold: Share = confident(
        DEFAULTS.confident, "a confident detection; the others are matched last."
    )
    enable_cmc: bool | Selector(kind=[BOOLEAN_KIND]) = Field(
        default=False,
        title="Enable Camera Motion Compensation",
        description="Measure the motion of the camera in the pictures; costs time.",
        examples=[True, "$inputs.enable_cmc"],
    )
    cmc_method: Literal["orb", "sift", "sparseOptFlow", "ecc"] = Field(
        default="sparseOptFlow",
        title="Camera Motion Method",
        description="Features (orb, sift), flow of corners (sparseOptFlow) or all pixels (ecc).",
        examples=["sparseOptFlow"],
    )
    cmc_downscale: WholeNumber = Field(
        default=2,
        title="Camera Motion Downscale",
        description="How many times smaller the pictures are looked at: faster, less precise.",
        examples=[2, "$inputs.cmc_downscale"],
    )
    instant_first_frame_activation: bool | Selector(kind=[BOOLEAN_KIND]) = Field(
        default=False,
        title="Instant First Frame Activation",
        description="Give the objects of the first frame their ids at once.",
        examples=[True, "$inputs.instant_first_frame_activation"],
    )


class _Options(NamedTuple):
    """`pixels` are those of the frame, None where the motion of the camera is not looked at."""

    matching: BotSortOptions
    pixels: np.ndarray | None
    method: Method
    downscale: int


class _MovingTracker:
    """A tracker beside the last picture of its video."""

    def __init__(self) -> None:
        self._tracker = BotSort()
        self._camera = CameraMotion()

    def update(self, boxes: ArrayLike, scores: ArrayLike, options: _Options) -> NDArray[np.int64]:
        """(n,) ids of the boxes (n, 4) xyxy of the next frame."""
        motion = None
        if options.pixels is None:
            self._camera = CameraMotion()
        else:
            motion = self._camera.to_frame(
                options.pixels, as_boxes(boxes), options.method, options.downscale
            )
        return self._tracker.update(boxes, scores, options.matching, motion)


class BotSortTrackerBlockV1(TrackerBlock[_MovingTracker, _Options]):
    @classmethod
    def get_manifest(cls) -> type[WorkflowBlockManifest]:
        return BotSortTrackerManifest

    def new_tracker(self) -> _MovingTracker:
        return _MovingTracker()

    def run(
        self,
        image: WorkflowImageData,
        detections: sv.Detections,
        lost_track_buffer: int | None,
        instances_cache_size: int,
        minimum_iou_threshold_first_assoc: float | None,
        minimum_iou_threshold_second_assoc: float | None,
        minimum_iou_threshold_unconfirmed_assoc: float | None,
        minimum_consecutive_frames: int | None,
        track_activation_threshold: float | None,
        high_conf_det_threshold: float | None,
        enable_cmc: bool,
        cmc_method: Method,
        cmc_downscale: int | None,
        instant_first_frame_activation: bool,
    ) -> BlockResult:
        """`tracked_detections`: the detections that belong to a track, with its id;
        `new_instances`: those whose id was not met before; `already_seen_instances`: the others.
        """
        matching = BotSortOptions(
            share(
                "minimum_iou_threshold_first_assoc",
                minimum_iou_threshold_first_assoc,
                DEFAULTS.first_minimum,
            ),
            share(
                "minimum_iou_threshold_second_assoc",
                minimum_iou_threshold_second_assoc,
                DEFAULTS.second_minimum,
            ),
            share(
                "minimum_iou_threshold_unconfirmed_assoc",
                minimum_iou_threshold_unconfirmed_assoc,
                DEFAULTS.unconfirmed_minimum,
            ),
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
            instant_first_frame_activation,
        )
        downscale = 2 if cmc_downscale is None else cmc_downscale
        downscale = whole_number("cmc_downscale", downscale, 1, _MOST_DOWNSCALE)
        options = _Options(
            matching, image.numpy_image if enable_cmc else None, cmc_method, downscale
        )
        return self.follow(image, detections, options, instances_cache_size)
