"""Whose turn it is among those who wait."""

from __future__ import annotations

import threading
from typing import Any

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from inference_models.manager.call_context import CallContext
from inference_models.manager.fair_queue import FairQueue, Window

LOCK = threading.Lock()
SHAPES = ((1, 2, 2), (1, 4, 4))
WINDOWS = st.tuples(st.integers(0, 3), st.integers(1, 6), st.integers(0, 1))


def window(client: Any, count: int, shape: int = 0) -> Window:
    """A window of so many images."""
    inputs = np.zeros((count, *SHAPES[shape]), np.float32)
    return Window(inputs, client, CallContext(), threading.Condition(LOCK), 0.0)


class TestTake:
    """`FairQueue.take`."""

    def test_clients_take_turns_by_the_image(self) -> None:
        """One image of a small call goes with the first images of a large one."""
        queue = FairQueue()
        large, small = window("a", 64), window("b", 1)
        queue.push(large)
        queue.push(small)
        parts = queue.take(4)
        assert [(part.window, part.start, part.stop) for part in parts] == [
            (large, 0, 3),
            (small, 0, 1),
        ]
        assert (queue.images, len(queue)) == (61, 1)

    def test_who_was_served_goes_behind_who_was_not(self) -> None:
        """With room for one, clients alternate."""
        queue = FairQueue()
        queue.push(window("a", 3))
        queue.push(window("b", 2))
        assert [queue.take(1)[0].window.client for _ in range(5)] == list("ababa")
        assert queue.take(1) == []

    def test_another_shape_gets_its_turn(self) -> None:
        """A shape that few ask for does not wait until the many are done."""
        queue = FairQueue()
        queue.push(window("a", 10, shape=0))
        queue.push(window("b", 1, shape=1))
        queue.push(window("c", 10, shape=0))
        taken = [[part.window.client for part in queue.take(4)] for _ in range(2)]
        assert taken == [["a", "c"], ["b"]]

    def test_the_windows_of_a_client_keep_their_order(self) -> None:
        """Two calls of one client share its turns, the earlier first."""
        queue = FairQueue()
        first, second, other = window("a", 2), window("a", 2), window("b", 3)
        for one in (first, second, other):
            queue.push(one)
        assert {part.window: len(part) for part in queue.take(4)} == {first: 2, other: 2}
        assert {part.window: len(part) for part in queue.take(4)} == {second: 2, other: 1}

    @given(st.lists(WINDOWS, max_size=12), st.lists(st.integers(1, 7), min_size=1, max_size=30))
    def test_every_image_is_handed_out_once_and_fairly(
        self, content: list[tuple[int, int, int]], limits: list[int]
    ) -> None:
        """Whatever waits: a batch has one shape and no more than the limit, a window's images come
        in order, no client gets two images more than one who still waits, and who is first gets
        some."""
        queue = FairQueue()
        windows = [window(*one) for one in content]
        given_out = dict.fromkeys(windows, 0)
        for one in windows:
            queue.push(one)
        step = 0
        while queue.images:
            limit = limits[step % len(limits)]
            step += 1
            first = next(iter(queue))
            parts = queue.take(limit)
            assert sum(map(len, parts)) <= limit
            assert {part.window.shape for part in parts} == {first.shape}
            assert first.client in {part.window.client for part in parts}
            got: dict[Any, int] = {}
            for part in parts:
                assert part.start == given_out[part.window]
                given_out[part.window] = part.stop
                got[part.window.client] = got.get(part.window.client, 0) + len(part)
            for waiting in queue:
                if waiting.shape == first.shape:
                    assert max(got.values()) - got.get(waiting.client, 0) <= 1
        assert given_out == {one: len(one.inputs) for one in windows}
        assert (len(queue), list(queue)) == (0, [])


class TestRemove:
    """`FairQueue.remove`."""

    def test_the_rest_of_a_window_goes(self) -> None:
        """What was handed out already stays handed out; removing again does nothing."""
        queue = FairQueue()
        gone, kept = window("a", 5), window("b", 2)
        queue.push(gone)
        queue.push(kept)
        queue.take(2)
        queue.remove(gone)
        queue.remove(gone)
        assert (queue.images, list(queue)) == (1, [kept])
