"""Takes the results of runs, for tests."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import closing
from typing import Any

from tests.workflows.video.video_files import counting_workflow
from workflows import Session
from workflows.video.report import VideoReport
from workflows.video.run import FrameResult, VideoOptions, VideoRun
from workflows.video.sources import VideoSource


def results_of(
    session: Session,
    sources: list[VideoSource],
    workflow: dict[str, Any] | None = None,
    report: VideoReport | None = None,
    **options: Any,
) -> list[FrameResult]:
    """All results of a run."""
    with session.engine(workflow or counting_workflow()) as engine:
        made = VideoRun(engine, sources, VideoOptions("image", **options), report)
        made.start()
        with closing(made.results()) as results:
            return list(results)


def counts(results: list[FrameResult], source: int = 0) -> list[tuple[int, int]]:
    """(frame id, count) of a source."""
    return [
        (frame.frame_id, row["count"])
        for result in results
        for frame, row in zip(result.frames, result.rows, strict=True)
        if frame.source_id == source
    ]


def drain(
    run: VideoRun, taken: list[FrameResult], each: Callable[[], object] = lambda: None
) -> None:
    """Takes the results of a started run, and calls something after each."""
    for result in run.results():
        taken.append(result)
        each()
