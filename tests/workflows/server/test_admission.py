"""The queue by itself: order, fairness, limits, giving up."""

from __future__ import annotations

import asyncio
import threading
import time
from collections.abc import Callable
from typing import Any

import pytest

from execution_engine.executor.limits import CancellationToken
from workflows.server.admission import Admission, RequestTimes
from workflows.server.faults import (
    ClientGoneError,
    DeadlineExceededError,
    QueueFullError,
    ShuttingDownError,
    WorkerDiedError,
)

PATIENCE = 60.0


class Blocker:
    """Work that occupies a worker until it is released."""

    def __init__(self) -> None:
        self.begun = threading.Event()
        self.release = threading.Event()

    def __call__(self, token: CancellationToken) -> str:
        self.begun.set()
        assert self.release.wait(PATIENCE)
        return "blocked"


def _until(condition: Callable[[], bool]) -> None:
    end = time.monotonic() + PATIENCE
    while not condition():
        assert time.monotonic() < end, "it never came true"
        time.sleep(0.001)


async def _begun(blocker: Blocker) -> None:
    assert await asyncio.to_thread(blocker.begun.wait, PATIENCE)


def _run(admission: Admission, test: Any) -> None:
    try:
        asyncio.run(asyncio.wait_for(test(), PATIENCE))
    finally:
        admission.close()


class TestRun:
    def test_gives_results_and_errors(self) -> None:
        """What the work gives is the answer; what it raises is raised here."""
        admission = Admission(2, 10, 1000)

        def fail(token: CancellationToken) -> None:
            raise KeyError("x")

        async def test() -> None:
            times = RequestTimes()
            answer = await admission.run(lambda t: 7, client="a", timeout=PATIENCE, times=times)
            assert answer == 7
            assert times.queued is not None
            assert times.worked is not None
            with pytest.raises(KeyError):
                await admission.run(fail, client="a", timeout=PATIENCE)

        _run(admission, test)

    def test_serves_clients_in_turn(self) -> None:
        """A client with many requests does not delay one with few."""
        admission = Admission(1, 100, 1000)
        blocker = Blocker()
        order: list[str] = []

        async def test() -> None:
            first = asyncio.create_task(admission.run(blocker, client="x", timeout=PATIENCE))
            await _begun(blocker)
            names = ["a1", "a2", "a3", "a4", "b1", "b2", "c1"]
            tasks = []
            for name in names:
                work = lambda token, name=name: order.append(name)  # noqa: E731
                tasks.append(
                    asyncio.create_task(admission.run(work, client=name[0], timeout=PATIENCE))
                )
                await asyncio.sleep(0)
            assert admission.queued == len(names)
            blocker.release.set()
            await asyncio.gather(first, *tasks)

        _run(admission, test)
        assert order == ["a1", "b1", "c1", "a2", "b2", "a3", "a4"]

    def test_turns_away_when_full(self) -> None:
        """One more than may wait is refused at once, with the seconds to wait."""
        admission = Admission(1, 1, 1000)
        blocker = Blocker()

        async def test() -> None:
            inside = [asyncio.create_task(admission.run(blocker, client="a", timeout=PATIENCE))]
            await _begun(blocker)
            inside.append(
                asyncio.create_task(admission.run(lambda t: "second", client="a", timeout=PATIENCE))
            )
            await asyncio.sleep(0)
            with pytest.raises(QueueFullError) as caught:
                await admission.run(lambda t: None, client="b", timeout=PATIENCE)
            assert caught.value.headers == {"Retry-After": "1"}
            with pytest.raises(QueueFullError):
                admission.refuse_if_full()
            blocker.release.set()
            assert await asyncio.gather(*inside) == ["blocked", "second"]

        _run(admission, test)

    def test_gives_up_at_the_deadline(self) -> None:
        """A running work is told to stop, one in the queue is never begun."""
        admission = Admission(1, 10, 1000)
        stopped = threading.Event()
        begun: list[str] = []

        def wait_for_stop(token: CancellationToken) -> None:
            begun.append("first")
            while not token.cancelled:
                pass
            stopped.set()

        async def test() -> None:
            results = await asyncio.gather(
                admission.run(wait_for_stop, client="a", timeout=0.3, step=lambda: "blur"),
                admission.run(lambda t: begun.append("second"), client="a", timeout=0.0),
                return_exceptions=True,
            )
            assert all(isinstance(one, DeadlineExceededError) for one in results)
            assert "step 'blur' was running" in str(results[0])
            assert "waiting for a worker" in str(results[1])
            assert await asyncio.to_thread(stopped.wait, PATIENCE)

        _run(admission, test)
        assert begun == ["first"]
        assert admission.queued == 0

    def test_stops_when_the_client_is_gone(self) -> None:
        """The answer is an error of its own, and the work is told to stop."""
        admission = Admission(1, 10, 1000)
        blocker = Blocker()
        tokens: list[CancellationToken] = []

        def work(token: CancellationToken) -> str:
            tokens.append(token)
            return blocker(token)

        async def test() -> None:
            async def gone() -> None:
                await _begun(blocker)

            with pytest.raises(ClientGoneError):
                await admission.run(work, client="a", timeout=PATIENCE, gone=gone)
            assert tokens[0].cancelled
            assert admission.abandoned == 1
            blocker.release.set()

        _run(admission, test)

    def test_takes_a_cancelled_task_out(self) -> None:
        """When the task that waits is cancelled, its work is not begun."""
        admission = Admission(1, 10, 1000)
        blocker = Blocker()
        begun: list[int] = []

        async def test() -> None:
            first = asyncio.create_task(admission.run(blocker, client="a", timeout=PATIENCE))
            await _begun(blocker)
            second = asyncio.create_task(
                admission.run(lambda t: begun.append(1), client="a", timeout=PATIENCE)
            )
            await asyncio.sleep(0)
            second.cancel()
            with pytest.raises(asyncio.CancelledError):
                await second
            assert admission.queued == 0
            blocker.release.set()
            await first

        _run(admission, test)
        assert begun == []

    def test_replaces_workers_that_end(self) -> None:
        """Work that ends its thread is answered; the next one finds a worker."""
        admission = Admission(1, 10, 1000)

        def die(token: CancellationToken) -> None:
            raise SystemExit(3)

        async def test() -> None:
            for _ in range(3):
                with pytest.raises(WorkerDiedError, match="SystemExit"):
                    await admission.run(die, client="a", timeout=PATIENCE)
            assert await admission.run(lambda t: 1, client="a", timeout=PATIENCE) == 1

        _run(admission, test)


