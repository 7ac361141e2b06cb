"""Operations on text."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from execution_engine.errors import InvalidInputTypeError, OperationError
from execution_engine.kinds.codec import CodecRegistry
from execution_engine.query_language import Operation, compile_operations

Run = Callable[..., Any]
NOT_TEXT: list[Any] = [5, None, ["a"], {"a": 1}, b"a"]


class TestCase:
    @pytest.mark.parametrize(
        ("text", "lower", "upper"),
        [("AbCd12", "abcd12", "ABCD12"), ("", "", ""), ("Éa9", "éa9", "ÉA9")],
    )
    def test_values(self, run: Run, text: str, lower: str, upper: str) -> None:
        """Text is turned into lower or upper case, accents included."""
        assert run(text, {"type": "StringToLowerCase"}) == lower
        assert run(text, {"type": "StringToUpperCase"}) == upper

    @pytest.mark.parametrize("value", NOT_TEXT)
    @pytest.mark.parametrize("name", ["StringToLowerCase", "StringToUpperCase"])
    def test_refuses(self, run: Run, name: str, value: Any) -> None:
        """Anything but text is refused; the message says what, where, expected and got."""
        with pytest.raises(InvalidInputTypeError) as caught:
            run(value, {"type": name})
        assert caught.value.public_message == (
            f"{name} at <root>.operations[0] expects text,"
            f" got {value!r} of type {type(value).__name__}."
        )


class TestStringSubSequence:
    @pytest.mark.parametrize(
        ("bounds", "expected"),
        [
            ({}, "AbCd1"),
            ({"start": 1, "end": 4}, "bCd"),
            ({"start": -3, "end": -1}, "d1"),
            ({"start": 3}, "d1"),
            ({"start": 9, "end": 20}, ""),
        ],
    )
    def test_slices(self, run: Run, bounds: dict[str, int], expected: str) -> None:
        """The part is Python's slice; the default drops the last character."""
        assert run("AbCd12", {"type": "StringSubSequence", **bounds}) == expected

    def test_other_sequences(self, run: Run) -> None:
        """Lists can be cut as well, numbers cannot."""
        assert run([1, 2, 3], {"type": "StringSubSequence"}) == [1, 2]
        with pytest.raises(InvalidInputTypeError, match="expects text, got 5 of type int"):
            run(5, {"type": "StringSubSequence"})


class TestStringMatches:
    @pytest.mark.parametrize(
        ("text", "regex", "expected"),
        [("AbCd12", "^[A-Z]b", True), ("AbCd12", r"\d{2,}", True), ("Éa9", r"\d{2,}", False),
         ("xxab", "ab", True), ("", "", True)],
    )  # fmt: skip
    def test_searches(self, run: Run, text: str, regex: str, expected: bool) -> None:
        """The expression may match anywhere in the text."""
        assert run(text, {"type": "StringMatches", "regex": regex}) is expected

    @pytest.mark.parametrize("value", NOT_TEXT)
    def test_refuses(self, run: Run, value: Any) -> None:
        """Anything but text is refused."""
        with pytest.raises(InvalidInputTypeError, match=r"StringMatches at .* expects text"):
            run(value, {"type": "StringMatches", "regex": "a"})

    def test_broken_expression(self, codecs: CodecRegistry) -> None:
        """A definition made in code with a broken expression fails when it is compiled."""
        with pytest.raises(OperationError, match=r"'\(' is no regular expression"):
            compile_operations([Operation("StringMatches", {"regex": "("})], codecs)
