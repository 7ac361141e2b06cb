"""Blocks that hand over futures: waiting, nesting, failures."""

from __future__ import annotations

import time
from concurrent.futures import Future, ThreadPoolExecutor
from threading import Timer
from typing import Any

import pytest

from execution_engine import ExecutionEngine
from execution_engine.block_api import Batch
from execution_engine.errors import (
    RunCancelledError,
    RunDeadlineExceededError,
    RuntimeInputError,
    StepExecutionError,
)
from execution_engine.executor.futures import DEFAULT_TIMEOUT, resolve_futures
from execution_engine.executor.limits import CancellationToken
from tests.execution_engine.toy_blocks import (
    batch_input,
    block,
    run,
    step,
    toy_registry,
    workflow,
)


def done(value: Any) -> Future[Any]:
    """A future that is done."""
    future: Future[Any] = Future()
    future.set_result(value)
    return future


def failed(error: Exception) -> Future[Any]:
    """A future that failed."""
    future: Future[Any] = Future()
    future.set_exception(error)
    return future


class TestResolveFutures:
    def test_containers(self) -> None:
        """Futures are found in lists, tuples, objects, batches and in the results of futures."""
        batch = resolve_futures(Batch([done(1), 2], [(3,), (4,)]))
        assert (batch.content, batch.indices) == ([1, 2], [(3,), (4,)])
        value = {"a": [done(1), (done(2), 3)], "b": done([done(4)])}
        assert resolve_futures(value) == {"a": [1, (2, 3)], "b": [4]}

    def test_plain_values_are_handed_on(self) -> None:
        """What holds no future is the same object."""
        value = object()
        assert resolve_futures(value) is value

    def test_not_done_in_time(self) -> None:
        """A future that is not done within the time raises `TimeoutError` with that time."""
        with pytest.raises(TimeoutError, match=r"A result was not ready within 0\.01 s\."):
            resolve_futures([Future()], timeout=0.01)

    def test_timeout_inside_the_work(self) -> None:
        """A timeout that the work itself raised keeps its text."""
        with pytest.raises(TimeoutError, match="camera"):
            resolve_futures(failed(TimeoutError("camera")))


def promise(**hooks: Any) -> Any:
    """A block that hands over its result as a future."""
    return block(
        "t/promise@v1",
        lambda x: {"out": failed(ValueError("no luck")) if x == "bad" else done(x)},
        futures=True,
        **hooks,
    )


CHAIN = workflow(
    [batch_input("x")],
    [step("t/promise@v1", "p", x="$inputs.x"), step("show", "s", x="$steps.p.out")],
    {"p": "$steps.p.out", "s": "$steps.s.out"},
)


class TestRun:
    def test_resolved_before_the_next_step_and_the_response(self) -> None:
        """Neither another step nor the caller sees a future."""
        assert run(CHAIN, {"x": [1, 2]}, promise()) == [{"p": 1, "s": "1"}, {"p": 2, "s": "2"}]

    def test_left_in_the_response_on_demand(self) -> None:
        """`resolve_output_futures=False` hands the futures to the caller."""
        definition = {**CHAIN, "steps": CHAIN["steps"][:1], "outputs": CHAIN["outputs"][:1]}
        rows = run(definition, {"x": [1]}, promise(), resolve_output_futures=False)
        assert isinstance(rows[0]["p"], Future)
        assert rows[0]["p"].result() == 1

    def test_not_looked_for_where_a_block_makes_none(self) -> None:
        """A block that says it returns no futures may hand over one as a value of its own."""
        plain = block("t/plain@v1", lambda: {"out": done(1)})
        definition = workflow([], [step("t/plain@v1", "p")], {"p": "$steps.p.out"})
        assert isinstance(run(definition, {}, plain)[0]["p"], Future)

    def test_in_children_and_all_outputs(self) -> None:
        """Futures of children and of `.*` are resolved too."""
        many = block(
            "t/many@v1",
            lambda n: [{"out": done(i)} for i in range(n)],
            output_offset=1,
            futures=True,
        )
        definition = workflow(
            [batch_input("x")], [step("t/many@v1", "m", n="$inputs.x")], {"all": "$steps.m.*"}
        )
        assert run(definition, {"x": [2]}, many) == [{"all": [{"out": 0}, {"out": 1}]}]

    @pytest.mark.parametrize("outputs", [CHAIN["outputs"], CHAIN["outputs"][:1]])
    def test_failure_names_the_step_that_promised(self, outputs: Any) -> None:
        """A future that failed is a failure of the step that made it, wherever it is waited for."""
        steps = CHAIN["steps"] if len(outputs) == 2 else CHAIN["steps"][:1]
        with pytest.raises(StepExecutionError) as caught:
            run({**CHAIN, "steps": steps, "outputs": outputs}, {"x": ["bad"]}, promise())
        error = caught.value
        assert (str(error), error.block_id, error.block_type) == ("no luck", "p", "t/promise@v1")
        assert isinstance(error.inner_error, ValueError)

    def test_errors_of_the_engine_pass(self) -> None:
        """A `WorkflowError` in a future is raised as it is."""
        own = RuntimeInputError("as it is")
        faulty = block("t/promise@v1", lambda x: {"out": failed(own)}, futures=True)
        with pytest.raises(RuntimeInputError) as caught:
            run(CHAIN, {"x": [1]}, faulty)
        assert caught.value is own

    @pytest.mark.parametrize("outputs", [CHAIN["outputs"], CHAIN["outputs"][:1]])
    @pytest.mark.parametrize("limit", ["deadline", "cancellation"])
    def test_a_run_that_must_stop_does_not_wait(self, limit: str, outputs: Any) -> None:
        """A promise that nobody keeps holds no run past its deadline or its cancellation."""
        never = block("t/promise@v1", lambda x: {"out": Future()}, futures=True)
        steps = CHAIN["steps"] if len(outputs) == 2 else CHAIN["steps"][:1]
        definition = {**CHAIN, "steps": steps, "outputs": outputs}
        token = CancellationToken()
        given: dict[str, Any] = {"deadline": 0.1} if limit == "deadline" else {}
        if limit == "cancellation":
            given["cancellation"] = token
            Timer(0.1, token.cancel).start()
        expected = RunDeadlineExceededError if limit == "deadline" else RunCancelledError
        started = time.monotonic()
        with pytest.raises(expected, match="while it waited for the results of step 'p'"):
            run(definition, {"x": [1]}, never, **given)
        assert time.monotonic() - started < DEFAULT_TIMEOUT / 2

    def test_error_handler_is_called(self) -> None:
        """The host's handler sees the failure of a future like any other."""
        seen: list[Any] = []
        engine = ExecutionEngine.init(
            CHAIN,
            registry=toy_registry(promise()),
            step_error_handler=lambda name, error: seen.append((name, str(error))),
        )
        with engine, pytest.raises(StepExecutionError):
            engine.run({"x": ["bad"]})
        assert seen == [("p", "no luck")]

    def test_work_in_a_pool(self) -> None:
        """Results made by a pool of the block's own arrive in order."""
        with ThreadPoolExecutor(2) as pool:
            pooled = block(
                "t/promise@v1", lambda x: {"out": pool.submit(lambda: x * 2)}, futures=True
            )
            rows = run(CHAIN, {"x": [1, 2, 3]}, pooled, max_concurrent_steps=2)
        assert [row["s"] for row in rows] == ["2", "4", "6"]
