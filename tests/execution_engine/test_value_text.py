from __future__ import annotations

from typing import Any

import pytest

from execution_engine.value_text import short_text


class TestShortText:
    @pytest.mark.parametrize(
        ("value", "text"),
        [
            (3, "3"),
            (-(10**30), "-1" + 30 * "0"),
            (10**400, "a whole number of about 401 digits"),
            (-(10**5000), "a negative whole number of about 5001 digits"),
            ("abc", "'abc'"),
            ("a" * 60, "'" + 56 * "a" + "..."),
            ([1, 10**5000], "list with a number of thousands of digits"),
            (float("nan"), "nan"),
            (None, "None"),
        ],
        ids=range(9),
    )
    def test_texts(self, value: Any, text: str) -> None:
        """Values as Python writes them; long ones are cut, and numbers of many digits counted."""
        assert short_text(value) == text