class TestDrain:
    def test_lets_no_one_in_and_waits(self) -> None:
        """What is inside is finished; what comes later is refused."""
        admission = Admission(1, 10, 1000)
        blocker = Blocker()

        async def test() -> None:
            inside = [
                asyncio.create_task(admission.run(blocker, client="a", timeout=PATIENCE)),
                asyncio.create_task(admission.run(lambda t: "late", client="a", timeout=PATIENCE)),
            ]
            await _begun(blocker)
            drain = asyncio.create_task(admission.drain(PATIENCE))
            await asyncio.sleep(0)
            with pytest.raises(ShuttingDownError):
                await admission.run(lambda t: None, client="b", timeout=PATIENCE)
            assert not drain.done()
            blocker.release.set()
            await drain
            assert await asyncio.gather(*inside) == ["blocked", "late"]

        _run(admission, test)

    def test_gives_up_what_is_left(self) -> None:
        """When the time is up, everyone is answered; a second call waits no longer."""
        admission = Admission(1, 10, 1000)
        blocker = Blocker()

        async def test() -> None:
            inside = [
                asyncio.create_task(admission.run(blocker, client="a", timeout=PATIENCE)),
                asyncio.create_task(admission.run(lambda t: None, client="a", timeout=PATIENCE)),
            ]
            await _begun(blocker)
            await admission.drain(0.05)
            await admission.drain(PATIENCE)
            results = await asyncio.gather(*inside, return_exceptions=True)
            assert [type(one) for one in results] == [ShuttingDownError] * 2
            blocker.release.set()

        _run(admission, test)


class TestClose:
    def test_ends_the_workers(self) -> None:
        """No thread is left behind."""
        admission = Admission(3, 10, 1000)
        before = threading.active_count()

        async def test() -> None:
            await admission.run(lambda t: None, client="a", timeout=PATIENCE)

        _run(admission, test)
        assert threading.active_count() <= before


