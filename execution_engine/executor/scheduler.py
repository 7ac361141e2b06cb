"""Decides when each step runs: in order on the caller's thread, or as soon as its inputs are ready
on a pool.
"""

from __future__ import annotations

import contextvars
import heapq
from collections.abc import Callable, Sequence
from concurrent.futures import CancelledError, Executor, Future, ThreadPoolExecutor
from queue import Empty, SimpleQueue

from execution_engine.plan import StepPlan

# A pool that starts none of a run's steps for so long has no free worker for it.
_PATIENCE_SECONDS = 0.02


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

    A step that is ready while nothing else is runs on this thread, and so does one for which the
    host's pool has no worker while none of this run's steps runs: the caller may be a worker of
    that pool itself. After an exception no step is started; those running are waited for, and the
    exception of the earliest step in plan order is raised.

    Args:
        steps: the plan's steps in order.
        run_step: runs the step at a position.
        max_concurrent_steps: at least 1.
        executor: the host's pool; a pool of this run's own when None.
    """
    waiting = [step.predecessors for step in steps]
    ready = [position for position, count in enumerate(waiting) if count == 0]
    failures: list[tuple[int, BaseException]] = []

    def release(position: int) -> None:
        for follower in steps[position].followers:
            waiting[follower] -= 1
            if waiting[follower] == 0:
                heapq.heappush(ready, follower)

    with _Submissions(run_step, max_concurrent_steps, executor) as submissions:
        while (ready and not failures) or submissions.count:
            if len(ready) == 1 and not submissions.count and not failures:
                position = heapq.heappop(ready)
                run_step(position)
                release(position)
                continue
            while ready and submissions.count < max_concurrent_steps and not failures:
                submissions.add(heapq.heappop(ready))
            if failures:
                submissions.withdraw()
                if not submissions.count:
                    break
            position, error = submissions.next_finished()
            if error is not None:
                failures.append((position, error))
            else:
                release(position)
    if failures:
        raise min(failures, key=lambda failure: failure[0])[1]


class _Submissions:
    """Steps of one run that were handed to a pool.

    Args:
        run_step: runs the step at a position.
        max_workers: threads of a pool of its own.
        executor: the host's pool; a pool of its own, made when a step is added, when None.
    """

    def __init__(
        self, run_step: Callable[[int], None], max_workers: int, executor: Executor | None
    ) -> None:
        self._run_step = run_step
        self._max_workers = max_workers
        self._pool = executor
        self._own_pool: ThreadPoolExecutor | None = None
        self._futures: dict[int, Future[None]] = {}
        self._finished: SimpleQueue[int] = SimpleQueue()
        self._starved = False

    def __enter__(self) -> _Submissions:
        return self

    def __exit__(self, *exception: object) -> None:
        self.withdraw()
        if self._own_pool is not None:
            self._own_pool.shutdown(wait=True)

    @property
    def count(self) -> int:
        """Steps that were handed over and whose end was not told yet."""
        return len(self._futures)

    def add(self, position: int) -> None:
        """Hands a step over; it sees the context variables of this thread."""
        if self._pool is None:
            self._pool = self._own_pool = ThreadPoolExecutor(
                self._max_workers, thread_name_prefix="workflow-step"
            )
        future = self._pool.submit(contextvars.copy_context().run, self._run_step, position)
        self._futures[position] = future
        future.add_done_callback(lambda _: self._finished.put(position))

    def withdraw(self) -> None:
        """Takes back the steps that were not started."""
        for position in [one for one, future in self._futures.items() if future.cancel()]:
            del self._futures[position]

    def next_finished(self) -> tuple[int, BaseException | None]:
        """The next step that ended, and what it raised.

        With none of the steps running, one that found no worker is taken back and run here.
        """
        while True:
            try:
                position = self._finished.get(timeout=self._patience())
            except Empty:
                taken = self._take_back()
                if taken is None:
                    continue
                return taken, self._run_here(taken)
            future = self._futures.pop(position, None)
            if future is None:  # taken back
                continue
            self._starved = False
            try:
                return position, future.exception()
            except CancelledError as error:  # the host shut its pool down
                return position, error

    def _patience(self) -> float | None:
        """Seconds to wait for an end before looking whether anything runs; None for ever."""
        if self._own_pool is not None or any(future.running() for future in self._futures.values()):
            return None
        return 0.0 if self._starved else _PATIENCE_SECONDS

    def _take_back(self) -> int | None:
        if any(not future.cancelled() and future.running() for future in self._futures.values()):
            return None
        for position, future in self._futures.items():
            if future.cancel():
                del self._futures[position]
                self._starved = True
                return position
        return None

    def _run_here(self, position: int) -> BaseException | None:
        try:
            self._run_step(position)
        except Exception as error:
            return error
        return None
