"""`InferencePipeline`: a workflow on videos in the background, under the names that programs
written for Roboflow's `inference` package use.
"""

from __future__ import annotations

import logging
import threading
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, closing
from enum import Enum
from pathlib import Path
from typing import TYPE_CHECKING, Any

from execution_engine.profiling import ChromeTraceProfiler
from execution_engine.registry.init_parameters import core_name
from workflows.loading import WorkflowSource
from workflows.running import default_session
from workflows.session import MODEL_MANAGER, Session
from workflows.video.frames import VideoFrame
from workflows.video.pipeline_options import (
    consumption,
    read_sources,
    refusal,
    refuse,
    video_options,
    write_trace,
)
from workflows.video.report import VideoReport
from workflows.video.run import FrameResult, VideoRun
from workflows.video.running import METADATA_INPUT, frame_input, metadata_inputs
from workflows.video.sources import SourceLike

if TYPE_CHECKING:
    from inference_models.manager.manager import ModelManager
    from workflows.workflow import Workflow

_LOG = logging.getLogger(__name__)
_NO_PLATFORM = "workflows are not fetched from a platform; give workflow_specification"
_PROFILED_FRAMES = 64

SinkHandler = Callable[[Any, Any], None]


class SinkMode(Enum):
    """How results reach the sink.

    `ADAPTIVE`: values for one source, lists for several. `SEQUENTIAL`: one call a frame. `BATCH`:
    always lists. Lists have one element a source, None where a source had no frame.
    """

    ADAPTIVE = "adaptive"
    BATCH = "batch"
    SEQUENTIAL = "sequential"


