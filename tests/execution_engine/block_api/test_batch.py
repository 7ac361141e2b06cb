"""`Batch`: the container in which blocks get many elements."""

from __future__ import annotations

from typing import Any

import pytest

from execution_engine.block_api import Batch


class TestBatch:
    def test_access(self) -> None:
        """A batch has a length, is iterated and indexed like a list, and knows its indices."""
        batch = Batch.init(["a", "b"], [(0, 0), (1, 2)])
        assert (len(batch), list(batch), batch[1], batch[-1]) == (2, ["a", "b"], "b", "b")
        assert batch.content == ["a", "b"]
        assert batch.indices == [(0, 0), (1, 2)]
        assert list(batch.iter_with_indices()) == [((0, 0), "a"), ((1, 2), "b")]
        assert repr(batch) == "Batch(['a', 'b'], indices=[(0, 0), (1, 2)])"

    def test_default_indices(self) -> None:
        """Without indices the elements are numbered."""
        assert Batch(("a", "b")).indices == [(0,), (1,)]

    def test_lengths_must_agree(self) -> None:
        """There is one index an element."""
        with pytest.raises(ValueError, match="one index an element: 2 elements, 1 indices"):
            Batch([1, 2], [(0,)])

    def test_indices_are_made_when_asked_for(self) -> None:
        """A function makes the indices once, and only if somebody looks."""
        calls: list[int] = []

        def make() -> list[tuple[int, ...]]:
            calls.append(1)
            return [(5,)]

        batch = Batch(["a"], make)
        assert list(batch) == ["a"]
        assert calls == []
        assert batch.indices == batch.indices == [(5,)]
        assert calls == [1]


class TestRemoveByIndices:
    def test_inside_too(self) -> None:
        """Elements go by their index, also in batches inside."""
        inner = Batch(["x", "y"], [(1, 0), (1, 1)])
        batch: Batch[Any] = Batch(["a", inner], [(0,), (1,)])
        left = batch.remove_by_indices({(0,), (1, 1)})
        assert left.indices == [(1,)]
        assert (left[0].content, left[0].indices) == (["x"], [(1, 0)])
        assert len(batch) == 2
        assert len(inner) == 2


class TestBroadcast:
    def test_same_length_is_the_same(self) -> None:
        """A batch of the wanted length is handed back."""
        batch = Batch([1, 2])
        assert batch.broadcast(2) is batch

    def test_one_is_repeated(self) -> None:
        """One element is repeated, with its index."""
        repeated = Batch(["a"], [(3,)]).broadcast(3)
        assert (repeated.content, repeated.indices) == (["a"] * 3, [(3,)] * 3)

    @pytest.mark.parametrize(
        ("size", "n", "message"),
        [
            (2, 3, "A batch of 2 elements cannot be broadcast to 3"),
            (0, 1, "A batch of 0 elements cannot be broadcast to 1"),
            (1, 0, "Batch.broadcast needs a positive size, got 0"),
            (1, -1, "Batch.broadcast needs a positive size, got -1"),
        ],
    )
    def test_refused(self, size: int, n: int, message: str) -> None:
        """Nothing else can be broadcast."""
        with pytest.raises(ValueError, match=message):
            Batch([1] * size).broadcast(n)
