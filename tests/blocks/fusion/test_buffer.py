"""`buffer@v1`."""

from __future__ import annotations

import pytest
from pydantic import ValidationError

from blocks.fusion.buffer.v1 import BufferBlockV1, BufferManifest


class TestRun:
    def test_newest_first_and_bounded(self) -> None:
        """The last values come newest first, and no more than the length."""
        block = BufferBlockV1()
        outputs = [block.run(value, 3, False)["output"] for value in "abcd"]
        assert outputs == [["a"], ["b", "a"], ["c", "b", "a"], ["d", "c", "b"]]

    def test_pad_fills_up(self) -> None:
        """With padding the list has its full length from the start."""
        block = BufferBlockV1()
        outputs = [block.run(value, 3, True)["output"] for value in "ab"]
        assert outputs == [["a", None, None], ["b", "a", None]]

    def test_earlier_lists_do_not_change(self) -> None:
        """A list that was handed out stays as it is when more values come."""
        block = BufferBlockV1()
        first = block.run("a", 2, True)["output"]
        block.run("b", 2, True)
        assert first == ["a", None]

    def test_length_that_takes_all_memory(self) -> None:
        """A list that no machine could make anew each run is refused."""
        with pytest.raises(ValueError, match="`length` must be at most 1000000, got 2147483648"):
            BufferBlockV1().run("a", 2**31, True)


class TestManifest:
    @pytest.mark.parametrize("length", [0, -1])
    def test_length_is_positive(self, length: int) -> None:
        """A buffer that keeps nothing is refused."""
        with pytest.raises(ValidationError, match="keeps at least 1 value"):
            BufferManifest(type="Buffer", name="b", data="$steps.a.output", length=length)
