"""The progress bar of a run over videos. Counts nothing itself."""

from __future__ import annotations

from types import TracebackType
from typing import TYPE_CHECKING

from workflows.video.report import VideoReport

if TYPE_CHECKING:
    from rich.console import Console


class VideoProgress:
    """Shows how far a run is: frames of the total where files say it, frames a second.

    Args:
        report: the run.
        console: where to show; standard error when None.
        enabled: show nothing when False, or when the console is no terminal.
    """

    def __init__(
        self, report: VideoReport, console: Console | None = None, enabled: bool = True
    ) -> None:
        self._report = report
        self._progress = None
        if not enabled:
            return
        from rich.console import Console
        from rich.progress import (
            BarColumn,
            MofNCompleteColumn,
            Progress,
            TextColumn,
            TimeRemainingColumn,
        )

        console = Console(stderr=True) if console is None else console
        if console.is_terminal:
            self._progress = Progress(
                TextColumn("{task.description}"),
                BarColumn(),
                MofNCompleteColumn(),
                TextColumn("{task.fields[fps]:.1f} frames/s"),
                TimeRemainingColumn(),
                console=console,
                transient=True,
            )

    def __enter__(self) -> VideoProgress:
        if self._progress is not None:
            self._progress.start()
            self._task = self._progress.add_task("frames", total=None, fps=0.0)
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        if self._progress is not None:
            self._progress.stop()

    def update(self) -> None:
        """Shows the state of the report."""
        if self._progress is None:
            return
        sources = self._report.sources
        totals = [source.total_frames for source in sources]
        known = [total for total in totals if total is not None]
        self._progress.update(
            self._task,
            completed=sum(source.frames for source in sources)
            if len(known) == len(totals)
            else self._report.results,
            total=sum(known) if len(known) == len(totals) else None,
            fps=self._report.fps,
        )
