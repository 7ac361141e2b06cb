"""JSON in the text of language models."""

from __future__ import annotations

import time
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from blocks.formatters.model_json import find_json


class TestFindJson:
    @pytest.mark.parametrize(
        ("text", "expected"),
        [
            ('{"a": 1}', {"a": 1}),
            (' [{"a": 1}]\n', [{"a": 1}]),
            ("[]", []),
            ('```json\n{"a": 1}\n```', {"a": 1}),
            ('```json{"a": 1}```', {"a": 1}),
            ('```\n[{"a": 1}]\n```', [{"a": 1}]),
            ('```json\n{"a": 1}\n```\n```json\n{"a": 2}\n```', {"a": 1}),
            ('```json\n{"a": 1}', {"a": 1}),  # a fence that is not closed
            ('{"a": 1}\n```', {"a": 1}),  # one that was never opened
            ('Sure! {"a": "ü {"} Hope it helps.', {"a": "ü {"}),
            ('I see [two cats]: {"a": 1}', {"a": 1}),
            ('As in [1, 2], {"a": 1}', {"a": 1}),
            ('Here: [{"a": 1}] and {"a": 2}', [{"a": 1}]),
            ('{"a": 1}\n{"a": 2}', [{"a": 1}, {"a": 2}]),  # JSON lines
            ('{"a": 1}, {"a": 2}', [{"a": 1}, {"a": 2}]),
        ],
    )
    def test_found(self, text: str, expected: Any) -> None:
        """JSON alone, fenced and between words."""
        assert find_json(text) == expected

    @pytest.mark.parametrize(
        "text",
        [
            "",
            "no",
            "5",
            "null",
            '"text"',
            '{"a": [{"b": 1}, {"b": 2',  # cut off: what is inside is not the answer
            '{"a": [{"b": 1}, ]}',
            "```json\nbroken\n```",
            "[" * 100_000,
            '{"a":' * 100_000,
            '{"a": ' + "[" * 300 + "]" * 300 + "}",
        ],
    )
    def test_nothing(self, text: str) -> None:
        """Text without JSON, with a part of it, or with such that is nested too deep."""
        assert find_json(text) is None

    @pytest.mark.parametrize("part", ["[a ", "{ ", '["', '{"', "[1,", '{"a": 1 ', "```json {"])
    def test_time(self, part: str) -> None:
        """Long texts of brackets take no longer than others."""
        started = time.process_time()
        find_json(part * (1_000_000 // len(part)))
        assert time.process_time() - started < 5

    @given(st.text(max_size=60))
    def test_any_text(self, text: str) -> None:
        """Nothing is raised."""
        assert find_json(text) is None or isinstance(find_json(text), (dict, list))
