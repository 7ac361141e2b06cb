"""What the versions of the line counter share: fields, and the count of one line in one video."""

from __future__ import annotations

from collections import OrderedDict
from threading import Lock
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray
from pydantic import Field

from blocks.analytics.tracked_anchors import anchor_points, number_pairs, tracker_ids
from blocks.per_video import PerVideo
from execution_engine.block_api import Selector, WorkflowBlock, WorkflowBlockManifest
from execution_engine.errors import InvalidFieldValueError
from execution_engine.kinds.catalogue import (
    INSTANCE_SEGMENTATION_PREDICTION_KIND,
    LIST_OF_VALUES_KIND,
    OBJECT_DETECTION_PREDICTION_KIND,
)

if TYPE_CHECKING:
    import supervision as sv

MOST_TRACKS = 16384
"""Tracks of a video whose side is remembered."""


class LineCounterManifest(WorkflowBlockManifest):
    """Fields of every version; `type`, the video and the anchor are those of a version."""

    detections: Selector(
        kind=[OBJECT_DETECTION_PREDICTION_KIND, INSTANCE_SEGMENTATION_PREDICTION_KIND]
    ) = Field(
        title="Detections",
        description="Tracked objects.",
        examples=["$steps.tracker.tracked_detections"],
    )
    line_segment: list | Selector(kind=[LIST_OF_VALUES_KIND]) = Field(
        title="Line Segment",
        description=(
            "Two points [x, y] in px. Seen along the line from the first to the second, objects "
            "that come to its left side count as in, those that leave it as out."
        ),
        examples=[[[0, 50], [500, 50]], "$inputs.line"],
    )

    @classmethod
    def get_execution_engine_compatibility(cls) -> str | None:
        return ">=1.3.0,<2.0.0"


class LineCounterBlock(WorkflowBlock):
    """Counts crossings of each video by itself; another line or anchor starts a new count."""

    returns_futures = False

    def __init__(self) -> None:
        self._counters: PerVideo[LineCounter] = PerVideo()
        self._lock = Lock()

    def count(
        self, video: str, detections: sv.Detections, line_segment: Any, anchors: tuple[str, ...]
    ) -> tuple[LineCounter, NDArray[np.bool_], NDArray[np.bool_]]:
        """Takes in a frame; the counter, and (n,) who crossed in and who out."""
        line = number_pairs("line_segment", line_segment, 2)
        if len(line) != 2 or (line[0] == line[1]).all():
            raise InvalidFieldValueError(
                f"Field `line_segment` must have two different points, got {line_segment!r:.80}"
            )
        with self._lock:
            counter = self._counters.get(video)
            if counter is None or not counter.is_for(line, anchors):
                counter = LineCounter(line, anchors)
                self._counters.set(video, counter)
            crossed_in, crossed_out = counter.update(detections)
            return counter, crossed_in, crossed_out


class LineCounter:
    """The count of one line in one video.

    An object counts when all its anchors have come to the other side, between the ends of the line.
    While it straddles the line or is beside it, or is not seen, its side is remembered.

    Args:
        line: (2, 2) x, y of both ends, px.
        anchors: places of an object that must all cross.
    """

    def __init__(self, line: NDArray[np.float64], anchors: tuple[str, ...]) -> None:
        self._line = line
        self._anchors = anchors
        self._sides: OrderedDict[int, bool] = OrderedDict()
        self.count_in = 0
        self.count_out = 0

    def is_for(self, line: NDArray[np.float64], anchors: tuple[str, ...]) -> bool:
        """Whether it counts at this line by these anchors."""
        return anchors == self._anchors and bool(np.array_equal(line, self._line))

    def update(self, detections: sv.Detections) -> tuple[NDArray[np.bool_], NDArray[np.bool_]]:
        """Takes in a frame: (n,) who crossed in and who out. Negative ids are passed over."""
        crossed = np.zeros((2, len(detections)), dtype=bool)
        ids = tracker_ids(detections)
        if not len(ids):
            return crossed[0], crossed[1]
        points = np.stack([anchor_points(detections, anchor) for anchor in self._anchors])
        beside, inside = self._placed(points)
        decided = ~beside & (inside.all(axis=0) | ~inside.any(axis=0)) & (ids >= 0)
        for row in np.flatnonzero(decided):
            track, side = int(ids[row]), bool(inside[0, row])
            before = self._sides.get(track)
            self._sides[track] = side
            self._sides.move_to_end(track)
            if before is not None and before != side:
                crossed[0 if side else 1, row] = True
        while len(self._sides) > MOST_TRACKS:
            self._sides.popitem(last=False)
        self.count_in += int(crossed[0].sum())
        self.count_out += int(crossed[1].sum())
        return crossed[0], crossed[1]

    def _placed(self, points: NDArray[np.float64]) -> tuple[NDArray[np.bool_], NDArray[np.bool_]]:
        """(n,) who is not wholly between the ends; (anchors, n) which are on the in side."""
        start, end = self._line
        along = end - start
        from_start, from_end = points - start, points - end
        between = (from_start @ along >= 0) & (from_end @ along <= 0)
        across = along[0] * from_start[..., 1] - along[1] * from_start[..., 0]
        return ~between.all(axis=0), across < 0
