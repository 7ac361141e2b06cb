"""Which step runs when: order, overlap, failures, contexts, pools."""

from __future__ import annotations

import contextvars
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest

from execution_engine import ExecutionEngine
from execution_engine.errors import StepExecutionError
from tests.execution_engine.toy_blocks import (
    LIST,
    batch_input,
    block,
    parameter,
    run,
    step,
    toy_registry,
    workflow,
)

WORKERS = [1, 4]


def sleeper(log: list[Any] | None = None) -> Any:
    """A block that sleeps for `seconds` and notes its start and end."""

    def work(seconds: float, after: Any = None, tag: str = "") -> dict[str, Any]:
        if log is not None:
            log.append(("start", tag))
        time.sleep(seconds)
        if log is not None:
            log.append(("end", tag))
        return {"out": tag}

    return block("t/sleep@v1", work)


def failing(log: list[str] | None = None) -> Any:
    """A block that fails after `seconds`."""

    def work(seconds: float, tag: str, after: Any = None) -> dict[str, Any]:
        if log is not None:
            log.append(tag)
        time.sleep(seconds)
        raise ValueError(tag)

    return block("t/fail@v1", work)


class TestOrder:
    @pytest.mark.parametrize("workers", WORKERS)
    def test_definition_order_among_independent_steps(self, workers: int) -> None:
        """Steps that do not depend on each other start in the order of the definition."""
        started: list[str] = []
        noted = block("t/note@v1", lambda tag: (started.append(tag), {"out": tag})[1])
        steps = [step("t/note@v1", f"s{i}", tag=f"s{i}") for i in (3, 1, 2, 0)]
        run(workflow([], steps), {}, noted, max_concurrent_steps=workers)
        assert sorted(started) == ["s0", "s1", "s2", "s3"]
        if workers == 1:
            assert started == ["s3", "s1", "s2", "s0"]

    @pytest.mark.parametrize("workers", WORKERS)
    def test_predecessors_finish_first(self, workers: int) -> None:
        """A step starts after everything it reads or is gated by has ended."""
        log: list[Any] = []
        run(
            workflow(
                [],
                [
                    step("t/sleep@v1", "c", seconds=0, tag="c", after="$steps.b.out"),
                    step("t/sleep@v1", "b", seconds=0.01, tag="b", after="$steps.a.out"),
                    step("t/sleep@v1", "a", seconds=0.02, tag="a"),
                ],
            ),
            {},
            sleeper(log),
            max_concurrent_steps=workers,
        )
        assert log == [(what, name) for name in "abc" for what in ("start", "end")]

    @pytest.mark.parametrize("workers", WORKERS)
    def test_wide_and_deep(self, workers: int) -> None:
        """Many layers of many steps give the same with any number of workers."""
        steps = [step("add", f"s0_{i}", a="$inputs.x", b=i) for i in range(4)]
        for layer in range(1, 6):
            steps += [
                step(
                    "t/sum@v1",
                    f"s{layer}_{i}",
                    data=[f"$steps.s{layer - 1}_{j}.out" for j in range(4)],
                )
                for i in range(4)
            ]
        total = block("t/sum@v1", lambda data: {"out": sum(data)}, fields={"data": LIST})
        rows = run(
            workflow([batch_input("x")], steps, {"o": "$steps.s5_0.out"}),
            {"x": [1, 2]},
            total,
            max_concurrent_steps=workers,
        )
        assert rows == [{"o": 4**4 * (4 * 1 + 6)}, {"o": 4**4 * (4 * 2 + 6)}]


