"""`VideoRun`: sources in, results out, in order: decoding ahead, frames overlapping in the
workflow, results taken on the caller's thread. Writes no file and calls no sink.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Generator, Mapping, Sequence
from concurrent.futures import CancelledError, Future, ThreadPoolExecutor
from dataclasses import dataclass, field
from typing import Any, Literal

from execution_engine.engine import ExecutionEngine
from execution_engine.executor.limits import CancellationToken
from execution_engine.executor.overlap import RunQueue, Turn, shared_objects
from execution_engine.executor.report import RunReport
from execution_engine.executor.secrets import Secrets
from execution_engine.plan import Plan
from workflows.video.buffers import BufferRule, FrameBuffers, Outbox
from workflows.video.frames import VideoFrame
from workflows.video.reader import Reconnection, SourceReader
from workflows.video.report import SourceReport, VideoReport
from workflows.video.sources import VideoSource
from workflows.video.streams import FrameStream

Policy = Literal["wait", "drop"]
ErrorPolicy = Literal["stop", "skip"]

FILE_DEPTH = 4
_FILE_BUFFER = 4
_LIVE_BUFFER = 1
# Longer than a network read may take before it gives up.
_JOIN_TIMEOUT = 30.0


@dataclass(frozen=True, slots=True)
class VideoOptions:
    """How frames go through a workflow.

    Attributes:
        image_input: input of the workflow that gets the frames.
        inputs: values of the other inputs.
        metadata_inputs: inputs that get the `VideoMetadata` of the frames.
        policy: `wait` keeps every frame and slows the source down, `drop` drops the oldest waiting
            frame; None waits for files and drops of live sources.
        buffer_size: decoded frames that wait at most, a source; 4 for files and 1 for live sources
            when None.
        newest: of the waiting frames take the newest and drop the others (only when dropping).
        max_age: seconds after which a waiting frame is dropped (only when dropping).
        depth: frames in the workflow at a time; 4 when every source waits, else 1, when None.
        results_size: results that wait for the taker at most; as many as `depth` when None.
        max_fps: frames a second of each source that are run at most.
        batch: run one frame of each source together; else each frame on its own.
        batch_patience: seconds a batch waits for sources that have no frame yet, None for as long
            as they live.
        serialize: give JSON data instead of Python objects.
        on_error: `stop` ends the run with the error of a frame, `skip` reports it and goes on.
        reconnection: how live sources are opened again.

    Raises:
        ValueError: a value is out of range.
    """

    image_input: str
    inputs: Mapping[str, Any] = field(default_factory=dict)
    metadata_inputs: tuple[str, ...] = ()
    policy: Policy | None = None
    buffer_size: int | None = None
    newest: bool = False
    max_age: float | None = None
    depth: int | None = None
    results_size: int | None = None
    max_fps: float | None = None
    batch: bool = False
    batch_patience: float | None = None
    serialize: bool = False
    on_error: ErrorPolicy = "stop"
    reconnection: Reconnection = field(default_factory=Reconnection)

    def __post_init__(self) -> None:
        for name in ("buffer_size", "depth", "results_size"):
            value = getattr(self, name)
            if value is not None and value < 1:
                raise ValueError(f"{name} must be at least 1, got {value}")
        for name in ("max_fps", "max_age"):
            value = getattr(self, name)
            if value is not None and not value > 0:
                raise ValueError(f"{name} must be above 0, got {value}")
        if self.batch_patience is not None and not self.batch_patience >= 0:
            raise ValueError(f"batch_patience must not be negative, got {self.batch_patience}")
        if self.policy not in (None, "wait", "drop"):
            raise ValueError(f"policy is 'wait' or 'drop', got {self.policy!r}")
        if self.on_error not in ("stop", "skip"):
            raise ValueError(f"on_error is 'stop' or 'skip', got {self.on_error!r}")

    def drops(self, source: VideoSource) -> bool:
        """Whether frames of a source are dropped when the run is too slow."""
        return source.live if self.policy is None else self.policy == "drop"

    def buffer_rule(self, source: VideoSource) -> BufferRule:
        """How the frames of a source wait."""
        drops = self.drops(source)
        usual = _LIVE_BUFFER if drops else _FILE_BUFFER
        return BufferRule(
            self.buffer_size or usual, drops, self.newest and drops, self.max_age if drops else None
        )


@dataclass(frozen=True, slots=True)
class FrameResult:
    """Results of frames that were run together: one row a frame, in the order of the sources.

    Attributes:
        secrets: hides secret values in what is made of the rows; None when there are none.
    """

    frames: list[VideoFrame]
    rows: list[dict[str, Any]]
    secrets: Secrets | None = None


_Job = tuple[list[VideoFrame], "Future[FrameResult]"]


class VideoRun:
    """One pass of a workflow over sources. Used once.

    Every source is decoded on a thread of its own. Up to `depth` frames are in the workflow at the
    same time, each step sees them in the order they were taken, so blocks that keep state work as
    if there were one. Where steps share an object through which one sees what another did, frames
    run one by one.

    Args:
        engine: the workflow; not closed by the run.
        sources: at least one.
        options: how frames go through.
        report: kept up to date while the run goes on.

    Raises:
        ExecutionEngineNotImplementedError: a block answers for earlier frames.
    """

    def __init__(
        self,
        engine: ExecutionEngine,
        sources: Sequence[VideoSource],
        options: VideoOptions,
        report: VideoReport | None = None,
    ) -> None:
        # A block that held results back would keep the last ones for ever: refused, not lost.
        engine.flush_stream_pipeline({})
        self.report = VideoReport() if report is None else report
        self._engine = engine
        self._sources = list(sources)
        self._options = options
        self._depth = _depth(engine.plan, options, self._sources, self.report)
        self.report.depth = self._depth
        self._buffers = FrameBuffers([options.buffer_rule(source) for source in self._sources])
        self._outbox: Outbox[_Job] = Outbox(options.results_size or self._depth)
        self._slots = threading.Semaphore(self._depth)
        self._cancellation = CancellationToken()
        self._stopping = threading.Event()
        self._readers: list[SourceReader] = []
        self._feeder = threading.Thread(target=self._feed, name="video-feeder", daemon=True)
        self._pool = ThreadPoolExecutor(self._depth, thread_name_prefix="video-run")
        self._feed_error: BaseException | None = None

    def start(self) -> None:
        """Opens every source, then starts the threads.

        Raises:
            VideoSourceError: a source cannot be opened; those opened before are closed.
        """
        streams: list[FrameStream] = []
        try:
            for source in self._sources:
                streams.append(source.open())
        except BaseException:
            for stream in streams:
                stream.close()
            self._pool.shutdown()
            raise
        self.report.sources = [
            SourceReport(source.label, source.live, stream.fps, stream.total_frames)
            for source, stream in zip(self._sources, streams, strict=True)
        ]
        self._readers = [
            SourceReader(
                number,
                source,
                stream,
                self._buffers,
                self.report,
                self._options.max_fps,
                self._options.reconnection,
            )
            for number, (source, stream) in enumerate(zip(self._sources, streams, strict=True))
        ]
        self.report.start()
        for reader in self._readers:
            reader.start()
        self._feeder.start()

    def results(self) -> Generator[FrameResult, None, None]:
        """The results in order, on the caller's thread. When the iterator ends, fails or is closed,
        every thread has ended.

        Raises:
            WorkflowError: a frame failed and errors stop the run; a note says which frame.
            VideoSourceError: a live source was given up, once all results are out.
        """
        try:
            for frames, job in self._outbox:
                result = self._result(frames, job)
                if result is None:
                    continue
                now = time.monotonic()
                for frame in frames:
                    self.report.add_result(frame.source_id, now - frame.grabbed_at)
                self._count_dropped()
                yield result
            self._raise_failures()
        finally:
            self.close()

    def stop(self) -> None:
        """Takes no more frames; results of those in the workflow still come. From any thread."""
        self._stopping.set()
        for reader in self._readers:
            reader.stop()
        self._buffers.close()

    def pause(self, source_id: int | None = None) -> None:
        """Holds files where they are; live sources stay connected and their frames are dropped."""
        for reader in self._chosen(source_id):
            reader.pause()

    def mute(self, source_id: int | None = None) -> None:
        """Lets sources go on and drops their frames."""
        for reader in self._chosen(source_id):
            reader.mute()

    def resume(self, source_id: int | None = None) -> None:
        """Ends `pause` and `mute`."""
        for reader in self._chosen(source_id):
            reader.resume()

    def reset(self, source_id: int | None = None) -> None:
        """Forgets the timestamps seen so far: the next frame starts a new time line."""
        for reader in self._chosen(source_id):
            reader.reset()

    def close(self) -> None:
        """Ends everything now and waits for the threads; results not taken are dropped."""
        self.stop()
        self._cancellation.cancel()
        self._outbox.close()
        if self._feeder.ident is not None:
            self._feeder.join()
        self._pool.shutdown(wait=True, cancel_futures=True)
        for number, reader in enumerate(self._readers):
            if not reader.join(_JOIN_TIMEOUT):
                self.report.add_note(f"source {number} did not stop reading within 30 s")
        self._count_dropped()
        self.report.end()

    def _chosen(self, source_id: int | None) -> list[SourceReader]:
        if source_id is None:
            return self._readers
        if not 0 <= source_id < len(self._readers):
            raise ValueError(
                f"there is no source {source_id}; the run has {len(self._readers)}, from 0"
            )
        return [self._readers[source_id]]

    def _feed(self) -> None:
        """Takes frames and starts their runs; on a thread of its own."""
        queue = RunQueue()
        try:
            while True:
                # First a free place, then a frame: one that waits here would only grow old.
                self._slots.acquire()
                frames = self._take()
                if frames is None:
                    return
                job = self._pool.submit(self._run, frames, queue.enter())
                if not self._outbox.put((frames, job)):
                    return
        except BaseException as error:
            self._feed_error = error
        finally:
            self._outbox.end()

    def _take(self) -> list[VideoFrame] | None:
        if self._options.batch:
            return self._buffers.take_batch(self._options.batch_patience)
        return self._buffers.take_one()

    def _run(self, frames: list[VideoFrame], turn: Turn) -> FrameResult:
        details = RunReport() if self._engine.plan.secret_slots else None
        try:
            metadata = [frame.metadata() for frame in frames]
            inputs = dict(self._options.inputs)
            inputs[self._options.image_input] = [
                {"type": "numpy_object", "value": frame.image, "video_metadata": place}
                for frame, place in zip(frames, metadata, strict=True)
            ]
            for name in self._options.metadata_inputs:
                inputs[name] = metadata
            started = time.monotonic()
            rows = self._engine.run(
                inputs,
                fps=frames[0].measured_fps or frames[0].fps or 0,
                serialize_results=self._options.serialize,
                cancellation=self._cancellation,
                report=details,
                turn=turn,
            )
            self.report.add_run(time.monotonic() - started)
            return FrameResult(frames, rows, None if details is None else details.secrets)
        finally:
            turn.finish()
            self._slots.release()

    def _result(self, frames: list[VideoFrame], job: Future[FrameResult]) -> FrameResult | None:
        """Result of a job, None when it failed and errors are skipped."""
        try:
            return job.result()
        except CancelledError:
            return None
        except Exception as error:
            places = ", ".join(f"frame {f.frame_id} of source {f.source_id}" for f in frames)
            if self._options.on_error == "stop":
                error.add_note(f"This happened on {places}.")
                raise
            for frame in frames:
                self.report.add_fault(
                    "run", frame.source_id, frame.frame_id, f"the workflow failed: {error}"
                )
            return None

    def _raise_failures(self) -> None:
        if self._feed_error is not None:
            raise self._feed_error
        for reader in self._readers:
            # At the end of all results every reader that matters has ended or will by `close`.
            if reader.error is not None:
                raise reader.error

    def _count_dropped(self) -> None:
        for counts, reader, dropped in zip(
            self.report.sources, self._readers, self._buffers.dropped, strict=False
        ):
            counts.dropped = dropped + reader.muted_frames


def _depth(
    plan: Plan, options: VideoOptions, sources: Sequence[VideoSource], report: VideoReport
) -> int:
    dropping = any(options.drops(source) for source in sources)
    # A frame of a live source that waits inside the workflow grows old there.
    depth = options.depth or (1 if dropping else FILE_DEPTH)
    shared = shared_objects(plan)
    if depth > 1 and shared:
        report.add_note(
            f"frames run one by one, because steps share {', '.join(shared)}; depth {depth} was "
            "not used"
        )
        return 1
    return depth
