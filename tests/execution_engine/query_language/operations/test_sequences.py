"""Operations on lists and everything else that has elements."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from execution_engine.errors import InvalidInputTypeError, OperationError
from execution_engine.query_language.operations.sequences import MAX_JOINED_CHARACTERS

Run = Callable[..., Any]
LETTERS = ["a", "b", "a", "c", "a"]


class TestSequenceMap:
    TABLE = {"type": "SequenceMap", "lookup_table": {"a": 1, "b": 2, "c": 3}}

    def test_entries(self, run: Run) -> None:
        """Every element is replaced by its entry."""
        assert run(LETTERS, self.TABLE) == [1, 2, 1, 3, 1]
        assert run([], self.TABLE) == []

    def test_refuses(self, run: Run) -> None:
        """Missing entries, elements that cannot be looked up and values without elements fail."""
        with pytest.raises(InvalidInputTypeError, match="got 'z' of type str"):
            run(["a", "z"], self.TABLE)
        with pytest.raises(InvalidInputTypeError, match="expects a value that can be looked up"):
            run([["a"]], self.TABLE)
        with pytest.raises(InvalidInputTypeError, match=r"expects a list, got 5 of type int\."):
            run(5, self.TABLE)


class TestSequenceApply:
    UPPER = {"type": "SequenceApply", "operations": [{"type": "StringToUpperCase"}]}

    def test_chain(self, run: Run) -> None:
        """The chain runs on every element."""
        table = {"type": "LookupTable", "lookup_table": {"A": "x", "B": "y", "C": "z"}}
        operation = {"type": "SequenceApply", "operations": [{"type": "StringToUpperCase"}, table]}
        assert run(LETTERS, operation) == ["x", "y", "x", "z", "x"]

    def test_detections(self, run: Run, toy: Callable[..., Any]) -> None:
        """The elements of detections are single detections."""
        names = {
            "type": "SequenceApply",
            "operations": [{"type": "ExtractDetectionProperty", "property_name": "class_name"}],
        }
        assert run(toy([[0, 0, 1, 1], [0, 0, 2, 2]], ["cat", "dog"]), names) == ["cat", "dog"]

    def test_parameters_reach_the_chain(self, run: Run, toy: Callable[..., Any]) -> None:
        """Named parameters are known inside."""
        rename = {"type": "DetectionsRename", "class_map": "names"}
        renamed = run(
            [toy([[0, 0, 1, 1]])],
            {"type": "SequenceApply", "operations": [rename]},
            parameters={"names": {"cat": "tom"}},
        )
        assert renamed[0].names() == ["tom"]

    def test_place_of_a_failure(self, run: Run) -> None:
        """A failure inside names the place of the inner operation."""
        with pytest.raises(InvalidInputTypeError) as caught:
            run(["a", 1], self.UPPER)
        assert caught.value.context.endswith(" | <root>.operations[0].operations[0]")

    def test_refuses(self, run: Run) -> None:
        """A value without elements is an error."""
        with pytest.raises(
            InvalidInputTypeError, match="expects a list, got None of type NoneType"
        ):
            run(None, self.UPPER)


class TestSequenceLength:
    @pytest.mark.parametrize(
        ("value", "expected"),
        [(LETTERS, 5), ("abc", 3), ({"a": 1}, 1), ((), 0), (np.zeros((4, 2)), 4)],
    )
    def test_values(self, run: Run, value: Any, expected: int) -> None:
        """Elements, characters, entries and rows are counted."""
        assert run(value, {"type": "SequenceLength"}) == expected

    def test_detections(self, run: Run, toy: Callable[..., Any]) -> None:
        """The number of detections comes from their codec."""
        assert run(toy([[0, 0, 1, 1]] * 3), {"type": "SequenceLength"}) == 3

    def test_refuses(self, run: Run) -> None:
        """A number has no length."""
        with pytest.raises(InvalidInputTypeError, match="expects something with elements, got 5"):
            run(5, {"type": "SequenceLength"})


class TestSequenceElementsCount:
    def test_counts_texts(self, run: Run) -> None:
        """Elements are counted by their text, in the order they first occur."""
        assert run(LETTERS, {"type": "SequenceElementsCount"}) == {"a": 3, "b": 1, "c": 1}
        assert run([1, "1", None], {"type": "SequenceElementsCount"}) == {"1": 2, "None": 1}
        assert run([], {"type": "SequenceElementsCount"}) == {}

    def test_refuses(self, run: Run) -> None:
        """A value without elements is an error."""
        with pytest.raises(InvalidInputTypeError, match="expects a list"):
            run(1.5, {"type": "SequenceElementsCount"})


class TestSequenceJoin:
    @pytest.mark.parametrize(
        ("value", "separator", "expected"),
        [(LETTERS, None, "a, b, a, c, a"), (["a"], None, "a"), ([], None, ""), ([1, 2], "|", "1|2"),
         (["a", "b"], "", "ab")],
    )  # fmt: skip
    def test_values(self, run: Run, value: Any, separator: str | None, expected: str) -> None:
        """Texts of elements are joined, by default with a comma and a space."""
        given = {} if separator is None else {"separator": separator}
        assert run(value, {"type": "SequenceJoin", **given}) == expected

    def test_limit(self, run: Run) -> None:
        """The longest text allowed passes, one character more does not."""
        longest = ["a" * (MAX_JOINED_CHARACTERS - 3), "b"]
        assert len(run(longest, {"type": "SequenceJoin"})) == MAX_JOINED_CHARACTERS
        with pytest.raises(OperationError, match="the text has more than 1000000 characters"):
            run([*longest, ""], {"type": "SequenceJoin"})

    def test_refuses(self, run: Run) -> None:
        """A number has no elements."""
        with pytest.raises(InvalidInputTypeError, match="expects a list, got 123"):
            run(123, {"type": "SequenceJoin"})


class TestNumericSequenceAggregate:
    @pytest.mark.parametrize(("function", "expected"), [("min", 1), ("max", 3), ("sum", 8)])
    def test_functions(self, run: Run, function: str, expected: int) -> None:
        """A list of numbers becomes one number."""
        operation = {"type": "NumericSequenceAggregate", "function": function}
        assert run([1, 2, 1, 3, 1], operation) == expected
        got = run(np.array([1, 2, 1, 3, 1]), operation)
        assert (got, type(got)) == (expected, int)

    def test_neutral_value(self, run: Run) -> None:
        """No numbers give the neutral value, by default none."""
        operation = {"type": "NumericSequenceAggregate", "function": "max"}
        assert run([], operation) is None
        assert run([], {**operation, "neutral_value": 0}) == 0

    @pytest.mark.parametrize("value", [5, None, [1, "a"], [None], [10**400, 0.5]])
    def test_refuses(self, run: Run, value: Any) -> None:
        """What is no list of numbers, or cannot be added, is an error."""
        with pytest.raises(
            InvalidInputTypeError, match=r"NumericSequenceAggregate at .* expects a list"
        ):
            run(value, {"type": "NumericSequenceAggregate", "function": "sum"})


class TestSequenceAggregate:
    @pytest.mark.parametrize(
        ("mode", "expected"),
        [("first", "b"), ("last", "c"), ("most_common", "b"), ("least_common", "c")],
    )
    def test_modes(self, run: Run, mode: str, expected: str) -> None:
        """The element of the mode is picked."""
        assert run(["b", "b", "c"], {"type": "SequenceAggregate", "mode": mode}) == expected

    def test_ties(self, run: Run) -> None:
        """Of equally frequent elements the first is the most and the last the least frequent."""
        assert run(["b", "a", "c"], {"type": "SequenceAggregate", "mode": "most_common"}) == "b"
        assert run(LETTERS, {"type": "SequenceAggregate", "mode": "least_common"}) == "c"

    def test_detections(self, run: Run, toy: Callable[..., Any]) -> None:
        """The first and the last detection can be picked, a most common one cannot."""
        detections = toy([[0, 0, 1, 1]] * 3, ["a", "b", "c"])
        first = run(detections, {"type": "SequenceAggregate", "mode": "first"})
        last = run(detections, {"type": "SequenceAggregate", "mode": "last"})
        assert (first.names(), last.names()) == (["a"], ["c"])
        for value, mode in [(detections, "most_common"), (toy([]), "first")]:
            with pytest.raises(InvalidInputTypeError, match="got a value of type ToyDetections"):
                run(value, {"type": "SequenceAggregate", "mode": mode})

    @pytest.mark.parametrize("value", [[], "", 5])
    def test_empty(self, run: Run, value: Any) -> None:
        """Nothing can be picked of no elements."""
        with pytest.raises(InvalidInputTypeError, match=r"SequenceAggregate at .* expects a list"):
            run(value, {"type": "SequenceAggregate", "mode": "first"})

    def test_uncountable(self, run: Run) -> None:
        """Elements that cannot be counted have no most common one."""
        with pytest.raises(
            InvalidInputTypeError, match="expects a list of values that can be counted"
        ):
            run([["a"]], {"type": "SequenceAggregate", "mode": "most_common"})
