"""Operations on values of any type."""

from __future__ import annotations

import json
import random
from collections.abc import Callable
from datetime import UTC, date, datetime
from typing import Any

import numpy as np
import pytest

from execution_engine.errors import InvalidInputTypeError, OperationError

Run = Callable[..., Any]


class TestToString:
    @pytest.mark.parametrize("value", [1, 1.5, True, None, "a", [1, "b"], {"a": 1}])
    def test_is_str(self, run: Run, value: Any) -> None:
        """The text is Python's `str`."""
        assert run(value, {"type": "ToString"}) == str(value)


class TestToBoolean:
    @pytest.mark.parametrize(
        ("value", "expected"),
        [(0, False), (1, True), ("", False), ("False", True), ([], False), ([0], True),
         (None, False),         (0.0, False), (np.float32(0.5), True)],
    )  # fmt: skip
    def test_is_bool(self, run: Run, value: Any, expected: bool) -> None:
        """The truth is Python's `bool`."""
        assert run(value, {"type": "ToBoolean"}) is expected

    def test_detections(self, run: Run, toy: Callable[..., Any]) -> None:
        """Detections are true when there are any."""
        assert run(toy([]), {"type": "ToBoolean"}) is False
        assert run(toy([[0, 0, 1, 1]]), {"type": "ToBoolean"}) is True

    def test_refuses(self, run: Run) -> None:
        """An array of several values is neither."""
        with pytest.raises(InvalidInputTypeError, match="got a value of type ndarray"):
            run(np.array([1, 0]), {"type": "ToBoolean"})


class TestLookupTable:
    TABLE = {"type": "LookupTable", "lookup_table": {"ab": "AB!", "": "nil", "é": 5}}

    def test_entries(self, run: Run) -> None:
        """A value is replaced by its entry, whatever type that has."""
        assert run("ab", self.TABLE) == "AB!"
        assert run("", self.TABLE) == "nil"
        assert run("é", self.TABLE) == 5

    def test_missing_entry(self, run: Run) -> None:
        """A value without entry is an error that names it and the entries."""
        with pytest.raises(InvalidInputTypeError) as caught:
            run("x", self.TABLE)
        assert caught.value.public_message == (
            "LookupTable at <root>.operations[0] expects one of the table's entries"
            " (['ab', '', 'é'] of type list), got 'x' of type str."
        )

    def test_value_that_cannot_be_looked_up(self, run: Run) -> None:
        """A list cannot be looked up."""
        with pytest.raises(InvalidInputTypeError, match="expects a value that can be looked up"):
            run(["a"], self.TABLE)


class TestRandomNumber:
    def test_bounds(self, run: Run) -> None:
        """Numbers lie between the bounds, whatever the input is."""
        drawn = [
            run(None, {"type": "RandomNumber", "min_value": 2, "max_value": 3}) for _ in range(50)
        ]
        assert all(2 <= number <= 3 for number in drawn)
        assert len(set(drawn)) > 1
        assert run("x", {"type": "RandomNumber", "min_value": 4, "max_value": 4}) == 4

    def test_follows_the_seed(self, run: Run) -> None:
        """Numbers come from Python's `random`."""
        random.seed(7)
        first = run(None, {"type": "RandomNumber"})
        random.seed(7)
        assert run(None, {"type": "RandomNumber"}) == first


class TestConvertDictionaryToJSON:
    def test_round_trip(self, run: Run) -> None:
        """The text is that of `json.dumps`."""
        data = {"a": [1, 2.5, None], "b": {"c": "é"}}
        text = run(data, {"type": "ConvertDictionaryToJSON"})
        assert text == '{"a": [1, 2.5, null], "b": {"c": "\\u00e9"}}'
        assert json.loads(text) == data

    def test_refuses(self, run: Run) -> None:
        """Only objects are taken, and only with what JSON can hold."""
        with pytest.raises(
            InvalidInputTypeError, match="expects an object, got 'some' of type str"
        ):
            run("some", {"type": "ConvertDictionaryToJSON"})
        with pytest.raises(OperationError, match="the object does not fit JSON"):
            run({"some": {"a", "b"}}, {"type": "ConvertDictionaryToJSON"})


class TestTimestampToISOFormat:
    def test_text(self, run: Run) -> None:
        """A moment or a day becomes ISO-8601 text."""
        moment = datetime(2026, 1, 1, 0, 0, 1, 40000, tzinfo=UTC)
        assert run(moment, {"type": "TimestampToISOFormat"}) == "2026-01-01T00:00:01.040000+00:00"
        assert run(date(2026, 1, 1), {"type": "TimestampToISOFormat"}) == "2026-01-01"

    def test_refuses(self, run: Run) -> None:
        """Text is no timestamp."""
        with pytest.raises(InvalidInputTypeError, match="expects a timestamp"):
            run("2026-01-01", {"type": "TimestampToISOFormat"})
