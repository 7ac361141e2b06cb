"""`weftlens video`: a workflow on files, cameras and streams; results as JSON lines, pictures as a
video, a summary at the end.
"""

from __future__ import annotations

import signal
import threading
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, closing, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from execution_engine.errors import WorkflowError
from execution_engine.plan import Plan
from workflows.cli.exit_codes import INTERRUPTED, OK, PROBLEM, USAGE
from workflows.cli.result_files import ResultFiles, ResultForm
from workflows.cli.result_lines import ResultLines
from workflows.cli.run_inputs import UsageError, parse_parameters
from workflows.cli.terminal import (
    error_console,
    error_text,
    json_text,
    write,
    write_error,
    write_json,
)
from workflows.files import is_same_file
from workflows.running import locked
from workflows.session import Session
from workflows.video.annotated import AnnotatedVideos, video_paths
from workflows.video.errors import VideoSourceError
from workflows.video.progress import VideoProgress
from workflows.video.report import VideoReport
from workflows.video.run import FrameResult, VideoOptions, VideoRun
from workflows.video.running import METADATA_INPUT, frame_input, metadata_inputs, run_frames
from workflows.video.sources import VideoSource, sources_of
from workflows.workflow import Workflow

_SHOWN_FAULTS = 10


@dataclass(frozen=True, slots=True)
class VideoCommand:
    """What the user asked for; names as the options of the command."""

    workflow: Path
    sources: Sequence[str]
    out: Path | None = None
    results: Path | None = None
    parameters: Sequence[str] = ()
    image_input: str | None = None
    video_output: str | None = None
    policy: str | None = None
    max_fps: float | None = None
    frames: int | None = None
    depth: int | None = None
    skip_errors: bool = False
    lock_file: Path | None = None
    as_json: bool = False


def video_command(command: VideoCommand) -> int:
    """Runs the workflow on the sources and gives the exit code: 0, 1 when something failed or no
    frame had a result, 2 for wrong usage, 130 after an interrupt.
    """
    report = VideoReport()
    code = OK
    with Session() as session:
        workflow = Workflow.load(command.workflow, session=session)
        try:
            plan = session.compile(workflow)
            parameters = parse_parameters(command.parameters, workflow.interface())
            sources = sources_of(
                list(command.sources), max_pixels=session.settings.max_image_pixels
            )
            options = _options(command, plan, parameters)
            _protect(command, sources)
            if command.lock_file is not None:
                locked(workflow, command.lock_file, parameters, session)
        except (UsageError, ValueError) as error:
            write_error(f"weftlens video: {error}")
            return USAGE
        except WorkflowError as error:
            write_error(error_text(command.workflow.name, error))
            return USAGE if isinstance(error, VideoSourceError) else PROBLEM
        try:
            with _termination_as_interrupt(), ExitStack() as stack:
                engine = stack.enter_context(session.engine(workflow))
                videos = None
                if command.out is not None:
                    videos = AnnotatedVideos(
                        command.out,
                        command.video_output,
                        plan,
                        sources,
                        command.max_fps,
                        report,
                    )
                    stack.callback(videos.close)
                lines = None
                if command.results is not None:
                    lines = stack.enter_context(closing(ResultLines(command.results)))
                bar = stack.enter_context(VideoProgress(report, error_console()))
                run = VideoRun(engine, sources, options, report)
                frames = run_frames(run, videos, bar, command.frames)
                for result in stack.enter_context(closing(frames)):
                    if lines is not None:
                        _write_lines(lines, plan, result)
        except KeyboardInterrupt:
            write_error("Interrupted; what was done so far is kept.")
            code = INTERRUPTED
        except WorkflowError as error:
            write_error(error_text(command.workflow.name, error))
            code = PROBLEM
        except OSError as error:
            where = f" '{error.filename}'" if error.filename else ""
            write_error(f"the results cannot be written{where}: {error.strerror or error}")
            code = PROBLEM
    _show(report, command)
    if code == OK and (not report.results or any(fault.kind == "run" for fault in report.faults)):
        code = PROBLEM
    return code


@contextmanager
def _termination_as_interrupt() -> Iterator[None]:
    """Ends the run in good order on SIGTERM, as service managers send it: a video without its end
    cannot be played.
    """
    may_set = threading.current_thread() is threading.main_thread()
    if not may_set or signal.getsignal(signal.SIGTERM) is not signal.SIG_DFL:
        yield  # somebody else decides what the signal does
        return
    signal.signal(signal.SIGTERM, signal.default_int_handler)
    try:
        yield
    finally:
        signal.signal(signal.SIGTERM, signal.SIG_DFL)


def _options(command: VideoCommand, plan: Plan, parameters: dict[str, Any]) -> VideoOptions:
    return VideoOptions(
        image_input=frame_input(plan, command.image_input, parameters),
        inputs=parameters,
        metadata_inputs=metadata_inputs(plan, METADATA_INPUT, parameters),
        policy=command.policy,  # type: ignore[arg-type]  # checked by the options
        depth=command.depth,
        max_fps=command.max_fps,
        on_error="skip" if command.skip_errors else "stop",
    )


def _protect(command: VideoCommand, sources: Sequence[VideoSource]) -> None:
    """Raises `UsageError` when a file of the results is one that is read, or is both of them."""
    read = [command.workflow, *(source.path for source in sources if source.path is not None)]
    videos = [] if command.out is None else video_paths(command.out, sources)
    results = [] if command.results is None else [command.results]
    for target in (*videos, *results):
        if any(is_same_file(target, path) for path in read):
            raise UsageError(f"'{target}' is read by this command and cannot be written")
    for target in results:
        if any(is_same_file(target, path) for path in videos):
            raise UsageError(f"'{target}' cannot hold both the results and a video")


def _write_lines(lines: ResultLines, plan: Plan, result: FrameResult) -> None:
    """One line of JSON a frame; pictures are described, not written."""
    rows = ResultFiles(ResultForm.of_plan(plan), None, "", "png").rows(result.rows)
    if result.secrets is not None:
        rows = result.secrets.in_data(rows)
    for row, frame in zip(rows, result.frames, strict=True):
        line = {
            "source": frame.source_id,
            "frame": frame.frame_id,
            "seconds": round(frame.position, 6),
            "timestamp": frame.frame_timestamp.isoformat(),
            "results": row,
        }
        lines.write(f"{json_text(line, ascii_only=True)}\n")


def _show(report: VideoReport, command: VideoCommand) -> None:
    if command.as_json:
        write_json(report.to_dict())
        return
    for fault in report.faults[:_SHOWN_FAULTS]:
        write_error(str(fault))
    if report.fault_count > _SHOWN_FAULTS:
        write_error(f"... and {report.fault_count - _SHOWN_FAULTS} more faults")
    for note in report.notes:
        write_error(f"Note: {note}")
    for source in report.sources:
        left_out = [
            f"{count} {what}"
            for count, what in ((source.dropped, "dropped"), (source.thinned, "left out"))
            if count
        ]
        extra = f" ({', '.join(left_out)})" if left_out else ""
        write(f"{source.label}: {source.results} of {source.frames} frames{extra}")
    latency = report.latency
    if latency is not None:
        write(
            f"{report.results} results in {report.elapsed:.1f} s, {report.fps:.1f} frames/s; "
            f"latency {1000 * latency.p50:.0f} ms (half), {1000 * latency.p90:.0f} ms (90 %), "
            f"{1000 * latency.p99:.0f} ms (99 %)"
        )
    elif report.sources:
        write("no frame had a result")
    for path in report.files:
        write(f"video: {path}")
    if command.results is not None and report.results:
        write(f"results: {command.results}")
