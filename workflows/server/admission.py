"""`Admission`: which requests are worked on, which wait and which are turned away. Knows nothing of
HTTP bodies and workflows: a request is a function to call and a client to be fair to.
"""

from __future__ import annotations

import asyncio
import logging
import math
import threading
import time
from collections import OrderedDict, deque
from collections.abc import Awaitable, Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any, TypeVar

from execution_engine.executor.limits import CancellationToken
from workflows.server.faults import (
    ClientGoneError,
    DeadlineExceededError,
    QueueFullError,
    ShuttingDownError,
    WorkerDiedError,
)

T = TypeVar("T")

_LOG = logging.getLogger("weftlens.server")
_SHARE_OF_NEWEST = 0.1
_LONGEST_RETRY_AFTER = 30
_IDLE_POLL = 0.02
_JOIN_TIMEOUT = 5.0


@dataclass(slots=True)
class RequestTimes:
    """How long a request waited for a worker and was worked on, in seconds; None until known."""

    queued: float | None = None
    worked: float | None = None


@dataclass(eq=False, slots=True)
class _Job:
    """One request on its way through; `waiting` while no worker has it."""

    work: Callable[[CancellationToken], Any]
    client: str
    size: int
    times: RequestTimes
    loop: asyncio.AbstractEventLoop
    answer: asyncio.Future[Any]
    token: CancellationToken = field(default_factory=CancellationToken)
    entered: float = field(default_factory=time.monotonic)
    waiting: bool = True

    def settle(self, value: Any, error: BaseException | None) -> None:
        """Answers from the thread of the event loop, unless that was done before."""
        if self.answer.done():
            return
        if error is None:
            self.answer.set_result(value)
        else:
            self.answer.set_exception(error)

    def settle_from_thread(self, value: Any, error: BaseException | None) -> None:
        """Answers from any other thread."""
        try:
            self.loop.call_soon_threadsafe(self.settle, value, error)
        except RuntimeError:
            # The loop is closed: its server ended, and nobody waits for this any more.
            _LOG.debug("an answer came after the event loop had ended")


