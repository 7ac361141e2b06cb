"""Filling of `{{ $parameters.name }}` places."""

from __future__ import annotations

from typing import Any

import pytest

from blocks.formatters.message_template import fill_message


class TestFillMessage:
    @pytest.mark.parametrize(
        ("text", "expected"),
        [
            ("no places", "no places"),
            ("n = {{ $parameters.n }}", "n = 3"),
            ("{{$parameters.n}}{{   $parameters.n   }}", "33"),
            ("{{ $parameters.text }}", r"a\1b"),  # no meaning as a pattern
            ("{{ $parameters.missing }}", "{{ $parameters.missing }}"),
            ("{ $parameters.n }", "{ $parameters.n }"),
            ("{{ $parameters.none }}", "None"),
            ("{{ $parameters.nested }}", "{{ $parameters.n }}"),  # filled once only
        ],
    )
    def test_table(self, text: str, expected: str) -> None:
        """Each known place is filled with the text of its value, once."""
        values: dict[str, Any] = {
            "n": 3,
            "text": r"a\1b",
            "none": None,
            "nested": "{{ $parameters.n }}",
        }
        assert fill_message(text, values) == expected
