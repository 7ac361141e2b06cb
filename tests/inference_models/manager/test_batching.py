"""Calls that come at the same time: which are joined, and who is served first."""

from __future__ import annotations

import gc
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np
import pytest

from inference_models.errors import InvalidParameterError, ModelInputError
from inference_models.manager import call_context, dynamic_batching
from inference_models.manager.fair_queue import Window
from tests.inference_models.manager.echo_network import EchoNetwork, MakeEcho, image


class TestDynamicBatching:
    """`dynamic_batching`."""

    @pytest.mark.parametrize(
        "options",
        [{"max_batch": 0}, {"queue_size": 0}, {"max_delay_ms": -1}, {"max_delay_ms": float("nan")}],
    )
    def test_numbers_out_of_range_are_refused(self, options: Any) -> None:
        """The error names all three."""
        with pytest.raises(ValueError, match="dynamic batching needs max_batch >= 1"):
            dynamic_batching(**options)


class TestJoining:
    """Which calls share a forward pass."""

    def test_a_call_alone_runs_at_once_on_its_own_thread(self, make_echo: MakeEcho) -> None:
        """An idle model costs no thread and no delay, however long the delay may be."""
        echo = make_echo(max_delay_ms=60_000)
        assert echo.infer(7) == [7]
        assert echo.network.threads_seen == [threading.get_ident()]
        assert echo.statistics.batch_sizes == {1: 1}

    def test_arrays_of_an_answered_call_are_freed_at_once(self, make_echo: MakeEcho) -> None:
        """Nothing refers to itself: outputs do not pile up until the collector comes."""
        echo = make_echo()
        gc.collect()
        gc.disable()
        try:
            for n in range(3):
                echo.infer(n)
            echo.hold()
            echo.start_waiting("a", lambda: echo.infer(1))
            echo.start_waiting("b", lambda: echo.infer(2))
            echo.finish()
            assert not [one for one in gc.get_objects() if isinstance(one, Window)]
        finally:
            gc.enable()

    def test_what_waits_is_joined(self, make_echo: MakeEcho) -> None:
        """Calls that come while the network runs share the next forward passes, at most `max_batch`
        images each, in the order they came."""
        echo = make_echo(max_batch=4)
        echo.hold()
        for n in range(1, 7):
            echo.start_waiting(n, lambda n=n: echo.infer(n))
        results = echo.finish()
        assert {n: results[n] for n in range(1, 7)} == {n: [n] for n in range(1, 7)}
        assert echo.network.seen == [[0], [1, 2, 3, 4], [5, 6]]

    def test_who_waits_steps_aside(self, make_echo: MakeEcho) -> None:
        """The host is told of a wait, on the thread of the call, and of no call that computes."""
        echo = make_echo()
        noted: list[tuple[str, int]] = []

        @contextmanager
        def aside() -> Iterator[None]:
            noted.append(("aside", threading.get_ident()))
            try:
                yield
            finally:
                noted.append(("back", threading.get_ident()))

        def call(n: int) -> list[int]:
            with call_context(aside=aside):
                found: list[int] = echo.infer(n)
            noted.append(("done", threading.get_ident()))
            return found

        assert call(7) == [7]
        assert [what for what, _ in noted] == ["done"]
        noted.clear()
        echo.hold()
        echo.start_waiting("a", lambda: call(1))
        echo.finish()
        assert [what for what, _ in noted] == ["aside", "back", "done"]
        assert len({thread for _, thread in noted}) == 1

    def test_parameters_stay_with_their_call(self, make_echo: MakeEcho) -> None:
        """Calls with other parameters share a forward pass; a wrong parameter fails alone."""
        echo = make_echo()
        echo.hold()
        crop = {"disable_static_crop": True}
        echo.start_waiting("plain", lambda: echo.infer(1))
        echo.start_waiting("whole", lambda: echo.manager.infer("echo", image(2), crop))
        with pytest.raises(InvalidParameterError, match="has no effect"):
            echo.manager.infer("echo", image(3), {"confidence": 0.5})
        with pytest.raises(ModelInputError):
            echo.manager.infer("echo", [image(3), np.zeros((0, 3, 3), np.uint8)])
        results = echo.finish()
        assert results["plain"] == [1]
        assert len(results["whole"]) == 1
        assert echo.network.seen == [[0], [1, 2]]

    def test_a_large_call_is_cut_and_shares(self, make_echo: MakeEcho) -> None:
        """A call of many images runs in several passes and answers in order."""
        echo = make_echo(max_batch=4)
        assert echo.infer(*range(11)) == list(range(11))
        assert [len(one) for one in echo.network.seen] == [4, 4, 3]

    def test_network_sizes_are_not_mixed(self, make_echo: MakeEcho) -> None:
        """Only inputs of one shape share a forward pass; no shape waits for ever."""
        echo = make_echo(network=EchoNetwork(side=None))
        echo.hold()
        sizes = [(8, 8), (16, 8), (8, 8), (16, 8), (8, 24)]
        for n, size in enumerate(sizes, start=1):
            echo.start_waiting(n, lambda n=n, size=size: echo.manager.infer("echo", image(n, size)))
        results = echo.finish()
        assert echo.network.seen == [[0], [1, 3], [2, 4], [5]]
        assert [results[n][0].image_size for n in range(1, 6)] == sizes

    @pytest.mark.parametrize("batch", [1, 3])
    def test_a_graph_for_a_fixed_number_of_images(self, make_echo: MakeEcho, batch: int) -> None:
        """It gets exactly that many rows, empty ones among them, and answers for the real ones."""
        echo = make_echo(network=EchoNetwork(batch=batch), max_batch=8)
        echo.hold()
        for n in range(1, 6):
            echo.start_waiting(n, lambda n=n: echo.infer(n))
        results = echo.finish()
        assert [results[n] for n in range(1, 6)] == [[n] for n in range(1, 6)]
        assert {shape[0] for shape in echo.network.shapes} == {batch}
        assert len(echo.network.seen) == 1 + -(-5 // batch)

    def test_a_batch_waits_for_calls_in_preparation_and_no_longer(
        self, make_echo: MakeEcho, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        """Two calls whose images are being written go together; when one of them fails there, the
        other goes alone."""
        echo = make_echo(max_delay_ms=600_000)
        echo.infer(0)
        model = echo.dispatcher._model
        write, late, writing = model.write, threading.Event(), threading.Event()

        def write_late(call: Any, rows: Any) -> np.ndarray:
            if call.images[0][0, 0, 0] in (2, 4):
                writing.set()
                assert late.wait(60)
            if call.images[0][0, 0, 0] == 4:
                raise ModelInputError("unreadable")
            return write(call, rows)

        monkeypatch.setattr(model, "write", write_late)
        for early, slow in ((1, 2), (3, 4)):
            late.clear()
            writing.clear()
            echo.start(slow, lambda slow=slow: echo.infer(slow))
            assert writing.wait(60)
            echo.start_waiting(early, lambda early=early: echo.infer(early))
            assert echo.network.running == 0
            late.set()
            echo.finish()
        assert [sorted(one) for one in echo.network.seen] == [[0], [1, 2], [3]]
        assert isinstance(echo.results[4], ModelInputError)

    def test_forward_passes_run_side_by_side_where_cores_allow(self, make_echo: MakeEcho) -> None:
        """Two lanes run two passes at a time, never three, and share out what waited."""
        echo = make_echo(threads=2, max_batch=8)
        echo.hold()
        for n in range(1, 7):
            echo.start_waiting(n, lambda n=n: echo.infer(n))
        results = echo.finish()
        assert [results[n] for n in range(1, 7)] == [[n] for n in range(1, 7)]
        assert echo.network.most_running == 2
        assert max(len(one) for one in echo.network.seen) <= 3


class TestFairness:
    """Who is served first."""

    def test_one_image_does_not_wait_for_sixty_four(self, make_echo: MakeEcho) -> None:
        """A small call is in the first batch after it came, although a large one was first."""
        echo = make_echo(max_batch=4)
        echo.hold()
        echo.start_waiting("large", lambda: echo.infer(*[9] * 64))
        echo.start_waiting("small", lambda: echo.infer(1))
        results = echo.finish()
        assert results["small"] == [1]
        assert results["large"] == [9] * 64
        assert [1 in one for one in echo.network.seen].index(True) == 1

    def test_a_client_with_many_calls_has_one_turn(self, make_echo: MakeEcho) -> None:
        """Calls that name their client share its turn; another client's call overtakes them."""
        echo = make_echo(max_batch=2)
        echo.hold()

        def as_client(name: str, value: int) -> list[int]:
            with call_context(client=name):
                return echo.infer(value)

        for n in (1, 2, 3, 4):
            echo.start_waiting(n, lambda n=n: as_client("ann", n))
        echo.start_waiting(9, lambda: as_client("bob", 9))
        echo.finish()
        assert echo.network.seen == [[0], [1, 9], [2, 3], [4]]


class TestStatistics:
    """`ModelManager.list_models` tells what happened."""

    def test_it_counts_calls_batches_and_waits(self, make_echo: MakeEcho) -> None:
        """Numbers add up, and nothing is there before the model is."""
        echo = make_echo(max_batch=2)
        assert echo.manager.list_models()[0].statistics is None
        echo.hold()
        for n in (1, 2, 3):
            echo.start_waiting(n, lambda n=n: echo.infer(n))
        assert echo.statistics.waiting == 3
        echo.finish()
        found = echo.statistics
        assert (found.calls, found.images, found.forwards, found.joined) == (4, 4, 3, 1)
        assert found.batch_sizes == {1: 2, 2: 1}
        assert (found.refused, found.given_up, found.retried, found.worker_deaths) == (0, 0, 0, 0)
        assert found.waiting == 0
        assert found.wait_seconds > 0
        assert found.forward_seconds > 0
