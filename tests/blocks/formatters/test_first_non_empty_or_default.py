"""`first_non_empty_or_default@v1`."""

from __future__ import annotations

from typing import Any

import pytest

from blocks.formatters.first_non_empty_or_default.v1 import FirstNonEmptyOrDefaultBlockV1


class TestRun:
    @pytest.mark.parametrize(
        ("data", "expected"),
        [
            ([None, 2, 3], 2),
            ([None, None], "default"),
            ([0, 1], 0),  # empty means None, not false
            ([None, ""], ""),
            ([[], 1], []),
            ([None, False, True], False),
        ],
    )
    def test_table(self, data: list[Any], expected: Any) -> None:
        """The first value that is not None is taken."""
        assert FirstNonEmptyOrDefaultBlockV1().run(data, "default") == {"output": expected}
