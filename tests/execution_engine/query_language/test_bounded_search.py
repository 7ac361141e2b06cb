"""Regular expressions of strangers: the same answers as Python's `re`, in bounded time."""

from __future__ import annotations

import re
import time
from re import _parser  # type: ignore[attr-defined]

import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from execution_engine.query_language.bounded_search import (
    LONGEST_EXPRESSION,
    SearchTooLongError,
    _Automaton,
    compile_expression,
)

ATOMS = st.sampled_from(
    ["a", "b", "ab", ".", r"\w", r"\d", "[ab]", "[^a]", r"\b", "^", "$", "(?i:A)", r"\s", r"\B", ""]
)
REPEATS = st.sampled_from(["*", "+", "?", "{2}", "{0,2}", "{1,}", "*?", "+?", "??"])
EXPRESSIONS = st.recursive(
    ATOMS,
    lambda inner: st.one_of(
        st.tuples(inner, inner).map("".join),
        st.tuples(inner, inner).map(lambda pair: f"(?:{pair[0]}|{pair[1]})"),
        st.tuples(inner, REPEATS).map(lambda pair: f"({pair[0]}){pair[1]}"),
        inner.map(lambda one: f"(?={one})"),
        inner.map(lambda one: f"(?!{one})"),
    ),
    max_leaves=6,
)
TEXTS = st.text(alphabet="abA1 \n", max_size=10)


class TestCompileExpression:
    """`compile_expression`."""

    @settings(max_examples=300, deadline=None)
    @given(EXPRESSIONS, TEXTS)
    def test_it_finds_what_python_finds(self, expression: str, text: str) -> None:
        """Whichever way a text is searched."""
        try:
            expected = re.search(expression, text) is not None
        except re.error:
            assume(False)
        assert compile_expression(expression)(text) is expected

    @settings(max_examples=500, deadline=None)
    @given(EXPRESSIONS, TEXTS)
    def test_following_all_ways_at_once_finds_the_same(self, expression: str, text: str) -> None:
        """The bounded way, which otherwise only long texts take, agrees with Python's."""
        try:
            expected = re.search(expression, text) is not None
            automaton = _Automaton(_parser.parse(expression))
        except (re.error, SearchTooLongError):
            assume(False)
        assert automaton.found_in(text) is expected

    @pytest.mark.parametrize(
        ("expression", "text", "found"),
        [
            ("^(a+)+$", "a" * 60 + "b", False),
            ("^(a|a)*$", "a" * 60 + "b", False),
            ("^(a|aa)+$", "a" * 80 + "b", False),
            (r"^(\w+\s?)*$", "word " * 40 + "!", False),
            ("(x+x+)+y", "x" * 60, False),
            ("(x+x+)+y", "x" * 60 + "y", True),
            ("^(([a-z])+.)+[A-Z]([a-z])+$", "a" * 100, False),
            ("(a*)*b", "a" * 2000, False),
            ("(.*)(.*)(.*)(.*)(.*)z", "a" * 1000, False),
        ],
    )
    def test_expressions_that_take_python_for_ever(
        self, expression: str, text: str, found: bool
    ) -> None:
        """Nested repeats on a text that nearly fits are answered, and soon."""
        start = time.monotonic()
        assert compile_expression(expression)(text) is found
        assert time.monotonic() - start < 30

    @pytest.mark.parametrize("expression", [r"(a+)\1+(\1+)+$", "^(?=(a+)+$)(a+)+b"])
    def test_what_cannot_be_bounded_is_refused(self, expression: str) -> None:
        """References back have no bounded search: a long text is refused, a short one searched."""
        search = compile_expression(expression)
        assert search("aaa") is (re.search(expression, "aaa") is not None)
        with pytest.raises(SearchTooLongError):
            search("a" * 60)

    @pytest.mark.parametrize(
        ("expression", "reason"),
        [
            ("(", "unterminated subpattern"),
            ("a" * (LONGEST_EXPRESSION + 1), "longer than 10000 characters"),
            ("(" * 4000 + ")" * 4000, "nested too deep"),
            ("a{99999999999999999999}", "too large"),
        ],
    )
    def test_what_is_no_expression(self, expression: str, reason: str) -> None:
        """One class of error tells why."""
        with pytest.raises(re.error, match=reason):
            compile_expression(expression)