class TestOverlap:
    def test_two_sleeping_steps(self) -> None:
        """Two independent steps of 0.3 s take the time of one."""
        steps = [step("t/sleep@v1", name, seconds=0.3) for name in "ab"]
        with ExecutionEngine.init(
            workflow([], steps), max_concurrent_steps=4, registry=toy_registry(sleeper())
        ) as engine:
            times = []
            for _ in range(3):
                started = time.perf_counter()
                engine.run({})
                times.append(time.perf_counter() - started)
        assert min(times) <= 0.4

    def test_no_waves(self) -> None:
        """A step starts when its own inputs are ready, though slower steps of an earlier layer
        still run.
        """
        log: list[Any] = []
        run(
            workflow(
                [],
                [
                    step("t/sleep@v1", "slow", seconds=0.2, tag="slow"),
                    step("t/sleep@v1", "fast", seconds=0.01, tag="fast"),
                    step("t/sleep@v1", "next", seconds=0, tag="next", after="$steps.fast.out"),
                ],
            ),
            {},
            sleeper(log),
            max_concurrent_steps=2,
        )
        assert log.index(("end", "next")) < log.index(("end", "slow"))

    @pytest.mark.parametrize("limit", [1, 2, 3])
    def test_never_more_than_allowed(self, limit: int) -> None:
        """At most `max_concurrent_steps` run at a time, in the host's pool too."""
        lock = threading.Lock()
        running = highest = 0

        def work(tag: str) -> dict[str, Any]:
            nonlocal running, highest
            with lock:
                running += 1
                highest = max(highest, running)
            time.sleep(0.01)
            with lock:
                running -= 1
            return {"out": tag}

        definition = workflow([], [step("t/w@v1", f"s{i}", tag=str(i)) for i in range(8)])
        with ThreadPoolExecutor(8) as pool:
            for executor in (None, pool):
                engine = ExecutionEngine.init(
                    definition,
                    max_concurrent_steps=limit,
                    executor=executor,
                    registry=toy_registry(block("t/w@v1", work)),
                )
                highest = 0
                engine.run({})
                assert highest == limit

    def test_lone_step_runs_on_the_callers_thread(self) -> None:
        """A chain never leaves the caller's thread, whatever the number of workers."""
        threads: list[int] = []
        noted = block("t/t@v1", lambda x: (threads.append(threading.get_ident()), {"out": x})[1])
        run(
            workflow(
                [parameter("p")],
                [step("t/t@v1", "a", x="$inputs.p"), step("t/t@v1", "b", x="$steps.a.out")],
            ),
            {"p": 1},
            noted,
            max_concurrent_steps=4,
        )
        assert threads == [threading.get_ident()] * 2

    def test_callers_context_reaches_every_step(self) -> None:
        """Context variables of the caller are seen in steps on other threads."""
        variable: contextvars.ContextVar[str] = contextvars.ContextVar("variable", default="unset")
        seen = block("t/v@v1", lambda n: {"out": variable.get()})
        definition = workflow(
            [], [step("t/v@v1", f"s{i}", n=i) for i in range(3)], {"o": "$steps.s2.out"}
        )
        token = variable.set("set")
        try:
            assert run(definition, {}, seen, max_concurrent_steps=3) == [{"o": "set"}]
        finally:
            variable.reset(token)

    def test_hosts_pool_is_left_running(self) -> None:
        """The engine neither needs more threads than the pool has nor shuts it down."""
        definition = workflow(
            [],
            [step("t/sleep@v1", name, seconds=0.01, tag=name) for name in "abc"],
            {"o": "$steps.c.out"},
        )
        with ThreadPoolExecutor(1) as pool:
            engine = ExecutionEngine.init(
                definition, max_concurrent_steps=4, executor=pool, registry=toy_registry(sleeper())
            )
            assert engine.run({}) == engine.run({}) == [{"o": "c"}]
            assert pool.submit(lambda: 1).result() == 1

    @pytest.mark.parametrize("workers", [1, 3])
    def test_a_run_on_a_worker_of_its_own_pool_ends(self, workers: int) -> None:
        """As many runs as the pool has workers, each on one of them: no run waits for a worker that
        another run holds.
        """
        definition = workflow(
            [],
            [
                *(step("t/sleep@v1", f"s{n}", seconds=0, tag=f"s{n}") for n in range(6)),
                step("t/sleep@v1", "last", seconds=0, tag="last", after="$steps.s3.out"),
            ],
            {"o": "$steps.last.out"},
        )
        with ThreadPoolExecutor(workers) as pool:
            engine = ExecutionEngine.init(
                definition, max_concurrent_steps=4, executor=pool, registry=toy_registry(sleeper())
            )
            all_busy = threading.Barrier(workers)

            def run_inside() -> Any:
                all_busy.wait(60)
                return engine.run({})

            runs = [pool.submit(run_inside) for _ in range(workers)]
            assert [one.result(60) for one in runs] == [[{"o": "last"}]] * workers

    def test_a_step_may_run_a_workflow_in_the_same_pool(self) -> None:
        """A block that runs an engine of its own does not wait for a worker it holds itself."""
        inner = workflow(
            [],
            [step("t/sleep@v1", name, seconds=0, tag=name) for name in "abc"],
            {"o": "$steps.c.out"},
        )
        with ThreadPoolExecutor(2) as pool:
            inside = ExecutionEngine.init(
                inner, max_concurrent_steps=3, executor=pool, registry=toy_registry(sleeper())
            )
            nested = block("t/nested@v1", lambda tag: {"out": inside.run({})})
            outer = ExecutionEngine.init(
                workflow(
                    [],
                    [step("t/nested@v1", name, tag=name) for name in "abcd"],
                    {"o": "$steps.d.out"},
                ),
                max_concurrent_steps=4,
                executor=pool,
                registry=toy_registry(nested),
            )
            assert pool.submit(outer.run, {}).result(60) == [{"o": [{"o": "c"}]}]

    def test_a_busy_pool_is_not_waited_for_after_a_failure(self) -> None:
        """A step that found no worker before another failed is not run, and the run ends."""
        log: list[Any] = []
        held = threading.Event()
        definition = workflow(
            [],
            [
                step("t/fail@v1", "bad", seconds=0, tag="bad"),
                step("t/sleep@v1", "queued", seconds=0, tag="queued"),
            ],
        )
        with ThreadPoolExecutor(1) as pool:
            pool.submit(held.wait, 60)
            engine = ExecutionEngine.init(
                definition,
                max_concurrent_steps=2,
                executor=pool,
                registry=toy_registry(sleeper(log), failing()),
            )
            with pytest.raises(StepExecutionError) as caught:
                engine.run({})
            held.set()
        assert caught.value.block_id == "bad"
        assert log == []

    def test_number_of_workers_is_checked(self) -> None:
        """Fewer than one worker is refused."""
        with pytest.raises(ValueError, match="max_concurrent_steps must be at least 1, got 0"):
            ExecutionEngine.init(workflow(), max_concurrent_steps=0, registry=toy_registry())