class Admission:
    """A fixed number of worker threads behind a bounded queue that is fair between clients.

    Each client has a line of its own and the lines are served in turn, so that a client with many
    requests delays itself, not the others. Methods may be called from any event loop.

    Args:
        workers: requests that have been begun and are not finished, at the most.
        max_queue: requests that may wait.
        max_queued_bytes: what the bodies of all requests that wait or are worked on may take; a
            single request always may come in.
        places: how many of them compute at the same time; the others have stepped aside. As many as
            workers when None.
    """

    def __init__(
        self, workers: int, max_queue: int, max_queued_bytes: int, places: int | None = None
    ) -> None:
        self.workers = workers
        self._places = workers if places is None else places
        self._free = self._places
        self._aside = 0
        self._returning = 0
        self._max_queue = max_queue
        self._max_queued_bytes = max_queued_bytes
        lock = threading.RLock()
        self._changed = threading.Condition(lock)
        self._place_free = threading.Condition(lock)  # for those who come back
        self._lines: OrderedDict[str, deque[_Job]] = OrderedDict()
        self._queued = 0
        self._bytes = 0
        self._running: set[_Job] = set()
        self._threads: set[threading.Thread] = set()
        self._mean_work = 0.0
        self._draining = False
        self._drain_end = math.inf
        self._closed = False

    @property
    def queued(self) -> int:
        """Requests that wait for a worker."""
        return self._queued

    @property
    def running(self) -> int:
        """Requests that workers have in hand, those nobody waits for any more among them."""
        return len(self._running)

    @property
    def abandoned(self) -> int:
        """Workers held by requests that were already answered, past their deadline or cancelled."""
        with self._changed:
            return sum(job.token.cancelled for job in self._running)

    @property
    def is_stuck(self) -> bool:
        """Whether every place is held by a request that was already answered."""
        return self.abandoned - self._aside >= self._places

    @contextmanager
    def stepping_aside(self) -> Iterator[None]:
        """Gives the place of the calling worker to another request while it computes nothing. Who
        comes back waits for a free place, before requests that have not been begun.
        """
        with self._changed:
            self._aside += 1
            self._leave_place()
        try:
            yield
        finally:
            with self._changed:
                self._aside -= 1
                self._returning += 1
                self._place_free.wait_for(lambda: self._closed or self._free > 0)
                self._returning -= 1
                self._free -= 1
                if self._lines and self._free > self._returning:
                    self._changed.notify()

    @property
    def draining(self) -> bool:
        """Whether no new requests are let in."""
        return self._draining

    async def run(
        self,
        work: Callable[[CancellationToken], T],
        *,
        client: str,
        size: int = 0,
        timeout: float,
        step: Callable[[], str | None] = lambda: None,
        gone: Callable[[], Awaitable[None]] | None = None,
        times: RequestTimes | None = None,
    ) -> T:
        """What `work` gives, called on a worker thread when it is this client's turn.

        Args:
            work: gets the token that asks it to stop early.
            client: whose line to wait in.
            size: bytes the request holds while it waits.
            timeout: seconds until it is given up, waiting included.
            step: name of what `work` is at, for the message when it is given up.
            gone: returns when the client has closed the connection.
            times: filled with what it took.

        Raises:
            QueueFullError: no more requests can wait.
            ShuttingDownError: the server is being stopped.
            DeadlineExceededError: the timeout passed; work under way is asked to stop.
            ClientGoneError: the client closed the connection; a waiting request is never begun.
            WorkerDiedError: the worker thread ended.
        """
        loop = asyncio.get_running_loop()
        job = _Job(work, client, size, times or RequestTimes(), loop, loop.create_future())
        self._enter(job)
        started = time.monotonic()

        def give_up() -> None:
            self._give_up(job, _deadline_error(job, time.monotonic() - started, step()))

        timer = loop.call_later(max(timeout, 0.0), give_up)
        watcher = None if gone is None else loop.create_task(self._watch(job, gone))
        try:
            answer: T = await job.answer
            return answer
        finally:
            timer.cancel()
            if watcher is not None:
                watcher.cancel()
            if not job.answer.done() or job.answer.cancelled():
                self._give_up(job, None)

    async def drain(self, timeout: float) -> None:
        """Lets no one in any more and waits until all are answered; after `timeout` seconds those
        left get `ShuttingDownError`. A second call does not wait longer than the first.
        """
        self._draining = True
        end = self._drain_end = min(self._drain_end, time.monotonic() + timeout)
        while (left := self._unanswered()) and time.monotonic() < end:
            await asyncio.sleep(_IDLE_POLL)
        for job in left:
            what = "before it was begun" if job.waiting else "before it was finished"
            self._give_up(job, ShuttingDownError(f"The server was stopped {what}; try again."))

    def close(self) -> None:
        """Ends the worker threads; a worker inside a block ends after it."""
        with self._changed:
            self._draining = self._closed = True
            self._changed.notify_all()
            self._place_free.notify_all()
            threads = list(self._threads)
        end = time.monotonic() + _JOIN_TIMEOUT
        for thread in threads:
            thread.join(max(0.0, end - time.monotonic()))

    def refuse_if_full(self) -> None:
        """Raises what `run` would, before a body is read for nothing.

        Raises:
            QueueFullError, ShuttingDownError: as `run`.
        """
        if self._draining:
            raise ShuttingDownError(
                "The server is being stopped and takes no new requests.", {"Retry-After": "1"}
            )
        # A worker that is about to take a request counts as if it had it already.
        begun = self._places + self._aside
        if self._queued + len(self._running) >= self._max_queue + begun:
            raise self._full(f"{self._queued} requests are waiting, which is the most that may")

    def _unanswered(self) -> list[_Job]:
        with self._changed:
            waiting = [job for line in self._lines.values() for job in line]
            return waiting + [job for job in self._running if not job.answer.done()]

    def _full(self, what: str) -> QueueFullError:
        expected = math.ceil((self._queued + 1) * self._mean_work / self.workers)
        seconds = min(max(expected, 1), _LONGEST_RETRY_AFTER)
        return QueueFullError(
            f"The server is busy: {what}. Try again in {seconds} s.",
            {"Retry-After": str(seconds)},
        )

    def _enter(self, job: _Job) -> None:
        with self._changed:
            self.refuse_if_full()
            inside = self._queued + len(self._running)
            if inside and self._bytes + job.size > self._max_queued_bytes:
                raise self._full(f"the bodies of {inside} requests take {self._bytes} bytes")
            self._lines.setdefault(job.client, deque()).append(job)
            self._queued += 1
            self._bytes += job.size
            while len(self._threads) < self.workers:
                self._start_worker()
            self._changed.notify()

    def _give_up(self, job: _Job, error: BaseException | None) -> None:
        """Called on the job's loop, or on another while that one waits for nothing else."""
        job.token.cancel()
        with self._changed:
            if job.waiting:
                self._take_out(job)
        if error is not None:
            job.settle_from_thread(None, error)

    async def _watch(self, job: _Job, gone: Callable[[], Awaitable[None]]) -> None:
        await gone()
        what = "was waiting" if job.waiting else "was worked on"
        self._give_up(job, ClientGoneError(f"The client left while its request {what}."))

    def _take_out(self, job: _Job) -> None:
        line = self._lines.get(job.client)
        if line is not None and job in line:
            line.remove(job)
            if not line:
                del self._lines[job.client]
            self._leave_queue(job)
            self._bytes -= job.size

    def _leave_queue(self, job: _Job) -> None:
        job.waiting = False
        job.times.queued = time.monotonic() - job.entered
        self._queued -= 1

    def _next(self) -> _Job | None:
        """The next job of the client whose turn it is; None when the workers end."""
        with self._changed:
            self._changed.wait_for(
                lambda: self._closed or (self._lines and self._free > self._returning)
            )
            if self._closed:
                return None
            client, line = self._lines.popitem(last=False)
            job = line.popleft()
            if line:
                self._lines[client] = line  # at the end: the others come first
            self._leave_queue(job)
            self._free -= 1
            self._running.add(job)
            return job

    def _leave_place(self) -> None:
        self._free += 1
        if self._returning:
            self._place_free.notify()
        else:
            self._changed.notify()

    def _start_worker(self) -> None:
        thread = threading.Thread(target=self._work, name="weftlens-worker", daemon=True)
        self._threads.add(thread)
        thread.start()

    def _work(self) -> None:
        job: _Job | None = None
        try:
            while (job := self._next()) is not None:
                began = time.monotonic()
                value, error = None, None
                try:
                    value = job.work(job.token)
                except Exception as raised:
                    error = raised
                self._finish(job, time.monotonic() - began)
                job.settle_from_thread(value, error)
                # A worker that waits must not hold on to the pictures of the last request.
                job = value = error = None
        except BaseException as fatal:
            _LOG.error("a worker thread ended", exc_info=fatal)
            if job is not None:
                self._finish(job, time.monotonic() - job.entered)
                job.settle_from_thread(
                    None,
                    _died(fatal),
                )
        finally:
            with self._changed:
                self._threads.discard(threading.current_thread())
                if not self._closed:
                    self._start_worker()

    def _finish(self, job: _Job, seconds: float) -> None:
        job.times.worked = seconds
        with self._changed:
            self._running.discard(job)
            self._leave_place()
            self._bytes -= job.size
            share = _SHARE_OF_NEWEST if self._mean_work else 1.0
            self._mean_work += share * (seconds - self._mean_work)


def _died(fatal: BaseException) -> WorkerDiedError:
    error = WorkerDiedError(
        f"The worker of this request ended with {type(fatal).__name__} before it had an answer; "
        "another one took its place."
    )
    error.__cause__ = fatal
    return error


def _deadline_error(job: _Job, passed: float, step: str | None) -> DeadlineExceededError:
    took = f"The request did not finish within its deadline, after {passed:.3g} s"
    if job.waiting:
        return DeadlineExceededError(f"{took}; it was still waiting for a worker.")
    waited = f" ({job.times.queued:.3g} s of them in the queue)" if job.times.queued else ""
    at = f"step '{step}' was running" if step is not None else "it was being worked on"
    return DeadlineExceededError(f"{took}{waited}; {at}.", step)
