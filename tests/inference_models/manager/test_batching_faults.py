"""Joined calls that fail, wait too long, are given up or are cut off: none pays for another."""

from __future__ import annotations

import threading
from typing import Any

import numpy as np
import pytest

from inference_models.errors import (
    ModelBusyError,
    ModelCallCancelledError,
    ModelDeadlineExceededError,
    ModelManagerClosedError,
    ModelRuntimeError,
)
from inference_models.manager import call_context
from tests.inference_models.manager.echo_network import FAILS, KILLS, MakeEcho, wait_until


class TestErrors:
    """One call's fault is not another's."""

    def test_only_the_guilty_call_fails(self, make_echo: MakeEcho) -> None:
        """A failing forward pass is repeated call by call."""
        echo = make_echo()
        echo.hold()
        for n in (1, FAILS, 2):
            echo.start_waiting(n, lambda n=n: echo.infer(n))
        results = echo.finish()
        assert (results[1], results[2]) == ([1], [2])
        with pytest.raises(ModelRuntimeError, match=rf"cannot compute \[{FAILS}\]"):
            raise results[FAILS]
        assert echo.network.seen == [[0], [1, FAILS, 2], [1], [FAILS], [2]]
        assert echo.statistics.retried == 1

    def test_a_large_call_that_fails_leaves_nothing_behind(self, make_echo: MakeEcho) -> None:
        """What still waits of a failed call is not computed."""
        echo = make_echo(max_batch=2)
        echo.hold()
        echo.start_waiting("bad", lambda: echo.infer(FAILS, 5))
        echo.start_waiting("good", lambda: echo.infer(1, 2))
        results = echo.finish()
        assert results["good"] == [1, 2]
        assert isinstance(results["bad"], ModelRuntimeError)
        assert [5] not in echo.network.seen

    def test_a_call_alone_gets_its_own_error(self, make_echo: MakeEcho) -> None:
        """As without batching; the model serves on."""
        echo = make_echo()
        with pytest.raises(ModelRuntimeError, match="cannot compute"):
            echo.infer(FAILS)
        assert echo.infer(3) == [3]

    def test_the_death_of_a_thread_is_told_and_survived(self, make_echo: MakeEcho) -> None:
        """The calls in a dying thread's hands get an error that says so, those that wait are
        served, and so are later ones."""
        echo = make_echo(max_batch=2)
        echo.hold()
        for n in (KILLS, 1, 2, 3):
            echo.start_waiting(n, lambda n=n: echo.infer(n))
        results = echo.finish()
        for n in (KILLS, 1):
            with pytest.raises(ModelRuntimeError, match="ended: SystemExit: killed"):
                raise results[n]
        assert (results[2], results[3]) == ([2], [3])
        assert echo.infer(4) == [4]
        assert echo.statistics.worker_deaths == 1

    def test_a_caller_that_dies_gives_its_lane_back(self, make_echo: MakeEcho) -> None:
        """What ends a caller's own thread ends nothing else."""
        echo = make_echo()
        with pytest.raises(SystemExit):
            echo.infer(KILLS)
        assert echo.infer(5) == [5]

    def test_no_thread_can_be_started(
        self, make_echo: MakeEcho, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        """The call that needed it gets the error, and only that one."""
        echo = make_echo()
        echo.hold()

        def start(self: threading.Thread) -> None:
            raise RuntimeError("can't start new thread")

        with monkeypatch.context() as patch:
            patch.setattr(threading.Thread, "start", start)
            with pytest.raises(ModelRuntimeError, match="no thread could be started"):
                echo.infer(1)
        assert echo.statistics.waiting == 0
        assert echo.finish()["held 0"] == [0]


class TestLimits:
    """Full queues, deadlines, callers who give up."""

    def test_a_full_queue_refuses_and_says_when_to_come_again(self, make_echo: MakeEcho) -> None:
        """Calls that wait are kept, one more is refused without being looked at."""
        echo = make_echo(queue_size=2)
        echo.hold()
        for n in (1, 2):
            echo.start_waiting(n, lambda n=n: echo.infer(n))
        with pytest.raises(ModelBusyError, match=r"2 calls wait for .*try again") as caught:
            echo.infer(3)
        assert 0.1 <= caught.value.retry_after <= 60
        results = echo.finish()
        assert (results[1], results[2]) == ([1], [2])
        assert echo.infer(4) == [4]
        assert echo.statistics.refused == 1

    def test_calls_that_find_a_lane_are_never_refused(self, make_echo: MakeEcho) -> None:
        """Room to wait is for those that wait: two lanes serve two calls with a queue of one."""
        echo = make_echo(threads=2, queue_size=1)
        echo.hold()
        assert echo.statistics.waiting == 0
        assert echo.finish() == {"held 0": [0], "held 1": [0]}

    def test_a_deadline_ends_the_wait(self, make_echo: MakeEcho) -> None:
        """The call is answered with an error while the network still runs, and never computed."""
        echo = make_echo()
        echo.hold()
        with (
            pytest.raises(ModelDeadlineExceededError, match="passed before it ran"),
            call_context(deadline=0.05),
        ):
            echo.infer(1)
        assert echo.statistics.waiting == 0
        echo.finish()
        assert echo.network.seen == [[0]]
        assert echo.statistics.given_up == 1

    def test_a_caller_may_give_up_at_any_time(self, make_echo: MakeEcho) -> None:
        """A cancelled call leaves the queue; the others stay."""
        echo = make_echo()
        echo.hold()
        cancelled = threading.Event()

        def cancellable() -> list[int]:
            with call_context(cancelled=cancelled.is_set):
                return echo.infer(1)

        gone = echo.start_waiting("gone", cancellable)
        echo.start_waiting("kept", lambda: echo.infer(2))
        cancelled.set()
        gone.join(60)
        assert isinstance(echo.results["gone"], ModelCallCancelledError)
        assert echo.finish()["kept"] == [2]
        assert echo.network.seen == [[0], [2]]

    def test_who_gave_up_before_it_began_is_not_computed(self, make_echo: MakeEcho) -> None:
        """A call with nobody to wait for it does not run on an idle model either."""
        echo = make_echo()
        with pytest.raises(ModelCallCancelledError), call_context(cancelled=lambda: True):
            echo.infer(1)
        assert echo.network.seen == []
        assert echo.infer(2) == [2]

    def test_a_deadline_in_the_middle_of_a_large_call(self, make_echo: MakeEcho) -> None:
        """What is left of it is not computed, and the others' batches go on."""
        echo = make_echo(max_batch=2)
        echo.hold()
        given_up = threading.Event()

        def large() -> list[int]:
            with call_context(cancelled=given_up.is_set):
                return echo.infer(1, 2, 3, 4)

        echo.start_waiting("large", large)
        echo.start_waiting("small", lambda: echo.infer(9))
        given_up.set()
        assert echo.finish()["small"] == [9]
        assert isinstance(echo.results["large"], ModelCallCancelledError)
        assert not any({3, 4} & set(one) for one in echo.network.seen)

    def test_a_faulty_way_to_give_up_hurts_its_owner_only(self, make_echo: MakeEcho) -> None:
        """When asking a caller raises, that caller gets what was raised."""
        echo = make_echo()
        echo.hold()

        def broken() -> list[int]:
            with call_context(cancelled=lambda: 1 / 0 > 1):
                return echo.infer(1)

        echo.start("broken", broken).join(60)
        echo.start_waiting("whole", lambda: echo.infer(2))
        assert isinstance(echo.results["broken"], ZeroDivisionError)
        assert echo.finish()["whole"] == [2]

    def test_an_interrupt_while_waiting_takes_the_call_out(self, make_echo: MakeEcho) -> None:
        """Whatever ends the wait, nothing is computed for nobody."""
        echo = make_echo()
        echo.hold()

        def interrupted() -> bool:
            raise KeyboardInterrupt

        with pytest.raises(KeyboardInterrupt), call_context(cancelled=interrupted):
            echo.infer(1)
        assert echo.statistics.waiting == 0
        echo.finish()
        assert echo.network.seen == [[0]]


class TestClose:
    """Ends: of a dispatcher, of a model, of the manager."""

    def test_unloading_lets_those_who_wait_be_answered(self, make_echo: MakeEcho) -> None:
        """The model is closed by the last of them."""
        echo = make_echo()
        echo.hold()
        for n in (1, 2):
            echo.start_waiting(n, lambda n=n: echo.infer(n))
        assert echo.manager.unload("echo") is True
        assert echo.network.closed is False
        results = echo.finish()
        assert (results[1], results[2]) == ([1], [2])
        assert echo.network.closed is True

    def test_closing_the_manager_answers_those_who_wait(self, make_echo: MakeEcho) -> None:
        """Calls that came before are answered, later ones refused."""
        echo = make_echo()
        echo.hold()
        echo.start_waiting(1, lambda: echo.infer(1))
        closing = threading.Thread(target=echo.manager.close)
        closing.start()
        wait_until(lambda: echo.manager._memory._closed)
        with pytest.raises(ModelManagerClosedError):
            echo.infer(2)
        assert closing.is_alive()
        assert echo.finish()[1] == [1]
        closing.join(60)
        assert not closing.is_alive()

    def test_a_dispatcher_closed_too_early_drops_nothing(self, make_echo: MakeEcho) -> None:
        """It answers what it took and refuses the rest, whoever closes it."""
        echo = make_echo()
        echo.hold()
        dispatcher = echo.dispatcher
        echo.start_waiting(1, lambda: echo.infer(1))
        closing = threading.Thread(target=dispatcher.close)
        closing.start()
        wait_until(lambda: dispatcher._closed)
        with pytest.raises(ModelManagerClosedError, match="serves no more calls"):
            echo.infer(2)
        assert echo.finish()[1] == [1]
        closing.join(60)
        assert not closing.is_alive()


class TestStorm:
    """Everything at once."""

    @pytest.mark.parametrize("seed", range(3))
    def test_every_call_gets_its_own_answer_or_its_own_error(
        self, make_echo: MakeEcho, seed: int
    ) -> None:
        """Threads that call, fail, kill, give up and come too late: who did nothing wrong gets his
        answer or is told that the thread died, nobody waits for ever, nothing is left over."""
        echo = make_echo(threads=2, max_batch=4, queue_size=12, max_delay_ms=0.2)
        echo.network.seconds = 0.001

        def work(index: int) -> list[str]:
            random = np.random.default_rng([seed, index])
            wrong = []
            for _ in range(25):
                kind = random.choice(["good", "good", "bad", "deadly", "late", "gone"])
                values = random.integers(1, 200, random.integers(1, 7)).tolist()
                if kind in ("bad", "deadly"):
                    values[int(random.integers(len(values)))] = FAILS if kind == "bad" else KILLS
                context: dict[str, Any] = {"client": int(random.integers(5))}
                if kind == "late":
                    context["deadline"] = 1e-4
                if kind == "gone":
                    context["cancelled"] = lambda random=random: bool(random.random() < 0.5)
                try:
                    with call_context(**context):
                        if echo.infer(*values) != values:
                            wrong.append(f"{kind}: another answer")
                except ModelBusyError:
                    pass
                except ModelDeadlineExceededError as error:
                    wrong += [] if kind == "late" else [f"{kind}: {error}"]
                except ModelCallCancelledError as error:
                    wrong += [] if kind == "gone" else [f"{kind}: {error}"]
                except ModelRuntimeError as error:
                    own = kind == "bad" and "cannot compute" in str(error)
                    wrong += (
                        [] if own or "ended: SystemExit" in str(error) else [f"{kind}: {error}"]
                    )
                except SystemExit:
                    wrong += [] if kind == "deadly" else [f"{kind}: killed"]
            return wrong

        for index in range(16):
            echo.start(index, lambda index=index: work(index))
        assert echo.finish() == {index: [] for index in range(16)}
        found = echo.statistics
        assert found.waiting == 0
        dispatcher = echo.dispatcher
        wait_until(lambda: dispatcher._busy == 0)  # a worker hands out answers first
        assert (dispatcher._preparing, dispatcher._inside) == (0, 0)
        assert (dispatcher._queue.images, len(dispatcher._queue)) == (0, 0)
