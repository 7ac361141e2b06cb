from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from blocks.parameters import (
    choice,
    number,
    odd_number,
    picture_size,
    positive_number,
    whole_number,
)
from execution_engine.errors import InvalidFieldValueError


class TestWholeNumber:
    @pytest.mark.parametrize("value", [3, 3.0, np.int64(3), np.float32(3)])
    def test_accepted(self, value: Any) -> None:
        """Whole numbers of any type become int."""
        result = whole_number("size", value, 1, 5)
        assert result == 3
        assert type(result) is int

    @pytest.mark.parametrize("value", [2.5, "3", None, float("nan"), float("inf"), [3]])
    def test_refused(self, value: Any) -> None:
        """Anything else is refused by field and value."""
        with pytest.raises(ValueError, match="Field `size` must be a whole number, got"):
            whole_number("size", value)

    @pytest.mark.parametrize(
        ("limits", "text"),
        [
            ((4, None), "of at least 4"),
            ((None, 2), "of at most 2"),
            ((4, 9), "from 4 to 9"),
        ],
    )
    def test_limits(self, limits: tuple[int | None, int | None], text: str) -> None:
        """The limits are part of the message."""
        with pytest.raises(ValueError) as caught:  # noqa: PT011 - the whole text is compared
            whole_number("size", 3, *limits)
        assert str(caught.value) == f"Field `size` must be a whole number {text}, got 3."


class TestPositiveNumber:
    @pytest.mark.parametrize("value", [2, 0.5, 5e-324, np.float32(2)])
    def test_accepted(self, value: Any) -> None:
        """Positive numbers of any type become float."""
        result = positive_number("scale", value, 2)
        assert result == value
        assert type(result) is float

    @pytest.mark.parametrize(
        ("value", "text"),
        [
            (0, "a number of more than 0, got 0."),
            (-1.5, "a number of more than 0, got -1.5."),
            (float("-inf"), "a number of more than 0, got -inf."),
            (3, "a number of at most 2, got 3."),
            ("1", "a number of at most 2, got '1'."),
        ],
    )
    def test_refused(self, value: Any, text: str) -> None:
        """Anything else is refused by field and value."""
        with pytest.raises(InvalidFieldValueError, match=f"Field `scale` must be {text}"):
            positive_number("scale", value, 2)


class TestPictureSize:
    def test_accepted(self) -> None:
        """Sides come back as ints, width first."""
        assert picture_size("w", 640.0, "h", 480) == (640, 480)

    @pytest.mark.parametrize(
        ("width", "height", "message"),
        [
            (0, 9, "Field `w` must be a whole number from 1 to 32767, got 0."),
            (9, 2**31, "Field `h` must be a whole number from 1 to 32767, got 2147483648."),
            (
                30000,
                30000,
                "Fields `w` and `h` ask for 30000 x 30000 px; a picture may have 178956970 px.",
            ),
        ],
    )
    def test_refused(self, width: int, height: int, message: str) -> None:
        """A picture that cannot be, or that would take all memory, is refused by field."""
        with pytest.raises(ValueError) as caught:  # noqa: PT011 - the whole text is compared
            picture_size("w", width, "h", height)
        assert str(caught.value) == message


class TestNumber:
    def test_accepted(self) -> None:
        """Limits are inclusive."""
        assert number("share", 1, 0, 1) == 1.0

    @pytest.mark.parametrize("value", [1.01, -0.1, float("nan"), "x", None])
    def test_refused(self, value: Any) -> None:
        """A number outside the limits, no number and NaN are refused."""
        with pytest.raises(ValueError, match="Field `share` must be a number from 0 to 1, got"):
            number("share", value, 0, 1)

    @pytest.mark.parametrize(
        ("value", "got"),
        [
            (10**400, "a whole number of about 401 digits"),
            (-(10**5000), "a negative whole number of about 5001 digits"),
        ],
        ids=["400", "5000"],
    )
    def test_no_float_holds_it(self, value: int, got: str) -> None:
        """A number beyond all floats is refused, and its digits are counted, not listed."""
        with pytest.raises(InvalidFieldValueError) as caught:
            number("share", value)
        assert str(caught.value) == (
            f"Field `share` must be a number of at most 1.8e+308 in size, got {got}."
        )


class TestOddNumber:
    def test_even(self) -> None:
        """An even number is refused with its neighbours."""
        with pytest.raises(ValueError, match="must be odd for a median blur, got 4; try 3 or 5"):
            odd_number("kernel_size", 4, "a median blur")


class TestChoice:
    def test_known(self) -> None:
        """An option gives what it stands for."""
        assert choice("mode", "b", {"a": 1, "b": 2}) == 2

    @pytest.mark.parametrize("value", ["c", None, 1, ["a"]])
    def test_unknown(self, value: Any) -> None:
        """Anything else is refused with the options."""
        with pytest.raises(ValueError, match="Field `mode` must be one of `a`, `b`, got"):
            choice("mode", value, {"a": 1, "b": 2})
