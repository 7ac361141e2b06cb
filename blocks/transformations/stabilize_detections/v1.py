"""Smooths the boxes of tracked objects and fills short gaps."""

from __future__ import annotations

from threading import Lock
from typing import TYPE_CHECKING, Literal

from pydantic import ConfigDict, Field

from blocks.analytics.tracked_anchors import tracker_ids
from blocks.kinds.detections.lineage import image_size_of
from blocks.parameters import number, whole_number
from blocks.per_video import PerVideo
from blocks.transformations.stabilize_detections.stable_tracks import StableTracks
from execution_engine.block_api import (
    BlockResult,
    OutputDefinition,
    Selector,
    WorkflowBlock,
    WorkflowBlockManifest,
    WorkflowImageData,
)
from execution_engine.kinds.catalogue import (
    FLOAT_ZERO_TO_ONE_KIND,
    IMAGE_KIND,
    INSTANCE_SEGMENTATION_PREDICTION_KIND,
    INTEGER_KIND,
    OBJECT_DETECTION_PREDICTION_KIND,
)

if TYPE_CHECKING:
    import supervision as sv

_WINDOW = 3
_SHARE = 0.2
_LONGEST_WINDOW = 10_000


class StabilizeDetectionsManifest(WorkflowBlockManifest):
    model_config = ConfigDict(
        json_schema_extra={
            "name": "Detections Stabilizer",
            "version": "v1",
            "short_description": "Smooth the boxes of tracked objects and fill short gaps.",
            "long_description": (
                "Smooths the boxes of tracked objects over time, and brings back objects that are "
                "not detected for up to `smoothing_window_size` frames: as they were seen last, "
                "moved on by the mean of their last steps. Masks, keypoints and outlines of "
                "objects that are brought back move along. Each object that a tracker loses stays "
                "for that long, so with an unstable tracker there are many short-lived boxes."
            ),
            "license": "Apache-2.0",
            "block_type": "transformation",
            "search_keywords": ["smoothing", "jitter", "flicker", "tracking", "gap filling"],
        }
    )
    type: Literal["roboflow_core/stabilize_detections@v1"]
    image: Selector(kind=[IMAGE_KIND]) = Field(
        title="Image",
        description="Frame that the detections were made on; it tells the video.",
        examples=["$inputs.image"],
    )
    detections: Selector(
        kind=[OBJECT_DETECTION_PREDICTION_KIND, INSTANCE_SEGMENTATION_PREDICTION_KIND]
    ) = Field(
        title="Detections",
        description="Tracked objects.",
        examples=["$steps.tracker.tracked_detections"],
    )
    smoothing_window_size: int | Selector(kind=[INTEGER_KIND]) | None = Field(
        default=_WINDOW,
        title="Smoothing Window Size",
        description=(
            "Last steps of an object whose mean tells where it goes when it is not detected, and "
            "frames for which it is brought back."
        ),
        examples=[5],
    )
    bbox_smoothing_coefficient: float | Selector(kind=[FLOAT_ZERO_TO_ONE_KIND]) | None = Field(
        default=_SHARE,
        title="Box Smoothing Coefficient",
        description="Share of the detected box in the smoothed one; 1 does not smooth.",
        examples=[0.2],
    )

    @classmethod
    def describe_outputs(cls) -> list[OutputDefinition]:
        rows = [OBJECT_DETECTION_PREDICTION_KIND, INSTANCE_SEGMENTATION_PREDICTION_KIND]
        return [OutputDefinition("tracked_detections", rows)]

    @classmethod
    def get_execution_engine_compatibility(cls) -> str | None:
        return ">=1.3.0,<2.0.0"


class StabilizeDetectionsBlockV1(WorkflowBlock):
    """Smooths each video by itself."""

    returns_futures = False

    def __init__(self) -> None:
        self._tracks: PerVideo[StableTracks] = PerVideo()
        self._lock = Lock()

    @classmethod
    def get_manifest(cls) -> type[WorkflowBlockManifest]:
        return StabilizeDetectionsManifest

    def run(
        self,
        image: WorkflowImageData,
        detections: sv.Detections,
        smoothing_window_size: int | None,
        bbox_smoothing_coefficient: float | None,
    ) -> BlockResult:
        """`tracked_detections`: the detections with smoothed boxes, and those brought back."""
        window = whole_number(
            "smoothing_window_size",
            _WINDOW if smoothing_window_size is None else smoothing_window_size,
            1,
            _LONGEST_WINDOW,
        )
        share = number(
            "bbox_smoothing_coefficient",
            _SHARE if bbox_smoothing_coefficient is None else bbox_smoothing_coefficient,
            0,
            1,
        )
        ids = tracker_ids(detections)
        size = image_size_of(detections)
        video = image.video_metadata.video_identifier
        with self._lock:
            tracks = self._tracks.get(video)
            # Frames of another size show another view.
            if tracks is None or (size is not None and size != tracks.image_size):
                tracks = StableTracks(size or image.size)
                self._tracks.set(video, tracks)
            return {"tracked_detections": tracks.update(detections, ids, window, share)}
