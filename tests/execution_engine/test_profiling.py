"""`ChromeTraceProfiler` on its own."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from execution_engine import ChromeTraceProfiler


class TestChromeTraceProfiler:
    def test_only_the_last_runs_are_kept(self) -> None:
        """The oldest run is dropped with its events."""
        profiler = ChromeTraceProfiler(max_runs=2)
        runs = []
        for _ in range(3):
            run_id = profiler.start_workflow_run()
            profiler.notify_event("moment", run_id=run_id, metadata={"run": run_id})
            profiler.end_workflow_run(run_id)
            runs.append(run_id)
        kept = [
            event["args"]["run"] for event in profiler.export_trace() if event["name"] == "moment"
        ]
        assert kept == runs[1:]

    def test_phases(self, tmp_path: Path) -> None:
        """Phases are given as begin and end, or as one event with a duration, also when they
        fail.
        """
        profiler = ChromeTraceProfiler()
        profiler.start_execution_phase("outer", ("a", "b"), {"k": 1})
        with (
            pytest.raises(ValueError, match="inside"),
            profiler.profile_execution_phase("inner", ("c",)),
        ):
            raise ValueError("inside")
        profiler.end_execution_phase("outer")
        trace = profiler.export_trace()
        assert [(event["name"], event["ph"]) for event in trace] == [
            ("outer", "B"),
            ("inner", "X"),
            ("outer", "E"),
        ]
        assert (trace[0]["cat"], trace[0]["args"]) == ("a,b", {"k": 1})
        path = tmp_path / "trace.json"
        profiler.write_trace(path)
        assert json.loads(path.read_text(encoding="utf-8")) == trace

    def test_keeps_at_least_one(self) -> None:
        """A profiler that keeps nothing is refused."""
        with pytest.raises(ValueError, match="a profiler keeps at least 1 run, got 0"):
            ChromeTraceProfiler(0)
