"""What the versions of path deviation share: fields, and the ways of the objects of each video."""

from __future__ import annotations

from threading import Lock
from typing import TYPE_CHECKING, Any

from pydantic import Field

from blocks.analytics.path_deviation_analytics.frechet import PathDeviations
from blocks.analytics.tracked_anchors import (
    AnchorName,
    anchor_points,
    number_pairs,
    tracker_ids,
)
from blocks.kinds.detections.columns import with_columns
from blocks.per_video import PerVideo
from execution_engine.block_api import (
    BlockResult,
    OutputDefinition,
    Selector,
    WorkflowBlock,
    WorkflowBlockManifest,
)
from execution_engine.kinds.catalogue import (
    INSTANCE_SEGMENTATION_PREDICTION_KIND,
    LIST_OF_VALUES_KIND,
    OBJECT_DETECTION_PREDICTION_KIND,
    STRING_KIND,
)

if TYPE_CHECKING:
    import supervision as sv

PATH_DEVIATION = "path_deviation"
LONG_DESCRIPTION = (
    "Measures for each tracked object how far the whole way it has gone is from a path of the "
    "picture: the discrete Fréchet distance in pixels, the shortest leash with which one can walk "
    "along both from point to point without going back. A way that has not come to the end of the "
    "path yet is as far from it as that end. Another path or anchor starts the ways anew."
)
SEARCH_KEYWORDS = ["route", "trajectory", "frechet", "compliance", "tracking"]


class PathDeviationManifest(WorkflowBlockManifest):
    """Fields of every version; `type` and the video are those of a version."""

    detections: Selector(
        kind=[OBJECT_DETECTION_PREDICTION_KIND, INSTANCE_SEGMENTATION_PREDICTION_KIND]
    ) = Field(
        title="Detections",
        description="Tracked objects.",
        examples=["$steps.tracker.tracked_detections"],
    )
    triggering_anchor: str | Selector(kind=[STRING_KIND]) | AnchorName = Field(
        default="CENTER",
        title="Triggering Anchor",
        description="Place of an object whose way is measured.",
        examples=["CENTER"],
    )
    reference_path: list | Selector(kind=[LIST_OF_VALUES_KIND]) = Field(
        title="Reference Path",
        description="Points [x, y] of the path in px, in the order in which it is to be gone.",
        examples=[[[0, 50], [250, 80], [500, 50]], "$inputs.path"],
    )

    @classmethod
    def describe_outputs(cls) -> list[OutputDefinition]:
        rows = [OBJECT_DETECTION_PREDICTION_KIND, INSTANCE_SEGMENTATION_PREDICTION_KIND]
        return [OutputDefinition("path_deviation_detections", rows)]


class PathDeviationBlock(WorkflowBlock):
    """Measures the objects of each video by itself."""

    returns_futures = False

    def __init__(self) -> None:
        self._deviations: PerVideo[PathDeviations] = PerVideo()
        self._lock = Lock()

    def measured(
        self, video: str, detections: sv.Detections, anchor: str, reference_path: Any
    ) -> BlockResult:
        """`path_deviation_detections`: the detections with their distance from the path, px."""
        path = number_pairs("reference_path", reference_path, 1)
        ids = tracker_ids(detections)
        points = anchor_points(detections, anchor)
        with self._lock:
            deviations = self._deviations.get(video)
            if deviations is None or not deviations.is_for(path, anchor):
                deviations = PathDeviations(path, anchor)
                self._deviations.set(video, deviations)
            distances = deviations.update(ids, points)
        measured = with_columns(detections, {PATH_DEVIATION: distances})
        return {"path_deviation_detections": measured}
