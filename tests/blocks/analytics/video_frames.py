"""Frames of videos and tracked boxes for tests of analytics. Tests nothing."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import UTC, datetime, timedelta
from typing import Any

import numpy as np

from blocks.kinds.detections.columns import with_columns
from execution_engine.block_api import ImageParentMetadata, VideoMetadata, WorkflowImageData
from tests.blocks.detection_sets import an_image, some

IMAGE = an_image((120, 160))
START = datetime(2026, 1, 1, tzinfo=UTC)


def tracked(boxes: Mapping[int, Sequence[float]], **options: Any) -> Any:
    """Detections, box xyxy by id of the track."""
    rows = some(list(boxes.values()), IMAGE, **options)
    return with_columns(rows, {"tracker_id": np.array(list(boxes), np.int64)})


def around(places: Mapping[int, tuple[float, float]], **options: Any) -> Any:
    """Detections of 10 x 10 px, centre x, y by id of the track."""
    return tracked({i: [x - 5, y - 5, x + 5, y + 5] for i, (x, y) in places.items()}, **options)


def frame(
    number: int,
    video: str = "v",
    seconds: float | None = None,
    from_file: bool | None = True,
    fps: float | None = 10,
) -> WorkflowImageData:
    """A frame of a video, taken `seconds` after the start, or as its number says."""
    taken = START + timedelta(seconds=number / 10 if seconds is None else seconds)
    metadata = VideoMetadata(video, number, taken, fps=fps, comes_from_video_file=from_file)
    return WorkflowImageData(
        ImageParentMetadata("image"), numpy_image=IMAGE.numpy_image, video_metadata=metadata
    )
