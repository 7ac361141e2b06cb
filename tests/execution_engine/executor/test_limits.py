"""Deadlines and cancellation."""

from __future__ import annotations

import threading
import time
from typing import Any

import pytest

from execution_engine import CancellationToken
from execution_engine.errors import RunCancelledError, RunDeadlineExceededError
from execution_engine.executor.limits import RunLimits
from tests.execution_engine.toy_blocks import batch_input, block, parameter, run, step, workflow


def slow(calls: list[Any]) -> Any:
    """A block whose call takes 20 ms."""

    def work(x: Any) -> dict[str, Any]:
        calls.append(x)
        time.sleep(0.02)
        return {"out": x}

    return block("t/slow@v1", work)


EACH = workflow([batch_input("x")], [step("t/slow@v1", "s", x="$inputs.x")], {"o": "$steps.s.out"})
CHAIN = workflow(
    [],
    [
        step("t/slow@v1", "a", x=1),
        step("t/slow@v1", "b", x="$steps.a.out"),
        step("t/slow@v1", "c", x="$steps.b.out"),
    ],
    {"o": "$steps.c.out"},
)


class TestDeadline:
    @pytest.mark.parametrize("workers", [1, 2])
    def test_checked_before_every_call(self, workers: int) -> None:
        """The run stops before the next element, a call that runs is not interrupted."""
        calls: list[Any] = []
        with pytest.raises(RunDeadlineExceededError) as caught:
            run(
                EACH,
                {"x": list(range(100))},
                slow(calls),
                max_concurrent_steps=workers,
                deadline=0.2,
            )
        assert str(caught.value) == (
            "The run did not finish within its deadline of 0.2 s; it stopped before step 's'."
        )
        assert caught.value.context == "workflow_execution"
        assert 1 <= len(calls) < 60

    def test_checked_before_every_step(self) -> None:
        """The message names the step that would have run next."""
        calls: list[Any] = []
        with pytest.raises(RunDeadlineExceededError, match="stopped before step 'b'"):
            run(CHAIN, {}, slow(calls), deadline=0.01)
        assert calls == [1]

    @pytest.mark.parametrize("workers", [1, 2])
    def test_checked_after_the_last_step(self, workers: int) -> None:
        """A run whose last step takes too long does not count as one that was in time."""
        calls: list[Any] = []
        definition = workflow([], [step("t/slow@v1", "only", x=1)], {"o": "$steps.only.out"})
        with pytest.raises(RunDeadlineExceededError) as caught:
            run(definition, {}, slow(calls), deadline=0.01, max_concurrent_steps=workers)
        assert str(caught.value) == (
            "The run did not finish within its deadline of 0.01 s; the deadline passed during step "
            "'only', the last one."
        )
        assert calls == [1]

    def test_a_run_without_steps_is_in_time(self) -> None:
        """Where nothing runs, nothing takes too long."""
        definition = workflow([parameter("p")], [], {"o": "$inputs.p"})
        assert run(definition, {"p": 1}, deadline=30) == [{"o": 1}]

    def test_several_fields(self) -> None:
        """Steps with several batch fields are stopped as well."""
        calls: list[Any] = []

        def work(x: Any, y: Any) -> dict[str, Any]:
            calls.append(x)
            time.sleep(0.02)
            return {"out": x}

        definition = workflow(
            [batch_input("x")],
            [step("t/two@v1", "s", x="$inputs.x", y="$inputs.x")],
            {"o": "$steps.s.out"},
        )
        with pytest.raises(RunDeadlineExceededError):
            run(definition, {"x": list(range(100))}, block("t/two@v1", work), deadline=0.2)
        assert len(calls) < 60

    def test_enough_time(self) -> None:
        """A run that is done in time is not touched."""
        assert run(CHAIN, {}, slow([]), deadline=30) == [{"o": 1}]

    @pytest.mark.parametrize("deadline", [0, -1.5, float("nan"), "5"])
    def test_must_be_positive(self, deadline: Any) -> None:
        """A deadline of no time is an error of the caller."""
        with pytest.raises(ValueError, match=f"positive number of seconds, got {deadline!r}"):
            run(CHAIN, {}, slow([]), deadline=deadline)

    def test_next_run_has_its_own(self) -> None:
        """Without limits nothing is checked."""
        RunLimits(None, None).check("s")


class TestCancellation:
    def test_from_another_thread(self) -> None:
        """The run stops before its next call once the token is cancelled."""
        calls: list[Any] = []
        third_call = threading.Event()
        token = CancellationToken()

        def work(x: Any) -> dict[str, Any]:
            calls.append(x)
            if len(calls) == 3:
                third_call.set()
            time.sleep(0.01)
            return {"out": x}

        def cancel() -> None:
            third_call.wait()
            token.cancel()

        canceller = threading.Thread(target=cancel)
        canceller.start()
        with pytest.raises(RunCancelledError) as caught:
            run(EACH, {"x": list(range(500))}, block("t/slow@v1", work), cancellation=token)
        canceller.join()
        assert str(caught.value) == "The run was cancelled before step 's'."
        assert token.cancelled
        assert 3 <= len(calls) < 500

    def test_before_the_start(self) -> None:
        """A token that is already cancelled lets nothing run."""
        calls: list[Any] = []
        token = CancellationToken()
        assert not token.cancelled
        token.cancel()
        with pytest.raises(RunCancelledError, match="before step 'a'"):
            run(CHAIN, {}, slow(calls), cancellation=token)
        assert calls == []

    def test_inside_a_block(self) -> None:
        """A block may cancel the run it is part of; steps after it do not start."""
        token = CancellationToken()
        stopper = block("t/slow@v1", lambda x: (token.cancel(), {"out": x})[1])
        with pytest.raises(RunCancelledError, match="before step 'b'"):
            run(CHAIN, {}, stopper, cancellation=token)
