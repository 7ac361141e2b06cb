"""Workflows on videos, cameras and streams.

Names load when they are first used: a decoder is not needed to import this package. Nothing may be
computed here.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from workflows.video.frames import VideoFrame
    from workflows.video.pipeline import InferencePipeline
    from workflows.video.reader import Reconnection
    from workflows.video.report import VideoReport
    from workflows.video.running import run_on_video
    from workflows.video.sources import VideoSource

_PLACES = {
    "InferencePipeline": "workflows.video.pipeline",
    "Reconnection": "workflows.video.reader",
    "VideoFrame": "workflows.video.frames",
    "VideoReport": "workflows.video.report",
    "VideoSource": "workflows.video.sources",
    "run_on_video": "workflows.video.running",
}

__all__ = [
    "InferencePipeline",
    "Reconnection",
    "VideoFrame",
    "VideoReport",
    "VideoSource",
    "run_on_video",
]


def __getattr__(name: str) -> Any:
    place = _PLACES.get(name)
    if place is None:
        raise AttributeError(f"module 'workflows.video' has no attribute {name!r}")
    return getattr(importlib.import_module(place), name)


def __dir__() -> list[str]:
    return sorted([*globals(), *_PLACES])
