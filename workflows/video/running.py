"""`run_on_video`: one call from a workflow and a video to results, an annotated video and a
report. Runs nothing itself.
"""

from __future__ import annotations

from collections.abc import Callable, Generator, Mapping, Sequence
from contextlib import ExitStack, closing
from pathlib import Path
from typing import TYPE_CHECKING, Any

from execution_engine.definition.model import VIDEO_METADATA_INPUT_TYPE
from execution_engine.plan import Plan
from workflows.loading import WorkflowSource
from workflows.running import default_session, locked
from workflows.session import Session
from workflows.video.annotated import AnnotatedVideos
from workflows.video.errors import VideoOptionError
from workflows.video.frames import VideoFrame
from workflows.video.progress import VideoProgress
from workflows.video.reader import Reconnection
from workflows.video.report import VideoReport
from workflows.video.run import ErrorPolicy, FrameResult, Policy, VideoOptions, VideoRun
from workflows.video.sources import SourceLike, sources_of

if TYPE_CHECKING:
    from workflows.locking.lock_file import LockSource
    from workflows.workflow import Workflow

FrameSink = Callable[[dict[str, Any], VideoFrame], None]

METADATA_INPUT = "video_metadata"
_IMAGE_KIND = "image"


def run_on_video(
    workflow: WorkflowSource | Workflow,
    source: SourceLike | Sequence[SourceLike],
    *,
    sink: FrameSink | None = None,
    out: str | Path | None = None,
    video_output: str | None = None,
    inputs: Mapping[str, Any] | None = None,
    image_input: str | None = None,
    policy: Policy | None = None,
    max_fps: float | None = None,
    max_frames: int | None = None,
    depth: int | None = None,
    buffer_size: int | None = None,
    on_error: ErrorPolicy = "stop",
    reconnection: Reconnection | None = None,
    serialize: bool = False,
    progress: bool = False,
    session: Session | None = None,
    init_parameters: Mapping[str, Any] | None = None,
    report: VideoReport | None = None,
    lock: LockSource | None = None,
) -> VideoReport:
    """Runs a workflow on every frame of videos, cameras or streams, in order.

    Block state lasts from the first frame to the last; each source has its own. Frames that cannot
    be decoded, or whose timestamp cannot be right, are reported and left out.

    Example:
        report = run_on_video("workflow.json", "street.mp4", out="annotated.mp4",
                              sink=lambda result, frame: print(frame.frame_id, result["count"]))

    Args:
        workflow: a JSON object, JSON text, the path of a file, or a `Workflow`.
        source: a file, the number of a camera, an address (`rtsp://`, `http://`, ...), a
            `VideoSource`, or a list of these.
        sink: called with the result and the frame, on this thread, one frame after the other.
        out: a video to write; with several sources one each, `<stem>-<identifier><suffix>`.
        video_output: the output that is written to `out`; the first image output when None.
        inputs: values of the other inputs.
        image_input: input that gets the frames; the only image input without a value when None.
        policy: `wait` runs every frame, `drop` drops frames that come while the workflow is busy;
            None waits for files and drops of live sources.
        max_fps: frames a second of each source that are run at most; others are left out.
        max_frames: results after which the run ends.
        depth: frames in the workflow at a time; 4 for files and 1 for live sources when None.
            Every step sees the frames in order.
        buffer_size: decoded frames that wait at most, a source.
        on_error: `stop` ends the run with the first error of the workflow or the sink, `skip`
            reports it and goes on with the next frame.
        reconnection: how live sources that were lost are opened again.
        serialize: give JSON data to the sink; not together with `out`.
        progress: show a progress bar on the terminal.
        session: whose blocks, models and settings to use; `default_session()` when None.
        init_parameters: constructor arguments of blocks, as `source.name` or `name`.
        report: an object to fill, to be read while the run goes on or after an interrupt.
        lock: refuse to run with anything but what this lock says, checked before the first frame;
            forms as in `run_locally`.

    Returns:
        Counts, faults, frames a second and latencies.

    Raises:
        WorkflowCompilerError: the definition has problems, all of them in `.errors`.
        VideoSourceError: a source cannot be opened, or was lost for good.
        VideoWriterError: `out` cannot be written.
        StepExecutionError: the code of a block raised (`on_error="stop"`).
        LockDriftError, WorkflowLockError: the lock does not hold or cannot be read.
        ValueError: an option is out of range, or two cannot go together.
    """
    if out is not None and serialize:
        raise ValueError("out needs pictures, which serialize=True turns into text; give one")
    if max_frames is not None and max_frames < 1:
        raise ValueError(f"max_frames must be at least 1, got {max_frames}")
    session = session or default_session()
    report = VideoReport() if report is None else report
    sources = sources_of(source, max_pixels=session.settings.max_image_pixels)
    given = dict(inputs or {})
    if lock is not None:
        workflow = locked(workflow, lock, given, session, init_parameters)
    plan = session.compile(workflow)
    options = VideoOptions(
        image_input=frame_input(plan, image_input, given),
        inputs=given,
        metadata_inputs=metadata_inputs(plan, METADATA_INPUT, given),
        policy=policy,
        buffer_size=buffer_size,
        depth=depth,
        max_fps=max_fps,
        serialize=serialize,
        on_error=on_error,
        reconnection=reconnection or Reconnection(),
    )
    with ExitStack() as stack:
        engine = stack.enter_context(session.engine(workflow, init_parameters=init_parameters))
        videos = None
        if out is not None:
            videos = AnnotatedVideos(Path(out), video_output, plan, sources, max_fps, report)
            stack.callback(videos.close)
        run = VideoRun(engine, sources, options, report)
        bar = stack.enter_context(VideoProgress(report, enabled=progress))
        results = stack.enter_context(closing(run_frames(run, videos, bar, max_frames)))
        for result in results:
            if sink is not None:
                _give(sink, result, on_error, report)
    return report