class InferencePipeline:
    """A workflow that runs on videos in the background. Made by `init_with_workflow`.

    An error of the workflow ends the pipeline and is raised by `start` or `join`. An error of the
    sink is logged and reported, and the pipeline goes on.

    Example:
        pipeline = InferencePipeline.init_with_workflow(
            video_reference="street.mp4",
            workflow_specification=definition,
            on_prediction=lambda predictions, video_frame: print(predictions["count"]),
        )
        pipeline.start(use_main_thread=False)
        pipeline.join()

    Args:
        run: the run, not started.
        source_count: number of its sources.
        on_prediction: the sink.
        sink_mode: how results reach the sink.
        resources: closed when the pipeline has ended.
    """

    def __init__(
        self,
        run: VideoRun,
        source_count: int,
        on_prediction: SinkHandler,
        sink_mode: SinkMode,
        resources: ExitStack,
    ) -> None:
        self._run = run
        self._count = source_count
        self._on_prediction = on_prediction
        self._mode = sink_mode
        self._resources = resources
        self._thread: threading.Thread | None = None
        self._error: BaseException | None = None
        self._raised = False
        self._lock = threading.Lock()
        self._started = False
        self._terminated = False
        self._ended = threading.Event()

    @classmethod
    def init_with_workflow(
        cls,
        video_reference: SourceLike | Sequence[SourceLike],
        workflow_specification: WorkflowSource | Workflow | None = None,
        workspace_name: str | None = None,
        workflow_id: str | None = None,
        api_key: str | None = None,
        image_input_name: str = "image",
        workflows_parameters: Mapping[str, Any] | None = None,
        on_prediction: SinkHandler | None = None,
        max_fps: float | None = None,
        source_buffer_filling_strategy: Any = None,
        source_buffer_consumption_strategy: Any = None,
        video_source_properties: Mapping[str, float] | Sequence[Any] | None = None,
        workflow_init_parameters: Mapping[str, Any] | None = None,
        disable_sinks: bool = False,
        workflows_thread_pool_workers: int = 4,
        execution_engine_thread_pool_workers: int | None = None,
        cancel_thread_pool_tasks_on_exit: bool = True,
        video_metadata_input_name: str = METADATA_INPUT,
        batch_collection_timeout: float | None = None,
        video_processing_mode: Any = None,
        max_staleness: float | None = None,
        profiling_directory: str | Path | None = None,
        use_workflow_definition_cache: bool | None = None,
        serialize_results: bool = False,
        predictions_queue_size: int | None = None,
        decoding_buffer_size: int | None = None,
        model_manager: ModelManager | None = None,
        workflow_version_id: str | None = None,
        workflows_dependencies_pre_init: Sequence[str] | None = None,
        *,
        sink_mode: SinkMode | str = SinkMode.ADAPTIVE,
        session: Session | None = None,
    ) -> InferencePipeline:
        """A pipeline that is ready to start. Sources are opened by `start`.

        Args:
            video_reference: file, address, number of a camera, `VideoSource`, or a list of these.
                Frames of several sources are run in batches with one frame of each.
            workflow_specification: the workflow.
            workspace_name: refused, like `workflow_id`, `workflow_version_id` and
                `use_workflow_definition_cache`: workflows are not fetched from a platform.
            api_key: handed to the blocks that ask for one.
            image_input_name: input of the workflow that gets the frames.
            workflows_parameters: values of the other inputs.
            on_prediction: called with results and frames, see `SinkMode`; required.
            max_fps: frames a second of each source that are run at most; others are left out.
            source_buffer_filling_strategy: `WAIT` or `DROP_OLDEST`; by kind of source when None.
            source_buffer_consumption_strategy: `LAZY` (in order) or `EAGER` (the newest).
            video_source_properties: settings of cameras (`frame_width`, `frame_height`, `fps`), or
                a list with one for each source.
            workflow_init_parameters: constructor arguments of blocks.
            disable_sinks: steps that send or write data do nothing.
            workflows_thread_pool_workers: threads for work that steps leave behind.
            execution_engine_thread_pool_workers: frames in the workflow at a time; 4 for files and
                1 for live sources when None. Every step sees the frames in order.
            cancel_thread_pool_tasks_on_exit: at the end, drop the work left behind that has not
                begun; else wait for it.
            video_metadata_input_name: input that gets the `VideoMetadata` of the frames.
            batch_collection_timeout: seconds a batch waits for slower sources; None for as long as
                they live.
            video_processing_mode: `auto`, `every_frame`, `freshest` or `legacy`, see
                `pipeline_options.consumption`.
            max_staleness: seconds after which the mode `auto` drops a waiting frame.
            profiling_directory: folder for a trace of the last frames, written at the end.
            serialize_results: give JSON data to the sink.
            predictions_queue_size: results that wait for the sink at most.
            decoding_buffer_size: decoded frames that wait at most, a source.
            model_manager: models to use, not closed by the pipeline.
            workflows_dependencies_pre_init: `["roboflow_platform_model"]` loads the models now.
            sink_mode: how results reach the sink.
            session: whose blocks, models and settings to use; `default_session()` when None.

        Raises:
            VideoOptionError: an option cannot be used.
            WorkflowCompilerError: the definition has problems, all of them in `.errors`.
            VideoSourceError: a reference cannot be meant.
        """
        refuse(
            _NO_PLATFORM,
            workspace_name=workspace_name,
            workflow_id=workflow_id,
            workflow_version_id=workflow_version_id,
            use_workflow_definition_cache=use_workflow_definition_cache,
        )
        if workflow_specification is None:
            raise refusal("workflow_specification is missing")
        if on_prediction is None or not callable(on_prediction):
            raise refusal(f"on_prediction must be a function, got {on_prediction!r}")
        if session is not None and model_manager is not None:
            raise refusal("a session brings its own models; give session or model_manager")
        if workflows_thread_pool_workers < 1:
            raise refusal(
                "workflows_thread_pool_workers must be at least 1, got "
                f"{workflows_thread_pool_workers}"
            )
        mode = _mode(sink_mode)
        with ExitStack() as resources:
            if model_manager is not None:
                session = resources.enter_context(Session(model_manager=model_manager))
            session = session or default_session()
            sources = read_sources(
                video_reference, video_source_properties, session.settings.max_image_pixels
            )
            pool = ThreadPoolExecutor(
                workflows_thread_pool_workers, thread_name_prefix="workflow-task"
            )
            resources.callback(
                pool.shutdown, wait=True, cancel_futures=cancel_thread_pool_tasks_on_exit
            )
            parameters = {
                core_name("thread_pool_executor"): pool,
                **({} if api_key is None else {core_name("api_key"): api_key}),
                **({core_name("disable_sinks"): True} if disable_sinks else {}),
                **(workflow_init_parameters or {}),
            }
            profiler = None
            if profiling_directory is not None:
                profiler = ChromeTraceProfiler(_PROFILED_FRAMES)
                resources.callback(write_trace, profiler, Path(profiling_directory))
            plan = session.compile(workflow_specification, profiler)
            engine = resources.enter_context(
                session.engine(
                    workflow_specification, init_parameters=parameters, profiler=profiler
                )
            )
            if workflows_dependencies_pre_init:
                engine.preload(
                    workflows_dependencies_pre_init, {MODEL_MANAGER: session.model_manager}
                )
            given = dict(workflows_parameters or {})
            options = video_options(
                image_input=frame_input(plan, image_input_name, given),
                inputs=given,
                metadata_inputs=metadata_inputs(plan, video_metadata_input_name, given),
                depth=execution_engine_thread_pool_workers,
                results_size=predictions_queue_size,
                max_fps=max_fps,
                batch=len(sources) > 1,
                serialize=serialize_results,
                **consumption(
                    filling_strategy=source_buffer_filling_strategy,
                    consumption_strategy=source_buffer_consumption_strategy,
                    processing_mode=video_processing_mode,
                    max_staleness=max_staleness,
                    patience=batch_collection_timeout,
                    buffer_size=decoding_buffer_size,
                ),
            )
            run = VideoRun(engine, sources, options)
            return cls(run, len(sources), on_prediction, mode, resources.pop_all())

    @property
    def report(self) -> VideoReport:
        """Counts, faults and times, also while it runs."""
        return self._run.report

    @property
    def ended(self) -> bool:
        """Whether everything has come to its end."""
        return self._ended.is_set()

    def start(self, use_main_thread: bool = True) -> None:
        """Opens the sources and runs.

        Args:
            use_main_thread: call the sink on this thread and return at the end; else return at
                once and call it on a thread of the pipeline.

        Raises:
            VideoOptionError: it was started before.
            VideoSourceError: a source cannot be opened.
            WorkflowError: the workflow failed on a frame (`use_main_thread=True`).
        """
        with self._lock:
            if self._started:
                raise refusal("a pipeline is started once; make a new one")
            self._started = True
            terminated = self._terminated
        if terminated:
            return
        try:
            self._run.start()
        except BaseException:
            self._close()
            raise
        if use_main_thread:
            self._deliver()
        else:
            self._thread = threading.Thread(
                target=self._deliver_in_background, name="video-pipeline", daemon=True
            )
            self._thread.start()

    @property
    def error(self) -> BaseException | None:
        """What ended it before its time."""
        return self._error

    def wait(self, timeout: float) -> bool:
        """Waits for the end, seconds at most; whether it has ended. Raises nothing."""
        return self._ended.wait(timeout)

    def join(self) -> None:
        """Waits until every result has been delivered and every thread has ended.

        Raises:
            WorkflowError: what ended the pipeline before its time.
        """
        if self._thread is not None:
            self._thread.join()
        if self._error is not None and not self._raised:
            self._raised = True
            raise self._error

    def terminate(self) -> None:
        """Takes no more frames; results of those in the workflow are still delivered. `join` waits
        for that.
        """
        with self._lock:
            self._terminated = True
            started = self._started
        if started:
            self._run.stop()
        else:
            self._run.close()
            self._close()

    def pause_stream(self, source_id: int | None = None) -> None:
        """Holds files where they are; live sources stay connected and their frames are dropped."""
        self._run.pause(source_id)

    def mute_stream(self, source_id: int | None = None) -> None:
        """Lets sources go on and drops their frames."""
        self._run.mute(source_id)

    def resume_stream(self, source_id: int | None = None) -> None:
        """Ends `pause_stream` and `mute_stream`."""
        self._run.resume(source_id)

    def _deliver_in_background(self) -> None:
        try:
            self._deliver()
        except BaseException as error:
            self._error = error
            _LOG.error("The pipeline ended with an error, which join() raises: %s", error)

    def _deliver(self) -> None:
        try:
            with closing(self._run.results()) as results:
                for result in results:
                    self._give(result)
        finally:
            self._close()

    def _give(self, result: FrameResult) -> None:
        rows: list[dict[str, Any] | None] = [None] * self._count
        frames: list[VideoFrame | None] = [None] * self._count
        for row, frame in zip(result.rows, result.frames, strict=True):
            rows[frame.source_id], frames[frame.source_id] = row, frame
        try:
            if self._mode is SinkMode.SEQUENTIAL:
                for row, frame in zip(result.rows, result.frames, strict=True):
                    self._on_prediction(row, frame)
            elif self._mode is SinkMode.ADAPTIVE and self._count == 1:
                self._on_prediction(rows[0], frames[0])
            else:
                self._on_prediction(rows, frames)
        except Exception as error:
            text = f"the sink failed: {type(error).__name__}: {error}"
            _LOG.warning("In a video pipeline %s", text)
            for frame in result.frames:
                self.report.add_fault("sink", frame.source_id, frame.frame_id, text)

    def _close(self) -> None:
        try:
            self._resources.close()
        finally:
            self._ended.set()


def _mode(asked: SinkMode | str) -> SinkMode:
    try:
        return SinkMode(asked)
    except ValueError as error:
        known = ", ".join(mode.value for mode in SinkMode)
        raise refusal(f"sink_mode is one of {known}, got {asked!r}") from error
