"""Operations on numbers."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from execution_engine.errors import InvalidInputTypeError

Run = Callable[..., Any]


class TestToNumber:
    @pytest.mark.parametrize(
        ("value", "cast_to", "expected"),
        [("12", "int", 12), ("12.9", "int", 12), ("-3.5", "int", -3), ("1e3", "int", 1000),
         ("12", "float", 12.0), ("1e3", "float", 1000.0), (True, "float", 1.0), (7, "int", 7),
         (2**60 + 1, "int", 2**60 + 1), (np.float32(2.5), "int", 2), (" 3 ", "int", 3)],
    )  # fmt: skip
    def test_values(self, run: Run, value: Any, cast_to: str, expected: float) -> None:
        """Text and numbers become floats, and whole numbers by cutting the fraction off."""
        got = run(value, {"type": "ToNumber", "cast_to": cast_to})
        assert (got, type(got)) == (expected, type(expected))

    @pytest.mark.parametrize("value", ["not a number", "", None, [1], "nan", "inf"])
    def test_refuses(self, run: Run, value: Any) -> None:
        """What is no finite number cannot become a whole number."""
        with pytest.raises(InvalidInputTypeError, match="expects a number or the text of one"):
            run(value, {"type": "ToNumber", "cast_to": "int"})


class TestNumberRound:
    @pytest.mark.parametrize(
        ("value", "digits", "expected"),
        [
            (1.2345, 2, 1.23),
            (2.5, 0, 2.0),
            (3.5, 0, 4.0),
            (1234, -2, 1200),
            (np.float32(0.5), 0, 0.0),
        ],
    )
    def test_rounds(self, run: Run, value: Any, digits: int, expected: float) -> None:
        """Rounding is Python's: halves go to the even neighbour."""
        assert run(value, {"type": "NumberRound", "decimal_digits": digits}) == expected

    @pytest.mark.parametrize("value", ["1.5", None, [1.5]])
    def test_refuses(self, run: Run, value: Any) -> None:
        """Only numbers are rounded."""
        with pytest.raises(InvalidInputTypeError, match=r"NumberRound at .* expects a number"):
            run(value, {"type": "NumberRound", "decimal_digits": 1})


class TestMultiply:
    @pytest.mark.parametrize(
        ("value", "other", "expected"),
        [(3, 2, 6), (3, 0.5, 1.5), (True, 4, 4), (np.int64(3), 2, 6)],
    )
    def test_values(self, run: Run, value: Any, other: float, expected: float) -> None:
        """Numbers are multiplied and come out as plain Python numbers."""
        got = run(value, {"type": "Multiply", "other": other})
        assert (got, type(got)) == (expected, type(expected))

    @pytest.mark.parametrize("value", ["ab", [1], None, (1, 2)])
    def test_refuses(self, run: Run, value: Any) -> None:
        """Text and lists are not repeated."""
        with pytest.raises(InvalidInputTypeError, match="expects a number"):
            run(value, {"type": "Multiply", "other": 3})

    def test_too_large(self, run: Run) -> None:
        """A whole number too large for a float is refused, not a crash."""
        with pytest.raises(InvalidInputTypeError, match="of a size that can be multiplied"):
            run(10**400, {"type": "Multiply", "other": 0.5})


class TestDivide:
    def test_values(self, run: Run) -> None:
        """Division gives a float."""
        assert run(3, {"type": "Divide", "other": 2}) == 1.5

    @pytest.mark.parametrize("value", [1, 1.0, np.float32(1), 0])
    def test_by_zero(self, run: Run, value: Any) -> None:
        """Division by zero is refused, for NumPy numbers as well."""
        with pytest.raises(
            InvalidInputTypeError, match="expects a number that can be divided by 0"
        ):
            run(value, {"type": "Divide", "other": 0})

    def test_refuses(self, run: Run) -> None:
        """Only numbers are divided."""
        with pytest.raises(InvalidInputTypeError, match="expects a number, got '4' of type str"):
            run("4", {"type": "Divide", "other": 2})