def run_frames(
    run: VideoRun,
    videos: AnnotatedVideos | None,
    bar: VideoProgress,
    max_frames: int | None,
) -> Generator[FrameResult, None, None]:
    """Starts a run and gives its results, each after its picture was written; all threads have
    ended when the iterator has.

    Args:
        run: a run, not started.
        videos: where pictures go.
        bar: kept up to date.
        max_frames: results after which the run ends.

    Raises:
        VideoSourceError, VideoWriterError, StepExecutionError: as `run_on_video`.
    """
    run.start()
    with closing(run.results()) as results:
        for result in results:
            if videos is not None:
                for row, frame in zip(result.rows, result.frames, strict=True):
                    videos.write(row, frame)
            yield result
            bar.update()
            if max_frames is not None and run.report.results >= max_frames:
                return


def frame_input(plan: Plan, asked: str | None, given: Mapping[str, Any]) -> str:
    """Name of the input that gets the frames.

    Raises:
        VideoOptionError: no such image input, or several to choose from.
    """
    names = [
        item.declaration.name
        for item in plan.inputs
        if item.declaration.dimensionality == 1 and _IMAGE_KIND in item.declaration.kinds
    ]
    shown = ", ".join(names) or "none"
    if asked is not None:
        if asked not in names:
            raise VideoOptionError(
                f"The workflow has no image input '{asked}' for the frames; it has {shown}."
            )
        return asked
    free = [name for name in names if name not in given]
    if len(free) != 1:
        raise VideoOptionError(
            "The frames need one image input without a value; the workflow has "
            f"{', '.join(free) or 'none'} (image inputs: {shown}). Name it as the image input."
        )
    return free[0]


def metadata_inputs(plan: Plan, named: str, given: Mapping[str, Any]) -> tuple[str, ...]:
    """The inputs without a value that get the place of the frames in their videos: the one of this
    name and all that are declared as video metadata.
    """
    return tuple(
        item.declaration.name
        for item in plan.inputs
        if item.declaration.name not in given
        and (item.declaration.name == named or item.declaration.type == VIDEO_METADATA_INPUT_TYPE)
    )


def _give(sink: FrameSink, result: FrameResult, on_error: ErrorPolicy, report: VideoReport) -> None:
    for row, frame in zip(result.rows, result.frames, strict=True):
        try:
            sink(row, frame)
        except Exception as error:
            if on_error == "stop":
                error.add_note(
                    f"The sink raised this on frame {frame.frame_id} of source {frame.source_id}."
                )
                raise
            text = f"the sink failed: {type(error).__name__}: {error}"
            report.add_fault("sink", frame.source_id, frame.frame_id, text)
