"""`PipelineManager`: pipelines that clients of a server start, watch and end. Speaks no HTTP."""

from __future__ import annotations

import logging
import threading
import time
import uuid
from collections.abc import Callable, Collection, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from typing import Any

from execution_engine.errors import WorkflowError
from workflows.session import Session
from workflows.video.errors import PipelineNotFoundError, TooManyPipelinesError
from workflows.video.frames import VideoFrame
from workflows.video.pipeline import InferencePipeline, SinkMode
from workflows.video.result_buffer import ResultBuffer, StoredResult
from workflows.video.source_policy import SourcePolicy

_LOG = logging.getLogger(__name__)
_CLOSE_TIMEOUT = 40.0


@dataclass(frozen=True, slots=True)
class PipelineLimits:
    """What pipelines may use together.

    Attributes:
        pipelines: pipelines that run at a time.
        pipelines_per_owner: those of one owner.
        results: results kept for a pipeline.
        result_bytes: bytes of results kept for a pipeline.
        sources: sources of a pipeline.
    """

    pipelines: int = 4
    pipelines_per_owner: int = 2
    results: int = 64
    result_bytes: int = 64 * 1024 * 1024
    sources: int = 4


@dataclass(frozen=True, slots=True)
class PipelineRequest:
    """What a client wants to run.

    Attributes:
        definition: the workflow.
        references: names of the sources.
        properties: settings of cameras.
        results: results to keep, within the limits.
        consumption_timeout: seconds without a fetch after which the pipeline ends.
        options: further arguments of `InferencePipeline.init_with_workflow`.
    """

    definition: Mapping[str, Any]
    references: Sequence[Any]
    properties: Mapping[str, float] | None = None
    results: int = 64
    consumption_timeout: float | None = None
    options: Mapping[str, Any] = field(default_factory=dict)


