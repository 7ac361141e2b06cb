"""Operations on named values."""

from __future__ import annotations

import pytest

from blocks.formatters.named_operations import NamedOperations, check_names
from execution_engine.kinds.codec import CodecRegistry
from execution_engine.query_language import Operation

LENGTH = [Operation.parse({"type": "SequenceLength"})]
UPPER = [Operation.parse({"type": "StringToUpperCase"})]


class TestApply:
    def test_named_values_only(self) -> None:
        """Values with operations are replaced, others passed on; the input stays as it is."""
        values = {"a": [1, 2], "b": "x"}
        results = NamedOperations(CodecRegistry()).apply(values, {"a": LENGTH})
        assert results == {"a": 2, "b": "x"}
        assert values == {"a": [1, 2], "b": "x"}

    def test_other_operations_at_the_next_call(self) -> None:
        """The operations given at a call are those that run."""
        named = NamedOperations(CodecRegistry())
        assert named.apply({"a": "xy"}, {"a": LENGTH}) == {"a": 2}
        assert named.apply({"a": "xy"}, {"a": UPPER}) == {"a": "XY"}


class TestCheckNames:
    def test_known_names_pass(self) -> None:
        """Operations for names that are there, or for a field that is faulty itself, pass."""
        check_names(["a"], {"a": 1, "b": 2}, "data")
        check_names(["a"], None, "data")

    def test_unknown_names_are_told(self) -> None:
        """The error names what is unknown, the field and what it defines."""
        with pytest.raises(
            ValueError, match=r"operations for 'c', which data does not define; it defines 'a', 'b'"
        ):
            check_names(["a", "c"], {"a": 1, "b": 2}, "data")
