"""The options of `weftlens video`. What it does is in `video`, loaded when it runs."""

from __future__ import annotations

from enum import StrEnum
from pathlib import Path
from typing import Annotated

import typer

from workflows.cli.option_types import (
    LockedOption,
    LockFileOption,
    ParamOption,
    WorkflowArgument,
    chosen_lock,
)


class FramePolicy(StrEnum):
    """What becomes of frames that come while the workflow is busy."""

    WAIT = "wait"
    DROP = "drop"


def add_video_command(app: typer.Typer) -> None:
    """Adds the command to the application."""

    @app.command()
    def video(
        workflow: WorkflowArgument,
        sources: Annotated[
            list[str],
            typer.Argument(
                metavar="SOURCES",
                help="Video files, addresses (rtsp://, http://, ...) or numbers of cameras.",
            ),
        ],
        out: Annotated[
            Path | None,
            typer.Option(
                "--out",
                "-o",
                metavar="FILE",
                help="Video to write (.mp4, .mov, .mkv, .avi, .webm); with several sources "
                "FILE-0, FILE-1 and so on.",
            ),
        ] = None,
        video_output: Annotated[
            str | None,
            typer.Option(
                "--video-output", metavar="NAME", help="The output with the pictures for --out."
            ),
        ] = None,
        results: Annotated[
            Path | None,
            typer.Option("--results", metavar="FILE", help="JSON lines to write, one a frame."),
        ] = None,
        param: ParamOption = None,
        input_name: Annotated[
            str | None,
            typer.Option("--input", help="The input the frames go to, when there are several."),
        ] = None,
        policy: Annotated[
            FramePolicy | None,
            typer.Option(
                "--policy",
                help="Keep every frame (wait) or drop those that come while busy (drop); by "
                "default files wait and live sources drop.",
            ),
        ] = None,
        max_fps: Annotated[
            float | None,
            typer.Option("--max-fps", help="Frames a second of each source to run at most."),
        ] = None,
        frames: Annotated[
            int | None, typer.Option("--frames", min=1, help="Results after which to end.")
        ] = None,
        depth: Annotated[
            int | None,
            typer.Option("--depth", min=1, help="Frames in the workflow at a time."),
        ] = None,
        skip_errors: Annotated[
            bool,
            typer.Option("--skip-errors", help="Report frames the workflow fails on and go on."),
        ] = False,
        locked: LockedOption = False,
        lock_file: LockFileOption = None,
        as_json: Annotated[
            bool, typer.Option("--json", help="Print the summary as JSON instead of text.")
        ] = False,
    ) -> None:
        """Run a workflow on every frame of videos, cameras or streams.

        State of blocks (trackers, counters) lasts over all frames of a source. Frames that cannot
        be decoded are reported and left out. End a live source with Ctrl-C.
        """
        from workflows.cli.video import VideoCommand, video_command

        raise typer.Exit(
            video_command(
                VideoCommand(
                    workflow,
                    sources,
                    out=out,
                    results=results,
                    parameters=param or [],
                    image_input=input_name,
                    video_output=video_output,
                    policy=None if policy is None else policy.value,
                    max_fps=max_fps,
                    frames=frames,
                    depth=depth,
                    skip_errors=skip_errors,
                    lock_file=chosen_lock(workflow, locked, lock_file),
                    as_json=as_json,
                )
            )
        )
