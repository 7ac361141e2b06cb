"""What a run over videos did."""

from __future__ import annotations

import json

import numpy as np
import pytest

from workflows.video.report import KEPT_FAULTS, SourceReport, VideoReport


class TestVideoReport:
    def test_percentiles_are_those_of_the_times(self) -> None:
        """Nearest rank, as NumPy computes it."""
        times = np.random.default_rng(3).random(777)
        report = VideoReport([SourceReport("a", False)])
        for time in times:
            report.add_result(0, float(time))
            report.add_run(float(time) / 2)
        found = report.latency
        assert found is not None
        expected = np.percentile(times, [50, 90, 99], method="inverted_cdf")
        assert [found.p50, found.p90, found.p99] == pytest.approx(expected)
        assert report.run_time is not None
        assert report.run_time.p50 == pytest.approx(expected[0] / 2)

    def test_one_time_is_every_percentile(self) -> None:
        """A run of one frame has figures too."""
        report = VideoReport([SourceReport("a", False)])
        report.add_result(0, 0.25)
        assert report.latency is not None
        assert report.latency.to_dict() == {"p50": 0.25, "p90": 0.25, "p99": 0.25, "count": 1}

    def test_faults_are_counted_and_the_first_kept(self) -> None:
        """A stream that is all noise does not fill the memory."""
        report = VideoReport()
        for number in range(1000):
            report.add_fault("decode", 0, number, "noise")
        assert report.fault_count == 1000
        assert len(report.faults) == KEPT_FAULTS

    def test_notes_are_kept_once(self) -> None:
        """The same note of every frame is one note."""
        report = VideoReport()
        report.add_note("x")
        report.add_note("x")
        assert report.notes == ["x"]

    def test_the_clock_stands_before_the_start_and_after_the_end(self) -> None:
        """No frame rate before anything happened."""
        report = VideoReport([SourceReport("a", False)])
        assert (report.elapsed, report.fps) == (0.0, 0.0)
        report.start()
        report.add_result(0, 0.1)
        report.end()
        assert report.elapsed == report.elapsed > 0
        assert report.fps == pytest.approx(1 / report.elapsed)

    def test_the_report_is_json_data(self) -> None:
        """Also when it is empty."""
        report = VideoReport([SourceReport("a", True)])
        assert json.loads(json.dumps(report.to_dict()))["latency"] is None
