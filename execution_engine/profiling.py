"""Records what a run spends its time on, as Chrome trace events. Nothing is measured unless a
profiler is given.
"""

from __future__ import annotations

import json
import os
import threading
import time
import uuid
from collections import deque
from collections.abc import Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager, nullcontext
from pathlib import Path
from typing import Any, Protocol

WORKFLOW_RUN = "workflow_run"
WORKFLOW_COMPILATION = "workflow_compilation"
STEPS_INITIALISATION = "steps_initialisation"
INPUT_ASSEMBLY = "workflow_input_assembly"
INPUT_VALIDATION = "runtime_input_validation"
EXECUTION = "workflow_execution"
STEP_EXECUTION = "step_execution"
OUTPUTS_CONSTRUCTION = "outputs_construction"

TraceEvent = dict[str, Any]
_CATEGORIES = ("execution_engine_operation",)


class WorkflowsProfiler(Protocol):
    """What the engine calls on a profiler."""

    def start_workflow_run(self) -> str:
        """Begins a run and gives its id."""

    def end_workflow_run(self, run_id: str) -> None:
        """Ends the run of this id."""

    def profile_execution_phase(
        self,
        name: str,
        categories: Sequence[str] = (),
        metadata: Mapping[str, Any] | None = None,
        run_id: str | None = None,
    ) -> Any:
        """A context manager around one phase."""

    def notify_event(
        self,
        name: str,
        categories: Sequence[str] = (),
        metadata: Mapping[str, Any] | None = None,
        run_id: str | None = None,
    ) -> None:
        """Notes a moment."""


def phase(
    profiler: WorkflowsProfiler | None,
    name: str,
    run_id: str | None = None,
    metadata: Mapping[str, Any] | None = None,
) -> AbstractContextManager[None]:
    """A context manager around one phase of the engine's work; it does nothing without a profiler.

    Args:
        profiler: records the phase.
        name: the phase, such as `WORKFLOW_COMPILATION`.
        run_id: the run it belongs to, None outside of runs.
        metadata: JSON data to keep with it.
    """
    if profiler is None:
        return nullcontext()
    recorded: AbstractContextManager[None] = profiler.profile_execution_phase(
        name, _CATEGORIES, metadata, run_id
    )
    return recorded


class ChromeTraceProfiler:
    """Keeps the trace events of the last runs; thread-safe.

    Load the exported list in a trace viewer (chrome://tracing, Perfetto). Times are microseconds.

    Args:
        max_runs: number of runs kept, the oldest is dropped.
    """

    def __init__(self, max_runs: int = 32) -> None:
        if max_runs < 1:
            raise ValueError(f"a profiler keeps at least 1 run, got {max_runs}")
        self._lock = threading.Lock()
        self._runs: deque[tuple[str, list[TraceEvent]]] = deque(maxlen=max_runs)
        self._outside: list[TraceEvent] = []
        self._pid = os.getpid()

    def start_workflow_run(self) -> str:
        """Begins a run and gives its id; events until `end_workflow_run` belong to it."""
        run_id = uuid.uuid4().hex
        with self._lock:
            self._runs.append((run_id, []))
        self._record(run_id, WORKFLOW_RUN, "B", (), {"workflow_run_id": run_id})
        return run_id

    def end_workflow_run(self, run_id: str) -> None:
        """Ends the run of this id."""
        self._record(run_id, WORKFLOW_RUN, "E", (), {"workflow_run_id": run_id})

    def start_execution_phase(
        self,
        name: str,
        categories: Sequence[str] = (),
        metadata: Mapping[str, Any] | None = None,
        run_id: str | None = None,
    ) -> None:
        """Begins a phase on this thread."""
        self._record(run_id, name, "B", categories, metadata)

    def end_execution_phase(
        self,
        name: str,
        categories: Sequence[str] = (),
        metadata: Mapping[str, Any] | None = None,
        run_id: str | None = None,
    ) -> None:
        """Ends the phase of this name on this thread."""
        self._record(run_id, name, "E", categories, metadata)

    @contextmanager
    def profile_execution_phase(
        self,
        name: str,
        categories: Sequence[str] = (),
        metadata: Mapping[str, Any] | None = None,
        run_id: str | None = None,
    ) -> Iterator[None]:
        """A phase that ends when the block is left, also by an exception."""
        started = time.perf_counter_ns()
        try:
            yield
        finally:
            duration = (time.perf_counter_ns() - started) / 1000
            self._record(run_id, name, "X", categories, metadata, started / 1000, duration)

    def notify_event(
        self,
        name: str,
        categories: Sequence[str] = (),
        metadata: Mapping[str, Any] | None = None,
        run_id: str | None = None,
    ) -> None:
        """Notes a moment."""
        self._record(run_id, name, "I", categories, metadata)

    def add_trace(self, events: Sequence[Mapping[str, Any]], started: float) -> None:
        """Takes in the trace of a run in another process, whose clock counts from another moment.

        Args:
            events: what `export_trace` gave there.
            started: when its first event began on this clock (`time.perf_counter_ns() / 1000`), µs.
        """
        usable = [dict(event) for event in events if isinstance(event.get("ts"), (int, float))]
        first = min((event["ts"] for event in usable), default=0.0)
        for event in usable:
            event["ts"] += started - first
        with self._lock:
            self._runs.append((uuid.uuid4().hex, usable))

    def export_trace(self) -> list[TraceEvent]:
        """All events kept, oldest run first, as JSON data."""
        with self._lock:
            events = list(self._outside)
            for _, kept in self._runs:
                events.extend(kept)
        return sorted(events, key=lambda event: event["ts"])

    def write_trace(self, path: str | Path) -> None:
        """Writes the events to a JSON file that trace viewers read."""
        Path(path).write_text(json.dumps(self.export_trace()), encoding="utf-8")

    def _record(
        self,
        run_id: str | None,
        name: str,
        phase: str,
        categories: Sequence[str],
        metadata: Mapping[str, Any] | None,
        timestamp: float | None = None,
        duration: float | None = None,
    ) -> None:
        event: TraceEvent = {
            "name": name,
            "ph": phase,
            "pid": self._pid,
            "tid": threading.get_ident(),
            "ts": time.perf_counter_ns() / 1000 if timestamp is None else timestamp,
        }
        if categories:
            event["cat"] = ",".join(categories)
        if metadata:
            event["args"] = dict(metadata)
        if duration is not None:
            event["dur"] = duration
        with self._lock:
            for known, events in reversed(self._runs):
                if known == run_id:
                    events.append(event)
                    return
            self._outside.append(event)