class PipelineManager:
    """Owns pipelines: each belongs to who started it, and nobody else can see it.

    Pipelines that have come to their end stay until they are terminated, so that their last results
    can be fetched; the oldest of them goes when its owner has more than he may run.

    Args:
        session: blocks, plans, models and settings.
        policy: which sources may be named.
        limits: what pipelines may use together.
        encode: an output of a workflow as bytes.
    """

    def __init__(
        self,
        session: Session,
        policy: SourcePolicy,
        limits: PipelineLimits,
        encode: Callable[[Any], bytes],
    ) -> None:
        self._session = session
        self._policy = policy
        self._limits = limits
        self._encode = encode
        self._pipelines: dict[str, _ManagedPipeline] = {}
        # Told to end and not there yet; they still count.
        self._ending: list[_ManagedPipeline] = []
        self._starting: list[str] = []
        self._lock = threading.Lock()
        self._closed = False

    def initialise(self, request: PipelineRequest, owner: str) -> str:
        """Starts a pipeline and gives its id.

        Raises:
            TooManyPipelinesError: as many run as may, or the manager is closed.
            VideoSourceError: a source is refused or cannot be opened.
            WorkflowError: the workflow or an option cannot be used.
        """
        self._admit(owner)
        try:
            managed = self._start(request, owner)
        finally:
            with self._lock:
                self._starting.remove(owner)
        with self._lock:
            closed = self._closed
            if not closed:
                self._forget_ended(owner)
                self._pipelines[managed.id] = managed
        if closed:  # while it was being started
            managed.end()
            raise TooManyPipelinesError("The server is being stopped.")
        return managed.id

    def ids(self, owner: str) -> list[str]:
        """The pipelines of an owner, oldest first."""
        with self._lock:
            return [one.id for one in self._pipelines.values() if one.owner == owner]

    def status(self, pipeline_id: str, owner: str) -> dict[str, Any]:
        """State, counts, faults and times, as JSON data.

        Raises:
            PipelineNotFoundError: there is none of this id, or it belongs to somebody else.
        """
        return self._find(pipeline_id, owner).status()

    def pause(self, pipeline_id: str, owner: str) -> None:
        """Holds the sources; errors as `status`."""
        self._find(pipeline_id, owner).pause()

    def resume(self, pipeline_id: str, owner: str) -> None:
        """Lets the sources go on; errors as `status`."""
        self._find(pipeline_id, owner).resume()

    def consume(
        self, pipeline_id: str, owner: str, excluded: Collection[str] = ()
    ) -> StoredResult | None:
        """The oldest result that is kept, None when there is none now; errors as `status`."""
        return self._find(pipeline_id, owner).consume(excluded)

    def terminate(self, pipeline_id: str, owner: str) -> None:
        """Ends a pipeline and forgets it with its results; errors as `status`."""
        managed = self._find(pipeline_id, owner)
        with self._lock:
            if self._pipelines.pop(pipeline_id, None) is None:
                return
            self._ending.append(managed)
        managed.terminate()

    def close(self) -> None:
        """Ends every pipeline and waits for its threads; none can be started afterwards."""
        with self._lock:
            self._closed = True
            left = [*self._pipelines.values(), *self._ending]
            self._pipelines.clear()
            self._ending.clear()
        for managed in left:
            managed.terminate()
        for managed in left:
            managed.end()

    def _admit(self, owner: str) -> None:
        limits = self._limits
        with self._lock:
            self._ending = [one for one in self._ending if not one.ended]
            everyone = [
                *(one.owner for one in self._pipelines.values() if not one.ended),
                *(one.owner for one in self._ending),
                *self._starting,
            ]
            if self._closed:
                raise TooManyPipelinesError("The server is being stopped.")
            if everyone.count(owner) >= limits.pipelines_per_owner:
                raise TooManyPipelinesError(
                    f"You run {everyone.count(owner)} pipelines, the most that one client may "
                    "run here; terminate one."
                )
            if len(everyone) >= limits.pipelines:
                raise TooManyPipelinesError(
                    f"This server runs {len(everyone)} pipelines, as many as it may."
                )
            self._starting.append(owner)

    def _start(self, request: PipelineRequest, owner: str) -> _ManagedPipeline:
        from workflows.video.pipeline_options import refusal

        if not 1 <= len(request.references) <= self._limits.sources:
            raise refusal(
                f"a pipeline has 1 to {self._limits.sources} sources here, got "
                f"{len(request.references)}"
            )
        if not 1 <= request.results <= self._limits.results:
            raise refusal(
                f"1 to {self._limits.results} results are kept here, got {request.results}"
            )
        if request.consumption_timeout is not None and not request.consumption_timeout > 0:
            raise refusal(f"consumption_timeout must be above 0, got {request.consumption_timeout}")
        sources = [
            self._policy.source(reference, request.properties) for reference in request.references
        ]
        buffer = ResultBuffer(request.results, self._limits.result_bytes, self._encode)
        managed = _ManagedPipeline(owner, len(sources), buffer, request.consumption_timeout)
        pipeline = InferencePipeline.init_with_workflow(
            video_reference=sources,
            workflow_specification=request.definition,
            on_prediction=managed.keep,
            sink_mode=SinkMode.BATCH,
            serialize_results=True,
            session=self._session,
            **request.options,
        )
        managed.run(pipeline)
        return managed

    def _forget_ended(self, owner: str) -> None:
        ended = [one for one in self._pipelines.values() if one.owner == owner and one.ended]
        for managed in ended[: len(ended) - self._limits.pipelines_per_owner + 1]:
            del self._pipelines[managed.id]

    def _find(self, pipeline_id: str, owner: str) -> _ManagedPipeline:
        with self._lock:
            managed = self._pipelines.get(pipeline_id)
        if managed is None or managed.owner != owner:
            # One text for both: who guesses ids learns nothing.
            raise PipelineNotFoundError(f"There is no pipeline '{pipeline_id[:64]}'.")
        return managed


