"""What a run reports of each step: calls, and what was skipped and why."""

from __future__ import annotations

from typing import Any

import pytest

from execution_engine import RunReport, SkippedStep
from tests.execution_engine.toy_blocks import batch_input, block, parameter, run, step, workflow


def report_of(definition: dict[str, Any], inputs: dict[str, Any], **options: Any) -> RunReport:
    """Report of one run."""
    report = RunReport()
    run(definition, inputs, report=report, **options)
    return report


class TestCalls:
    def test_by_mode(self) -> None:
        """An element-wise step is called once an element, a batch step and a lone step once."""
        report = report_of(
            workflow(
                [batch_input("x")],
                [
                    step("add", "each", a="$inputs.x"),
                    step("index", "batch", x="$inputs.x"),
                    step("constant", "once", value=1),
                    step("gather", "gathered", data="$inputs.x"),
                ],
            ),
            {"x": [1, 2, 3]},
        )
        assert report.calls == {"each": 3, "batch": 1, "once": 1, "gathered": 1}
        assert report.skipped == []
        assert report.skipped_steps == []

    @pytest.mark.parametrize("workers", [1, 4])
    def test_reporting_changes_nothing(self, workers: int) -> None:
        """The result is the same with and without a report."""
        definition = workflow(
            [batch_input("x")],
            [step("odd_only", "o", x="$inputs.x"), step("add", "a", a="$steps.o.out")],
            {"a": "$steps.a.out"},
        )
        inputs = {"x": [1, 2]}
        report = RunReport()
        with_report = run(definition, inputs, report=report, max_concurrent_steps=workers)
        assert with_report == run(definition, inputs)
        assert report.skipped == [SkippedStep("a", "input empty", "a", 1)]


class TestSkipped:
    def test_gate_of_the_run(self) -> None:
        """The gate is named; a step that runs once has no number of elements."""
        report = report_of(
            workflow(
                [parameter("p"), batch_input("x")],
                [
                    step("gate", "g", test="$inputs.p", next_steps=["$steps.a", "$steps.b"]),
                    step("constant", "a", value=1),
                    step("add", "b", a="$inputs.x"),
                    step("add", "c", a="$steps.a.out"),
                ],
            ),
            {"p": 0, "x": [1, 2]},
        )
        assert report.skipped == [
            SkippedStep("a", "gate closed", "g", None),
            SkippedStep("b", "gate closed", "g", 2),
            SkippedStep("c", "input empty", "a", None),
        ]
        assert report.skipped_steps == ["a", "b", "c"]
        assert report.calls == {"g": 1, "a": 0, "b": 0, "c": 0}

    def test_elements(self) -> None:
        """A step that runs for some elements says how many were left out and why."""
        report = report_of(
            workflow(
                [batch_input("x"), batch_input("z")],
                [
                    step("gate", "g", test="$inputs.x", next_steps=["$steps.a"]),
                    step("gate", "h", test="$inputs.x", next_steps=["$steps.a"]),
                    step("add", "a", a="$inputs.x", b="$inputs.z"),
                ],
            ),
            {"x": [0, 1, 1, 1], "z": [None, None, 2, 3]},
        )
        assert report.skipped == [
            SkippedStep("a", "gate closed", "g, h", 1),
            SkippedStep("a", "input empty", "b", 1),
        ]
        assert report.skipped_steps == []
        assert report.calls["a"] == 2

    def test_no_elements(self) -> None:
        """A step under parents without children is listed too."""
        report = report_of(
            workflow(
                [batch_input("x"), parameter("p", 0)],
                [
                    step("split", "s", n="$inputs.x"),
                    step("add", "each", a="$steps.s.out"),
                    step("index", "batch", x="$steps.s.out"),
                    step("gate", "g", test="$inputs.p", next_steps=["$steps.gated"]),
                    step("add", "gated", a="$steps.s.out"),
                ],
            ),
            {"x": [0, 0]},
        )
        assert report.skipped == [
            SkippedStep("each", "no elements", "", 0),
            SkippedStep("batch", "no elements", "", 0),
            SkippedStep("gated", "no elements", "", 0),
        ]
        assert report.skipped_steps == ["each", "batch", "gated"]

    def test_nothing_left_to_gather(self) -> None:
        """A gathering step without elements is skipped with the name of its argument."""
        report = report_of(
            workflow([batch_input("x")], [step("gather", "g", data="$inputs.x")]), {"x": [None]}
        )
        assert report.skipped == [SkippedStep("g", "input empty", "data", None)]

    def test_failed_step_has_calls(self) -> None:
        """The report of a failed run holds what ran before."""
        faulty = block("t/faulty@v1", lambda x: 1 / 0)
        report = RunReport()
        with pytest.raises(Exception, match="division by zero"):
            run(
                workflow(
                    [parameter("p")],
                    [step("constant", "a", value=1), step("t/faulty@v1", "f", x="$steps.a.out")],
                ),
                {},
                faulty,
                report=report,
            )
        assert report.calls == {"a": 1, "f": 1}
