"""Runs that overlap: every step sees them in order."""

from __future__ import annotations

import threading
import time
from concurrent.futures import ThreadPoolExecutor

import pytest

from execution_engine.executor.overlap import RunQueue


class TestKeepOrder:
    def test_every_step_sees_the_runs_in_their_order_though_they_overlap(self) -> None:
        """Three steps of random length, twelve runs on four threads."""
        queue, order = RunQueue(), [list[int]() for _ in range(3)]
        busy, most = 0, 0
        lock = threading.Lock()

        def run(number: int, turn: object) -> None:
            nonlocal busy, most

            def step(position: int) -> None:
                nonlocal busy, most
                with lock:
                    busy += 1
                    most = max(most, busy)
                time.sleep(0.004 * ((number * 7 + position * 3) % 4))
                order[position].append(number)
                with lock:
                    busy -= 1

            ordered = turn.keep_order(step)  # type: ignore[attr-defined]
            try:
                for position in range(3):
                    ordered(position)
            finally:
                turn.finish()  # type: ignore[attr-defined]

        with ThreadPoolExecutor(4) as pool:
            jobs = [pool.submit(run, number, queue.enter()) for number in range(12)]
        for job in jobs:
            job.result()
        assert order == [list(range(12))] * 3
        assert most > 1  # they did overlap

    def test_the_same_step_never_runs_twice_at_once(self) -> None:
        """The second run waits at the step until the first has done it."""
        queue = RunQueue()
        first, second = queue.enter(), queue.enter()
        release, reached = threading.Event(), threading.Event()
        seen: list[str] = []

        def slow(position: int) -> None:
            reached.set()
            release.wait(10)
            seen.append("first")

        one = threading.Thread(target=first.keep_order(slow), args=(0,))
        other = threading.Thread(
            target=second.keep_order(lambda position: seen.append("second")), args=(0,)
        )
        one.start()
        assert reached.wait(10)
        other.start()
        time.sleep(0.02)
        assert seen == []
        release.set()
        one.join(10)
        other.join(10)
        assert seen == ["first", "second"]


class TestFinish:
    def test_a_run_that_failed_holds_nobody_up(self) -> None:
        """A run that ends without doing its steps is passed by those after it."""
        queue = RunQueue()
        failing, following = queue.enter(), queue.enter()

        def fail(position: int) -> None:
            raise RuntimeError("broken")

        with pytest.raises(RuntimeError, match="broken"):
            failing.keep_order(fail)(0)
        failing.finish()
        failing.finish()  # again, harmless
        seen: list[int] = []
        following.keep_order(seen.append)(0)
        assert seen == [0]

    def test_an_earlier_run_still_holds_back_when_the_one_between_has_ended(self) -> None:
        """First, middle, last: the end of the middle one does not let the last pass the first."""
        queue = RunQueue()
        first, middle, last = queue.enter(), queue.enter(), queue.enter()
        middle.finish()
        seen: list[int] = []
        thread = threading.Thread(target=last.keep_order(seen.append), args=(0,))
        thread.start()
        time.sleep(0.02)
        assert seen == []
        first.finish()
        thread.join(10)
        assert seen == [0]