class _ManagedPipeline:
    """A pipeline with its results and its owner."""

    def __init__(
        self, owner: str, sources: int, buffer: ResultBuffer, consumption_timeout: float | None
    ) -> None:
        self.id = str(uuid.uuid4())
        self.owner = owner
        self._sources = sources
        self._buffer = buffer
        self._consumption_timeout = consumption_timeout
        self._last_fetch = time.monotonic()
        self._paused = False
        self._error: str | None = None
        self._pipeline: InferencePipeline | None = None
        self._watch: threading.Timer | None = None

    @property
    def ended(self) -> bool:
        """Whether its threads have ended."""
        return self._pipeline is None or self._pipeline.ended

    def run(self, pipeline: InferencePipeline) -> None:
        """Starts it."""
        self._pipeline = pipeline
        pipeline.start(use_main_thread=False)
        self._watch_consumption()

    def keep(self, rows: list[Any], frames: list[VideoFrame | None]) -> None:
        """The sink of the pipeline."""
        self._buffer.put(
            rows,
            [
                {
                    "frame_timestamp": None if frame is None else frame.frame_timestamp.isoformat(),
                    "frame_id": None if frame is None else frame.frame_id,
                    "source_id": source if frame is None else frame.source_id,
                }
                for source, frame in enumerate(frames)
            ],
        )

    def consume(self, excluded: Collection[str]) -> StoredResult | None:
        """The oldest result."""
        self._last_fetch = time.monotonic()
        return self._buffer.take(excluded)

    def pause(self) -> None:
        """Holds the sources."""
        assert self._pipeline is not None
        self._paused = True
        self._pipeline.pause_stream()

    def resume(self) -> None:
        """Lets the sources go on."""
        assert self._pipeline is not None
        self._paused = False
        self._pipeline.resume_stream()

    def terminate(self) -> None:
        """Asks it to end."""
        if self._watch is not None:
            self._watch.cancel()
        if self._pipeline is not None:
            self._pipeline.terminate()

    def end(self) -> None:
        """Ends it and waits."""
        self.terminate()
        if self._pipeline is not None:
            if not self._pipeline.wait(_CLOSE_TIMEOUT):
                _LOG.warning("pipeline %s did not end within %g s", self.id, _CLOSE_TIMEOUT)
                return
            with suppress(WorkflowError):  # its status has told
                self._pipeline.join()

    def status(self) -> dict[str, Any]:
        """What it does."""
        assert self._pipeline is not None
        report = self._pipeline.report.to_dict()
        error = self._pipeline.error
        if error is not None:
            state = "failed"
        elif self._pipeline.ended:
            state = "ended"
        else:
            state = "paused" if self._paused else "running"
        return {
            "state": state,
            "error": None if error is None else _public_text(error),
            "inference_throughput": report["fps"],
            "sources_metadata": [
                {
                    "source_id": number,
                    "source_reference": source["label"],
                    "source_properties": {
                        "is_file": not source["live"],
                        "fps": source["fps"],
                        "total_frames": source["total_frames"],
                    },
                }
                for number, source in enumerate(report["sources"])
            ],
            "results_waiting": len(self._buffer),
            "results_dropped": self._buffer.dropped,
            **{
                name: report[name]
                for name in ("results", "elapsed", "latency", "run_time", "sources", "fault_count")
            },
            "faults": report["faults"],
        }

    def _watch_consumption(self) -> None:
        """Ends the pipeline when nobody fetches its results; looks again until it has ended."""
        limit = self._consumption_timeout
        if limit is None or self.ended:
            return
        idle = time.monotonic() - self._last_fetch
        if idle >= limit:
            _LOG.info("pipeline %s ends: nobody fetched results for %g s", self.id, limit)
            self.terminate()
            return
        self._watch = threading.Timer(limit - idle, self._watch_consumption)
        self._watch.name, self._watch.daemon = "video-consumption", True
        self._watch.start()


def _public_text(error: BaseException) -> str:
    if isinstance(error, WorkflowError):
        return f"{type(error).__name__}: {error.public_message}"
    return "The pipeline failed; the log of the server has the cause."