class TestFailure:
    @pytest.mark.parametrize("workers", WORKERS)
    def test_earliest_step_in_plan_order_is_raised(self, workers: int) -> None:
        """Of several failures the one of the earliest step is raised, though a later one came
        sooner.
        """
        definition = workflow(
            [],
            [
                step("t/fail@v1", "slow", seconds=0.1, tag="slow"),
                step("t/fail@v1", "quick", seconds=0, tag="quick"),
            ],
        )
        with pytest.raises(StepExecutionError) as caught:
            run(definition, {}, failing(), max_concurrent_steps=workers)
        assert caught.value.block_id == "slow"

    def test_nothing_is_started_after_a_failure(self) -> None:
        """Running steps are waited for, waiting steps are not started."""
        log: list[Any] = []
        failed: list[str] = []
        definition = workflow(
            [],
            [
                step("t/fail@v1", "bad", seconds=0.02, tag="bad"),
                step("t/sleep@v1", "long", seconds=0.1, tag="long"),
                step("t/sleep@v1", "after", seconds=0, tag="after", after="$steps.long.out"),
                step("t/fail@v1", "queued", seconds=0, tag="queued"),
            ],
        )
        with pytest.raises(StepExecutionError) as caught:
            run(definition, {}, sleeper(log), failing(failed), max_concurrent_steps=2)
        assert caught.value.block_id == "bad"
        assert log == [("start", "long"), ("end", "long")]
        assert failed == ["bad"]

    def test_failure_of_a_lone_step(self) -> None:
        """A failure on the caller's thread ends the run at once, with workers too."""
        definition = workflow(
            [],
            [
                step("t/fail@v1", "bad", seconds=0, tag="bad"),
                step("pass", "p", x="$steps.bad.out"),
            ],
        )
        with pytest.raises(StepExecutionError):
            run(definition, {}, failing(), max_concurrent_steps=4)

    def test_engine_can_be_run_again(self) -> None:
        """A failed run leaves nothing behind."""
        flaky = block("t/flaky@v1", lambda x: {"out": 1 / x})
        definition = workflow(
            [batch_input("x")],
            [step("t/flaky@v1", "f", x="$inputs.x"), step("pass", "p", x="$inputs.x")],
            {"o": "$steps.f.out"},
        )
        with ExecutionEngine.init(
            definition, max_concurrent_steps=2, registry=toy_registry(flaky)
        ) as engine:
            for _ in range(3):
                with pytest.raises(StepExecutionError, match="division by zero"):
                    engine.run({"x": [1, 0]})
                assert engine.run({"x": [1, 2]}) == [{"o": 1.0}, {"o": 0.5}]

    def test_runs_on_several_threads(self) -> None:
        """One engine of blocks without state serves several threads at once."""
        definition = workflow(
            [batch_input("x")],
            [step("split", "s", n="$inputs.x"), step("gather", "g", data="$steps.s.out")],
            {"g": "$steps.g.out"},
        )
        with (
            ExecutionEngine.init(definition, registry=toy_registry()) as engine,
            ThreadPoolExecutor(4) as pool,
        ):
            results = list(pool.map(lambda n: engine.run({"x": [n, n + 1]}), range(40)))
        for n, rows in enumerate(results):
            expected = [[10 * m + i for i in range(m)] or None for m in (n, n + 1)]
            assert [row["g"] for row in rows] == expected
