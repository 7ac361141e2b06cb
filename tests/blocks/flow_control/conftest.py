"""Frames of videos for the tests of gates."""

from __future__ import annotations

from collections.abc import Callable
from datetime import UTC, datetime, timedelta

import numpy as np
import pytest

from execution_engine.block_api import ImageParentMetadata, VideoMetadata, WorkflowImageData

START = datetime(2026, 1, 1, tzinfo=UTC)


def _frame(
    video: str = "cam-1",
    number: int = 0,
    fps: float | None = 10,
    from_file: bool | None = True,
    second: float = 0.0,
) -> WorkflowImageData:
    return WorkflowImageData(
        ImageParentMetadata("image"),
        numpy_image=np.zeros((4, 6, 3), np.uint8),
        video_metadata=VideoMetadata(
            video,
            frame_number=number,
            frame_timestamp=START + timedelta(seconds=second),
            fps=fps,
            comes_from_video_file=from_file,
        ),
    )


@pytest.fixture
def make_frame() -> Callable[..., WorkflowImageData]:
    """Makes a frame: `make_frame(video, number, fps, from_file, second)`, all optional."""
    return _frame


@pytest.fixture
def still() -> WorkflowImageData:
    """An image that is no frame."""
    return WorkflowImageData(
        ImageParentMetadata("image"), numpy_image=np.zeros((4, 6, 3), np.uint8)
    )


class HostClock:
    """Stands in for the host's clock; `now` is set by the test."""

    now = 100.0

    def monotonic(self) -> float:
        return self.now


@pytest.fixture
def host_clock(monkeypatch: pytest.MonkeyPatch) -> HostClock:
    """The clock that gates read when no frame tells the time."""
    clock = HostClock()
    monkeypatch.setattr("blocks.flow_control.video_time.time", clock)
    return clock
