"""Keeps a log of when tracked objects were first and last seen."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from threading import Lock
from typing import TYPE_CHECKING, Any, Literal

from pydantic import ConfigDict, Field

from blocks.analytics.detection_event_log.event_log import Event, EventLog, Sighting
from blocks.analytics.tracked_anchors import tracker_ids
from blocks.flow_control.video_time import moment_in
from blocks.kinds.detections import keys
from blocks.kinds.detections.columns import with_columns
from blocks.parameters import LARGEST_NUMBER, positive_number, whole_number
from blocks.per_video import PerVideo
from execution_engine.block_api import (
    BlockResult,
    OutputDefinition,
    Selector,
    VideoMetadata,
    WorkflowBlock,
    WorkflowBlockManifest,
    WorkflowImageData,
    WorkflowImageSelector,
    WorkflowParameterSelector,
)
from execution_engine.kinds.catalogue import (
    DICTIONARY_KIND,
    FLOAT_KIND,
    INSTANCE_SEGMENTATION_PREDICTION_KIND,
    INTEGER_KIND,
    OBJECT_DETECTION_PREDICTION_KIND,
)

if TYPE_CHECKING:
    import supervision as sv


class DetectionEventLogManifest(WorkflowBlockManifest):
    model_config = ConfigDict(
        json_schema_extra={
            "name": "Detection Event Log",
            "version": "v1",
            "short_description": "Log when tracked objects were first and last seen.",
            "long_description": (
                "Notes for each tracked object of a video its class, the frames and times at which "
                "it was first and last seen, and in how many frames it was seen. An object is "
                "pending until it was seen in `frame_threshold` frames, then it is logged. Every "
                "`flush_interval` frames objects that were not seen for more than `stale_frames` "
                "frames are forgotten; the logged ones among them come out once as "
                "`complete_events`. Objects without the id of a track are passed over, so a "
                "tracker must come before."
            ),
            "license": "Apache-2.0",
            "block_type": "analytics",
            "search_keywords": ["tracking", "history", "appearance", "dwell", "audit"],
        }
    )
    type: Literal["roboflow_core/detection_event_log@v1"]
    image: WorkflowImageSelector = Field(
        title="Image",
        description="Frame that the detections were made on; it tells the video and the time.",
        examples=["$inputs.image"],
    )
    detections: Selector(
        kind=[OBJECT_DETECTION_PREDICTION_KIND, INSTANCE_SEGMENTATION_PREDICTION_KIND]
    ) = Field(
        title="Detections",
        description="Tracked objects.",
        examples=["$steps.tracker.tracked_detections"],
    )
    frame_threshold: int | WorkflowParameterSelector(kind=[INTEGER_KIND]) = Field(
        default=30,
        title="Frame Threshold",
        description="Frames in which an object must be seen before it is logged.",
        examples=[30],
    )
    flush_interval: int | WorkflowParameterSelector(kind=[INTEGER_KIND]) = Field(
        default=30,
        title="Flush Interval",
        description="Frames between two clearances of objects that are gone.",
        examples=[30],
    )
    stale_frames: int | WorkflowParameterSelector(kind=[INTEGER_KIND]) = Field(
        default=300,
        title="Stale Frames",
        description="An object that is not seen for more frames than these is gone.",
        examples=[300],
    )
    reference_timestamp: float | Selector(kind=[FLOAT_KIND]) | None = Field(
        default=None,
        title="Reference Timestamp",
        description="Has no effect: times are those of the frames.",
    )
    fallback_fps: float | WorkflowParameterSelector(kind=[FLOAT_KIND]) = Field(
        default=1.0,
        title="Fallback FPS",
        description="Frames a second of a file that does not tell its own.",
        examples=[30.0],
    )

    @classmethod
    def describe_outputs(cls) -> list[OutputDefinition]:
        rows = [OBJECT_DETECTION_PREDICTION_KIND, INSTANCE_SEGMENTATION_PREDICTION_KIND]
        return [
            OutputDefinition("event_log", [DICTIONARY_KIND]),
            OutputDefinition("detections", rows),
            OutputDefinition("total_logged", [INTEGER_KIND]),
            OutputDefinition("total_pending", [INTEGER_KIND]),
            OutputDefinition("complete_events", [DICTIONARY_KIND]),
        ]

    @classmethod
    def get_inert_fields(cls) -> dict[str, str]:
        return {"reference_timestamp": "Times are those of the frames."}

    @classmethod
    def get_execution_engine_compatibility(cls) -> str | None:
        return ">=1.3.0,<2.0.0"


class DetectionEventLogBlockV1(WorkflowBlock):
    """Keeps a log of each video by itself."""

    returns_futures = False

    def __init__(self) -> None:
        self._logs: PerVideo[EventLog] = PerVideo()
        self._lock = Lock()

    @classmethod
    def get_manifest(cls) -> type[WorkflowBlockManifest]:
        return DetectionEventLogManifest

    def run(
        self,
        image: WorkflowImageData,
        detections: sv.Detections,
        frame_threshold: int,
        flush_interval: int,
        stale_frames: int,
        reference_timestamp: float | None,
        fallback_fps: float,
    ) -> BlockResult:
        """`event_log`: events by id of the track in `logged` and `pending`; `complete_events`:
        those that ended with this frame; `detections` as they came.
        """
        threshold = whole_number("frame_threshold", frame_threshold, 1)
        interval = whole_number("flush_interval", flush_interval, 1)
        stale = whole_number("stale_frames", stale_frames, 0)
        fps = positive_number("fallback_fps", fallback_fps, LARGEST_NUMBER)
        metadata = image.video_metadata
        objects = classes_of_tracks(detections)
        with self._lock:
            log = self._logs.get_or_make(metadata.video_identifier, EventLog)
            number = log.next_frame(metadata.frame_number)
            timestamp = metadata.frame_timestamp.timestamp()
            relative = seconds_into_file(metadata, fps)
            if relative is None:
                relative = log.seconds_since_first(timestamp)
            log.see(objects, Sighting(number, timestamp, relative), threshold)
            complete = log.flush(interval, stale)
            logged, pending = _by_track(log.logged()), _by_track(log.pending())
        return {
            "event_log": {"logged": logged, "pending": pending},
            "detections": with_columns(detections, {}),
            "total_logged": len(logged),
            "total_pending": len(pending),
            "complete_events": _by_track(complete),
        }


def seconds_into_file(metadata: VideoMetadata, fallback_fps: float) -> float | None:
    """Seconds between the first frame of a file and this one; None for frames of a live source,
    whose numbers say little about time.
    """
    fps = metadata.fps or fallback_fps
    if moment_in(replace(metadata, fps=fps)).clock != "frames":
        return None
    return max(metadata.frame_number - 1, 0) / fps


def classes_of_tracks(detections: sv.Detections) -> dict[int, str]:
    """Class name by id of the track, `class_<id>` where there are no names.

    Rows whose track is not confirmed, or that have no track, are left out.
    """
    if detections.tracker_id is None:
        return {}
    names = detections.data.get(keys.CLASS_NAME)
    if names is None:
        class_ids = detections.class_id
        names = [""] * len(detections) if class_ids is None else [f"class_{i}" for i in class_ids]
    ids = tracker_ids(detections).tolist()
    return {track: str(name) for track, name in zip(ids, names, strict=True) if track >= 0}


def _by_track(events: Iterable[Event]) -> dict[str, Any]:
    return {str(event.tracker_id): event.to_dict() for event in events}
