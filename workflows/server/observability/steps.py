"""`StepObserver`: a profiler that keeps the current step of a run and times every step for the
metrics. Cheap enough to be on for every run.
"""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from contextlib import AbstractContextManager, ExitStack, contextmanager, nullcontext
from types import TracebackType
from typing import TYPE_CHECKING, Any

from execution_engine.profiling import STEP_EXECUTION, ChromeTraceProfiler

if TYPE_CHECKING:
    from collections.abc import Iterator

    from workflows.server.observability.metrics import ServerMetrics
    from workflows.server.observability.records import RequestRecord

_NOTHING: AbstractContextManager[None] = nullcontext()


class StepObserver:
    """Watches one run.

    Args:
        record: gets the name of the current step.
        metrics: gets the time of each step.
        trace: records everything as well, when given.
    """

    __slots__ = ("_metrics", "_record", "_trace")

    def __init__(
        self,
        record: RequestRecord,
        metrics: ServerMetrics,
        trace: ChromeTraceProfiler | None = None,
    ) -> None:
        self._record = record
        self._metrics = metrics
        self._trace = trace

    def start_workflow_run(self) -> str:
        """Begins the run."""
        return "" if self._trace is None else self._trace.start_workflow_run()

    def end_workflow_run(self, run_id: str) -> None:
        """Ends the run."""
        if self._trace is not None:
            self._trace.end_workflow_run(run_id)

    def profile_execution_phase(
        self,
        name: str,
        categories: Sequence[str] = (),
        metadata: Mapping[str, Any] | None = None,
        run_id: str | None = None,
    ) -> AbstractContextManager[Any]:
        """A context manager around one phase."""
        if name != STEP_EXECUTION or metadata is None:
            if self._trace is None:
                return _NOTHING
            return self._trace.profile_execution_phase(name, categories, metadata, run_id)
        step = _Step(self._record, self._metrics, metadata)
        if self._trace is None:
            return step
        return _both(step, self._trace.profile_execution_phase(name, categories, metadata, run_id))

    def notify_event(
        self,
        name: str,
        categories: Sequence[str] = (),
        metadata: Mapping[str, Any] | None = None,
        run_id: str | None = None,
    ) -> None:
        """Notes a moment."""
        if self._trace is not None:
            self._trace.notify_event(name, categories, metadata, run_id)


class _Step:
    __slots__ = ("_metadata", "_metrics", "_record", "_started")

    def __init__(
        self, record: RequestRecord, metrics: ServerMetrics, metadata: Mapping[str, Any]
    ) -> None:
        self._record = record
        self._metrics = metrics
        self._metadata = metadata

    def __enter__(self) -> None:
        self._record.step = self._metadata["step"]
        self._started = time.perf_counter()

    def __exit__(
        self,
        error_type: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        block = self._metadata["type"]
        self._metrics.step_seconds.labels(block).observe(time.perf_counter() - self._started)
        if error_type is not None:
            self._metrics.step_failures.labels(block).inc()


@contextmanager
def _both(*contexts: AbstractContextManager[Any]) -> Iterator[None]:
    with ExitStack() as stack:
        for context in contexts:
            stack.enter_context(context)
        yield
