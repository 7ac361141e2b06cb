"""What the versions of time in zone share: fields, and the times of the tracks of each video."""

from __future__ import annotations

from collections import OrderedDict
from threading import Lock
from typing import TYPE_CHECKING, Any

import cv2
import numpy as np
from numpy.typing import NDArray
from pydantic import Field

from blocks.analytics.tracked_anchors import (
    AnchorName,
    anchor_points,
    number_pairs,
    tracker_ids,
)
from blocks.flow_control.video_time import Moment, moment_in
from blocks.kinds.detections.columns import select, with_columns
from blocks.per_video import PerVideo
from execution_engine.block_api import (
    BlockResult,
    OutputDefinition,
    Selector,
    VideoMetadata,
    WorkflowBlock,
    WorkflowBlockManifest,
)
from execution_engine.errors import InvalidFieldValueError
from execution_engine.kinds.catalogue import (
    BOOLEAN_KIND,
    INSTANCE_SEGMENTATION_PREDICTION_KIND,
    LIST_OF_VALUES_KIND,
    OBJECT_DETECTION_PREDICTION_KIND,
    STRING_KIND,
)

if TYPE_CHECKING:
    import supervision as sv

MOST_TRACKS = 16384
"""Tracks of a video whose entry is remembered."""
TIME_IN_ZONE = "time_in_zone"


class TimeInZoneManifest(WorkflowBlockManifest):
    """Fields of every version; `type` and the video are those of a version."""

    detections: Selector(
        kind=[OBJECT_DETECTION_PREDICTION_KIND, INSTANCE_SEGMENTATION_PREDICTION_KIND]
    ) = Field(
        title="Detections",
        description="Tracked objects.",
        examples=["$steps.tracker.tracked_detections"],
    )
    zone: list | Selector(kind=[LIST_OF_VALUES_KIND]) = Field(
        title="Zone",
        description="Corners [x, y] of the zone in px, at least three.",
        examples=[[[0, 0], [200, 0], [200, 100], [0, 100]], "$inputs.zone"],
    )
    triggering_anchor: str | Selector(kind=[STRING_KIND]) | AnchorName = Field(
        default="CENTER",
        title="Triggering Anchor",
        description="Place of an object that must lie in the zone.",
        examples=["CENTER"],
    )
    remove_out_of_zone_detections: bool | Selector(kind=[BOOLEAN_KIND]) = Field(
        default=True,
        title="Remove Out of Zone Detections",
        description="Leave out objects outside of the zone.",
    )
    reset_out_of_zone_detections: bool | Selector(kind=[BOOLEAN_KIND]) = Field(
        default=True,
        title="Reset Out of Zone Detections",
        description="Start again at zero when an object comes back; else its first entry counts.",
    )

    @classmethod
    def describe_outputs(cls) -> list[OutputDefinition]:
        rows = [OBJECT_DETECTION_PREDICTION_KIND, INSTANCE_SEGMENTATION_PREDICTION_KIND]
        return [OutputDefinition("timed_detections", rows)]

    @classmethod
    def get_execution_engine_compatibility(cls) -> str | None:
        return ">=1.3.0,<2.0.0"


class TimeInZoneBlock(WorkflowBlock):
    """Times the objects of each video by itself."""

    returns_futures = False

    def __init__(self) -> None:
        self._entries: PerVideo[OrderedDict[int, Moment]] = PerVideo()
        self._lock = Lock()

    def timed(
        self,
        metadata: VideoMetadata,
        detections: sv.Detections,
        polygons: list[NDArray[np.float32]],
        anchor: str,
        remove_outsiders: bool,
        reset_outsiders: bool,
    ) -> BlockResult:
        """`timed_detections`: the detections with the seconds they have been in a zone."""
        ids = tracker_ids(detections)
        points = anchor_points(detections, anchor)
        inside = np.array([_is_inside(point, polygons) for point in points], dtype=bool)
        now = moment_in(metadata)
        times = np.zeros(len(ids), np.float64)
        with self._lock:
            entries = self._entries.get_or_make(metadata.video_identifier, OrderedDict)
            for row, track in enumerate(ids.tolist()):
                if track < 0:  # not confirmed: several objects may share it
                    continue
                if inside[row]:
                    times[row] = _seconds_since(entries, track, now)
                elif reset_outsiders:
                    entries.pop(track, None)
            while len(entries) > MOST_TRACKS:
                entries.popitem(last=False)
        timed = with_columns(detections, {TIME_IN_ZONE: times})
        return {"timed_detections": select(timed, inside) if remove_outsiders else timed}


def polygon_of(zone: Any) -> NDArray[np.float32]:
    """(k, 2) corners of a zone.

    Raises:
        InvalidFieldValueError: it is no list of at least three points.
    """
    return number_pairs("zone", zone, 3).astype(np.float32)


def polygons_of(zone: Any) -> list[NDArray[np.float32]]:
    """The zones of a field that holds one polygon or a list of polygons.

    Raises:
        InvalidFieldValueError: it holds neither.
    """
    if not isinstance(zone, (list, tuple, np.ndarray)) or len(zone) == 0:
        raise InvalidFieldValueError(
            f"Field `zone` must be a list of points or of polygons, got {zone!r:.80}"
        )
    first = zone[0]
    nested = (
        isinstance(first, (list, tuple, np.ndarray))
        and len(first) > 0
        and isinstance(first[0], (list, tuple, np.ndarray))
    )
    return [polygon_of(one) for one in zone] if nested else [polygon_of(zone)]


def _is_inside(point: NDArray[np.float64], polygons: list[NDArray[np.float32]]) -> bool:
    """Whether a point lies in or on one of the polygons."""
    place = (float(point[0]), float(point[1]))
    return any(cv2.pointPolygonTest(polygon, place, False) >= 0 for polygon in polygons)


def _seconds_since(entries: OrderedDict[int, Moment], track: int, now: Moment) -> float:
    """Seconds since a track entered; it enters now when nothing is known of it."""
    entered = entries.setdefault(track, now)
    entries.move_to_end(track)
    if entered.clock != now.clock:  # the source changed its clock: nothing to compare with
        entries[track] = entered = now
    return max(0.0, now.seconds - entered.seconds)
