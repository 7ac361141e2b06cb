"""Searching with any expression: Python's answer where Python can give it soon, in bounded time."""

from __future__ import annotations

import re
import time

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from execution_engine.query_language.bounded_search import (
    SearchTooLongError,
    _Automaton,
    _parser,
    compile_expression,
)

SIMPLE = st.sampled_from(
    ["a", "b", "c", ".", r"\w", r"\d", "[ab]", "[^a]", r"\s", "é", "^", "$", r"\b", "(?i:A)",
     "(?=a)", "(?!b)", "(?<=a)", r"\Z", ""]
)  # fmt: skip
EXPRESSIONS = st.recursive(
    SIMPLE,
    lambda inner: (
        st.lists(inner, min_size=1, max_size=3).map("".join)
        | st.lists(inner, min_size=2, max_size=3).map(lambda parts: f"({'|'.join(parts)})")
        | st.tuples(inner, st.sampled_from(["*", "+", "?", "{2}", "{1,3}", "*?", "{0,2}?"])).map(
            lambda pair: f"(?:{pair[0]}){pair[1]}"
        )
    ),
    max_leaves=6,
)
TEXTS = st.text("abcAé1 \n", max_size=8)


class TestCompileExpression:
    @given(EXPRESSIONS, TEXTS, st.sampled_from([0, re.I, re.M, re.S]))
    @settings(max_examples=150, deadline=None, derandomize=True)
    def test_the_automaton_agrees_with_python(self, expression: str, text: str, flags: int) -> None:
        """Following all alternatives side by side finds what Python finds."""
        tree = _parser.parse(expression, flags)
        expected = re.search(expression, text, flags) is not None
        assert _Automaton(tree).found_in(text) is expected

    @pytest.mark.parametrize(
        ("expression", "text", "expected"),
        [
            ("car|truck", "a truck", True),
            (r"^\d{3}-\d{4}$", "555-1234", True),
            (r"^\d{3}-\d{4}$", "555-12345", False),
            (r"(\w)\1", "letter", True),
            (r"(?i)STOP", "Please stop", True),
            ("", "", True),
        ],
    )
    def test_usual_searches(self, expression: str, text: str, expected: bool) -> None:
        """Short texts, and back references in them, are searched as ever."""
        assert compile_expression(expression)(text) is expected

    @pytest.mark.parametrize(
        ("expression", "text", "expected"),
        [
            (r"(a+)+$", "a" * 3_000 + "!", False),
            (r"(a|a)*b", "a" * 10_000, False),
            (r"(.*)*x", "y" * 50_000, False),
            (r"(\w+\s?)*!", "word " * 5_000, False),
            (r"a.*b.*c.*d", "abc" * 10_000, False),
            (r"(a?){30}a{30}", "a" * 30, True),
            (r"(x+x+)+y", "x" * 5_000 + "y", True),
        ],
    )
    def test_expressions_that_explode(self, expression: str, text: str, expected: bool) -> None:
        """What takes Python for ever is answered soon, and rightly."""
        started = time.monotonic()
        assert compile_expression(expression)(text) is expected
        assert time.monotonic() - started < 20.0

    @pytest.mark.parametrize(
        ("expression", "text"),
        [
            (r"(\w+)+\1+$", "a" * 10_000),
            (r"((?:a{1,1000}){1,1000}){1,1000}b", "a" * 10_000),
            (r"(?>a+)+b", "a" * 10_000),
            (r"(a+)+b", "a" * 5_000_000),
        ],
    )
    def test_what_cannot_be_bounded_is_refused(self, expression: str, text: str) -> None:
        """On a long text, an expression that cannot be followed side by side is an error."""
        with pytest.raises(SearchTooLongError):
            compile_expression(expression)(text)

    @pytest.mark.parametrize(
        ("expression", "reason"),
        [
            ("(", "missing \\), unterminated subpattern"),
            ("a{99999999999}", "too large"),
            ("(" * 3_000 + ")" * 3_000, "nested too deep"),
            ("a" * 10_001, "longer than 10000 characters"),
        ],
    )
    def test_what_is_no_expression(self, expression: str, reason: str) -> None:
        """All faults of an expression are one kind of error."""
        with pytest.raises(re.error, match=reason):
            compile_expression(expression)
