"""Measures how fast tracked objects move."""

from __future__ import annotations

from collections import OrderedDict
from dataclasses import dataclass
from threading import Lock
from typing import TYPE_CHECKING, Literal

import numpy as np
from numpy.typing import NDArray
from pydantic import ConfigDict, Field

from blocks.analytics.tracked_anchors import tracker_ids
from blocks.flow_control.video_time import Moment, moment_in
from blocks.kinds.detections.boxes import box_points
from blocks.kinds.detections.columns import with_columns
from blocks.parameters import LARGEST_NUMBER, positive_number
from blocks.per_video import PerVideo
from execution_engine.block_api import (
    BlockResult,
    OutputDefinition,
    Selector,
    StepOutputSelector,
    WorkflowBlock,
    WorkflowBlockManifest,
    WorkflowImageData,
    WorkflowImageSelector,
)
from execution_engine.kinds.catalogue import (
    FLOAT_KIND,
    INSTANCE_SEGMENTATION_PREDICTION_KIND,
    KEYPOINT_DETECTION_PREDICTION_KIND,
    OBJECT_DETECTION_PREDICTION_KIND,
)

if TYPE_CHECKING:
    import supervision as sv

MOST_TRACKS = 16384
"""Tracks of a video whose motion is remembered."""

Floats = NDArray[np.float64]


class VelocityManifest(WorkflowBlockManifest):
    model_config = ConfigDict(
        json_schema_extra={
            "name": "Velocity",
            "version": "v1",
            "short_description": "Measure how fast tracked objects move.",
            "long_description": (
                "Measures the velocity of tracked objects from the way of the centre of their box "
                "between the frames in which they are seen: as a vector and as a speed, both as "
                "they are and smoothed over time, in metres a second when `pixels_per_meter` tells "
                "the scale and in pixels a second otherwise. Time is that of the video: frame "
                "number over frame rate for files. An object that is seen for the first time has "
                "the velocity 0, from which smoothing begins."
            ),
            "license": "Apache-2.0",
            "block_type": "analytics",
            "search_keywords": ["speed", "motion", "tracking", "traffic", "smoothing"],
        }
    )
    type: Literal["roboflow_core/velocity@v1"]
    image: WorkflowImageSelector = Field(
        title="Image",
        description="Frame that the detections were made on; it tells the video and the time.",
        examples=["$inputs.image"],
    )
    detections: StepOutputSelector(
        kind=[
            OBJECT_DETECTION_PREDICTION_KIND,
            INSTANCE_SEGMENTATION_PREDICTION_KIND,
            KEYPOINT_DETECTION_PREDICTION_KIND,
        ]
    ) = Field(
        title="Detections",
        description="Tracked objects.",
        examples=["$steps.tracker.tracked_detections"],
    )
    smoothing_alpha: float | Selector(kind=[FLOAT_KIND]) = Field(
        default=0.5,
        title="Smoothing Alpha",
        description=(
            "Weight of the newest velocity in the smoothed one, more than 0 and at most 1; 1 does "
            "not smooth."
        ),
        examples=[0.5],
    )
    pixels_per_meter: float | Selector(kind=[FLOAT_KIND]) = Field(
        default=1.0,
        title="Pixels per Meter",
        description="Pixels that a metre takes; with 1 velocities are in pixels.",
        examples=[32.0],
    )

    @classmethod
    def describe_outputs(cls) -> list[OutputDefinition]:
        return [
            OutputDefinition(
                "velocity_detections",
                [
                    KEYPOINT_DETECTION_PREDICTION_KIND,
                    OBJECT_DETECTION_PREDICTION_KIND,
                    INSTANCE_SEGMENTATION_PREDICTION_KIND,
                ],
            )
        ]

    @classmethod
    def get_execution_engine_compatibility(cls) -> str | None:
        return ">=1.0.0,<2.0.0"


@dataclass(frozen=True, slots=True)
class Motion:
    """How a track moved when it was last seen.

    Attributes:
        point: (2,) x, y, px.
        moment: when.
        smoothed: (2,) smoothed velocity, px a second.
    """

    point: Floats
    moment: Moment
    smoothed: Floats


class VelocityBlockV1(WorkflowBlock):
    """Measures the objects of each video by itself."""

    returns_futures = False

    def __init__(self) -> None:
        self._motions: PerVideo[OrderedDict[int, Motion]] = PerVideo()
        self._lock = Lock()

    @classmethod
    def get_manifest(cls) -> type[WorkflowBlockManifest]:
        return VelocityManifest

    def run(
        self,
        image: WorkflowImageData,
        detections: sv.Detections,
        smoothing_alpha: float,
        pixels_per_meter: float,
    ) -> BlockResult:
        """`velocity_detections`: the detections with `velocity` and `smoothed_velocity` (x, y) and
        `speed` and `smoothed_speed`.
        """
        alpha = positive_number("smoothing_alpha", smoothing_alpha, 1)
        scale = positive_number("pixels_per_meter", pixels_per_meter, LARGEST_NUMBER)
        ids = tracker_ids(detections)
        points = box_points(detections.xyxy, "CENTER")
        now = moment_in(image.video_metadata)
        velocities = np.zeros((2, len(ids), 2))
        with self._lock:
            motions = self._motions.get_or_make(image.video_metadata.video_identifier, OrderedDict)
            for row, track in enumerate(ids.tolist()):
                if track < 0:  # not confirmed: several objects may share it
                    continue
                velocities[:, row], motions[track] = moved(
                    motions.get(track), points[row], now, alpha
                )
                motions.move_to_end(track)
            while len(motions) > MOST_TRACKS:
                motions.popitem(last=False)
        with np.errstate(over="ignore"):
            velocities /= scale
            speeds = np.hypot(velocities[..., 0], velocities[..., 1])
        columns = {
            "velocity": velocities[0],
            "speed": speeds[0],
            "smoothed_velocity": velocities[1],
            "smoothed_speed": speeds[1],
        }
        return {"velocity_detections": with_columns(detections, columns)}


def moved(before: Motion | None, point: Floats, now: Moment, alpha: float) -> tuple[Floats, Motion]:
    """(2, 2) velocity and smoothed velocity of a track, px a second, and its motion from now on.

    Where no time has passed the velocity is 0 and smoothing waits. A video that went back or
    changed its clock starts the track again.
    """
    nothing = np.zeros(2)
    if before is None or before.moment.clock != now.clock or now.seconds < before.moment.seconds:
        return np.zeros((2, 2)), Motion(point, now, nothing)
    seconds = now.seconds - before.moment.seconds
    if seconds == 0:
        return np.stack([nothing, before.smoothed]), Motion(point, now, before.smoothed)
    velocity = (point - before.point) / seconds
    smoothed = alpha * velocity + (1 - alpha) * before.smoothed
    return np.stack([velocity, smoothed]), Motion(point, now, smoothed)
