"""What every test of videos shares."""

from __future__ import annotations

import time
from collections.abc import Iterator

import pytest

from tests.workflows.video.video_files import video_threads


@pytest.fixture(autouse=True)
def no_threads_left() -> Iterator[None]:
    """Every thread that a test starts has ended soon after it."""
    yield
    deadline = time.monotonic() + 20
    while video_threads() and time.monotonic() < deadline:
        time.sleep(0.01)
    assert video_threads() == []