class TestSteppingAside:
    """More workers than places: some wait for others while the rest compute."""

    def test_no_more_compute_than_there_are_places(self) -> None:
        """A second request is begun only when the first one steps aside or ends."""
        admission = Admission(3, 10, 1000, places=1)
        first, second, waiting = Blocker(), Blocker(), Blocker()
        order: list[str] = []

        def steps_aside(token: CancellationToken) -> None:
            first(token)
            with admission.stepping_aside():
                waiting(token)
            order.append("back")

        async def test() -> None:
            jobs = [
                asyncio.create_task(admission.run(work, client="a", timeout=PATIENCE))
                for work in (steps_aside, second, lambda token: order.append("third"))
            ]
            await _begun(first)
            assert not second.begun.is_set()
            first.release.set()
            await _begun(waiting)
            await _begun(second)  # in the place of the first one
            assert not order
            waiting.release.set()
            await asyncio.to_thread(_until, lambda: admission._returning == 1)
            assert not order  # its place is taken
            second.release.set()
            await asyncio.gather(*jobs)
            assert order == ["back", "third"]  # before one that was not begun

        _run(admission, test)

    def test_a_failure_while_aside(self) -> None:
        """An error in the wait leaves the number of places as it was."""
        admission = Admission(2, 10, 1000, places=1)

        def fails(token: CancellationToken) -> None:
            with admission.stepping_aside():
                raise KeyError("x")

        async def test() -> None:
            for _ in range(3):
                with pytest.raises(KeyError):
                    await admission.run(fails, client="a", timeout=PATIENCE)
            blocker = Blocker()
            job = asyncio.create_task(admission.run(blocker, client="a", timeout=PATIENCE))
            await _begun(blocker)
            other = Blocker()
            late = asyncio.create_task(admission.run(other, client="a", timeout=PATIENCE))
            await asyncio.sleep(0.05)
            assert not other.begun.is_set()
            blocker.release.set()
            other.release.set()
            assert await job == await late == "blocked"

        _run(admission, test)

    def test_a_worker_that_ends_aside(self) -> None:
        """The place of a thread that dies in its wait is used again."""
        admission = Admission(2, 10, 1000, places=1)

        def dies(token: CancellationToken) -> None:
            with admission.stepping_aside():
                raise SystemExit

        async def test() -> None:
            for _ in range(3):
                with pytest.raises(WorkerDiedError):
                    await admission.run(dies, client="a", timeout=PATIENCE)
            assert await admission.run(lambda token: 7, client="a", timeout=PATIENCE) == 7

        _run(admission, test)

    def test_the_end_of_the_workers(self) -> None:
        """Who comes back when all is closed does not wait for a place."""
        admission = Admission(2, 10, 1000, places=1)
        waiting, second = Blocker(), Blocker()
        ended = threading.Event()

        def steps_aside(token: CancellationToken) -> None:
            with admission.stepping_aside():
                waiting(token)
            ended.set()

        async def test() -> None:
            jobs = [
                asyncio.create_task(admission.run(work, client="a", timeout=PATIENCE))
                for work in (steps_aside, second)
            ]
            await _begun(waiting)
            await _begun(second)
            closing = asyncio.create_task(asyncio.to_thread(admission.close))
            waiting.release.set()
            assert await asyncio.to_thread(ended.wait, PATIENCE)
            second.release.set()
            await asyncio.gather(closing, *jobs)

        _run(admission, test)

    def test_the_queue_counts_what_could_begin(self) -> None:
        """Requests that stepped aside make room, so that the queue is as long as it is said to
        be.
        """
        admission = Admission(3, 1, 1000, places=1)
        waiting, second, third = Blocker(), Blocker(), Blocker()

        def steps_aside(token: CancellationToken) -> None:
            with admission.stepping_aside():
                waiting(token)

        async def test() -> None:
            def run(work: Any) -> Any:
                return asyncio.create_task(admission.run(work, client="a", timeout=PATIENCE))

            jobs = [run(steps_aside)]
            await _begun(waiting)
            jobs.append(run(second))
            await _begun(second)
            jobs.append(run(third))
            await asyncio.sleep(0)
            with pytest.raises(QueueFullError):
                await admission.run(lambda token: 1, client="a", timeout=PATIENCE)
            for blocker in (waiting, second, third):
                blocker.release.set()
            await asyncio.gather(*jobs)

        _run(admission, test)

    def test_many_threads(self) -> None:
        """However they come and go, no more compute than there are places, and none is lost."""
        admission = Admission(8, 1000, 1000, places=2)
        inside, most, lock = 0, 0, threading.Lock()

        def count(step: int) -> None:
            nonlocal inside, most
            with lock:
                inside += step
                most = max(most, inside)

        def work(token: CancellationToken) -> int:
            count(1)
            for _ in range(3):
                time.sleep(0.0005)
                count(-1)
                with admission.stepping_aside():
                    time.sleep(0.0005)
                count(1)
            count(-1)
            return 1

        async def test() -> None:
            answers = await asyncio.gather(
                *(admission.run(work, client=str(i % 5), timeout=PATIENCE) for i in range(300))
            )
            assert sum(answers) == 300

        _run(admission, test)
        assert most == 2
        assert admission._free == 2
