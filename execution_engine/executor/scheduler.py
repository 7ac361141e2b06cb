"""Decides when each step runs: in order on the caller's thread, or as soon as its inputs are ready
on a pool.
"""

from __future__ import annotations

import contextvars
import heapq
from collections.abc import Callable, Sequence
from concurrent.futures import Executor, Future, ThreadPoolExecutor
from queue import SimpleQueue

from execution_engine.plan import StepPlan


def run_in_order(steps: Sequence[StepPlan], run_step: Callable[[int], None]) -> None:
    """Runs every step on this thread in plan order; the first exception ends the run."""
    for position in range(len(steps)):
        run_step(position)


def run_concurrently(
    steps: Sequence[StepPlan],
    run_step: Callable[[int], None],
    max_concurrent_steps: int,
    executor: Executor | None = None,
) -> None:
    """Runs steps as soon as their predecessors are done, at most `max_concurrent_steps` at a time.

    A step that is ready while nothing else is runs on this thread. After an exception no step is
    started; those
    running are waited for, and the exception of the earliest step in plan order is raised.

    Args:
        steps: the plan's steps in order.
        run_step: runs the step at a position.
        max_concurrent_steps: at least 1.
        executor: the host's pool; a pool of this run's own when None.
    """
    waiting = [step.predecessors for step in steps]
    ready = [position for position, count in enumerate(waiting) if count == 0]
    finished: SimpleQueue[tuple[int, Future[None]]] = SimpleQueue()
    failures: list[tuple[int, BaseException]] = []
    running = 0
    pool = executor
    own_pool: ThreadPoolExecutor | None = None

    def release(position: int) -> None:
        for follower in steps[position].followers:
            waiting[follower] -= 1
            if waiting[follower] == 0:
                heapq.heappush(ready, follower)

    def submit(position: int) -> None:
        nonlocal pool, own_pool
        if pool is None:
            pool = own_pool = ThreadPoolExecutor(
                max_concurrent_steps, thread_name_prefix="workflow-step"
            )
        future = pool.submit(contextvars.copy_context().run, run_step, position)
        future.add_done_callback(lambda done: finished.put((position, done)))

    try:
        while (ready and not failures) or running:
            if len(ready) == 1 and running == 0 and not failures:
                position = heapq.heappop(ready)
                run_step(position)
                release(position)
                continue
            while ready and running < max_concurrent_steps and not failures:
                submit(heapq.heappop(ready))
                running += 1
            position, done = finished.get()
            running -= 1
            error = done.exception()
            if error is not None:
                failures.append((position, error))
            else:
                release(position)
    finally:
        if own_pool is not None:
            own_pool.shutdown(wait=True)
    if failures:
        raise min(failures, key=lambda failure: failure[0])[1]
