"""The cores that all models share."""

from __future__ import annotations

import os
import threading
import time

import pytest

from inference_models.backends import ThreadBudget, available_cores


class TestAvailableCores:
    """`available_cores`."""

    @pytest.mark.skipif(not hasattr(os, "sched_setaffinity"), reason="no affinity masks here")
    def test_the_affinity_mask_counts(self) -> None:
        """A process pinned to one core has one core, however many the machine has."""
        before = os.sched_getaffinity(0)
        assert available_cores() == len(before)
        try:
            os.sched_setaffinity(0, {min(before)})
            assert available_cores() == 1
        finally:
            os.sched_setaffinity(0, before)


class TestThreadBudget:
    """`ThreadBudget`."""

    @pytest.mark.parametrize(("total", "per_call"), [(0, None), (2, 3), (2, 0)])
    def test_impossible_budgets_are_refused(self, total: int, per_call: int | None) -> None:
        """A call cannot have more threads than there are."""
        with pytest.raises(ValueError, match="per_call"):
            ThreadBudget(total, per_call)

    def test_a_call_gets_a_few_threads_of_many(self) -> None:
        """On a large machine several calls run side by side."""
        assert ThreadBudget(64).per_call == 4
        assert ThreadBudget(2).per_call == 2

    def test_all_calls_together_stay_within_the_total(self) -> None:
        """However many calls of whatever size come at once, the sum of their threads is bounded."""
        budget = ThreadBudget(4, 2)
        lock = threading.Lock()
        running, seen = 0, []

        def call(threads: int) -> None:
            nonlocal running
            for _ in range(20):
                with budget.take(threads):
                    with lock:
                        running += min(threads, 4)
                        seen.append(running)
                    time.sleep(0.0005)
                    with lock:
                        running -= min(threads, 4)

        workers = [threading.Thread(target=call, args=(n,)) for n in (1, 2, 3, 4, 9, 2)]
        for worker in workers:
            worker.start()
        for worker in workers:
            worker.join(timeout=20)
        assert max(seen) <= 4
        assert len(seen) == 120
        assert budget.in_use == 0

    def test_a_large_call_is_not_overtaken_for_ever(self) -> None:
        """Calls are served in the order they came, so small ones do not starve a large one."""
        budget = ThreadBudget(2, 1)
        order: list[str] = []
        started = threading.Event()

        def large() -> None:
            started.set()
            with budget.take(2):
                order.append("large")

        def small() -> None:
            with budget.take(1):
                order.append("small")

        with budget.take(1):
            first = threading.Thread(target=large)
            first.start()
            started.wait(5)
            time.sleep(0.05)
            second = threading.Thread(target=small)
            second.start()
            time.sleep(0.05)
            assert order == []
        first.join(5)
        second.join(5)
        assert order == ["large", "small"]

    def test_an_error_gives_the_threads_back(self) -> None:
        """A failing call does not keep its cores."""
        budget = ThreadBudget(1)
        with pytest.raises(RuntimeError), budget.take(1):
            raise RuntimeError("failed")
        assert budget.in_use == 0
