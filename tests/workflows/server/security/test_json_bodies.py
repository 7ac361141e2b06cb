"""Reading JSON under limits, with the json module as the oracle."""

from __future__ import annotations

import json
import time
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from workflows.server.faults import BodyTooLargeError, InvalidRequestError, RequestFault
from workflows.server.security.json_bodies import _outline, parse_json

TEXT = st.text(st.characters(codec="utf-8"), max_size=12) | st.sampled_from(
    ['"', "\\", '\\"', '[{"', "a:b,c", "}}]]", "\n", "é", "\\\\"]
)
VALUES = st.recursive(
    st.none() | st.booleans() | st.integers(-(2**53), 2**53) | TEXT,
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(TEXT, inner, max_size=4),
    max_leaves=20,
)


def depth_of(value: Any) -> int:
    if isinstance(value, dict):
        return 1 + max(map(depth_of, value.values()), default=0)
    if isinstance(value, list):
        return 1 + max(map(depth_of, value), default=0)
    return 0


def members_of(value: Any) -> int:
    if isinstance(value, dict):
        return len(value) + sum(map(members_of, value.values()))
    return sum(map(members_of, value)) if isinstance(value, list) else 0


def refused(body: bytes, max_nesting: int, max_values: int) -> bool:
    """Whether a text is refused; anything else that is raised fails the test."""
    try:
        parse_json(body, max_nesting, max_values)
    except RequestFault as fault:
        return fault.status in (400, 413)
    return False


class TestParseJson:
    @given(VALUES, st.booleans(), st.sampled_from([None, 1]))
    @settings(max_examples=80, deadline=None, derandomize=True)
    def test_valid_texts(self, value: Any, ascii_only: bool, indent: int | None) -> None:
        """Whatever json writes is read back, and its depth is seen as it is."""
        body = json.dumps(value, ensure_ascii=ascii_only, indent=indent).encode()
        assert parse_json(body, 100, 1000) == value
        assert _outline(body)[0] == depth_of(value)

    @given(VALUES)
    @settings(max_examples=50, deadline=None, derandomize=True)
    def test_the_depth_is_exact(self, value: Any) -> None:
        """The limit holds to the level, brackets in texts do not count."""
        body, depth = json.dumps(value).encode(), depth_of(value)
        if depth:
            assert parse_json(body, depth, 1000) == value
            with pytest.raises(InvalidRequestError, match=f"more than {depth - 1} levels"):
                parse_json(body, depth - 1, 1000)

    @given(st.dictionaries(TEXT, VALUES, min_size=1, max_size=4), st.data())
    @settings(max_examples=50, deadline=None, derandomize=True)
    def test_repeated_members(self, value: dict[str, Any], data: Any) -> None:
        """A member that comes twice is found wherever it is and however it is written."""
        name = data.draw(st.sampled_from(sorted(value)))
        text = json.dumps(value)[:-1] + f", {json.dumps(name, ensure_ascii=False)}: 1" + "}"
        body = f'{{"x": ["a:b", {text}]}}'.encode()
        with pytest.raises(InvalidRequestError, match="twice"):
            parse_json(body, 100, 1000)

    @given(st.binary(max_size=40) | st.text('[]{}",:\\ 1eE+-.tfn', max_size=40).map(str.encode))
    @settings(max_examples=150, deadline=None, derandomize=True)
    def test_any_bytes(self, body: bytes) -> None:
        """Only our own refusals come out."""
        refused(body, 10, 20)

    @pytest.mark.parametrize(
        "body",
        [b"[" * 3_000_000, b"[]," * 1_000_000, b'["",' * 700_000, b'{"a":' * 500_000,
         b'"' * 3_000_000, b"\\" * 3_000_000, b'["' + b"[" * 3_000_000 + b'"]'],
        ids=["nesting", "lists", "texts", "objects", "quotes", "backslashes", "brackets in text"],
    )  # fmt: skip
    def test_bombs_cost_little(self, body: bytes) -> None:
        """No three megabytes take longer than some seconds, and none raises anything else."""
        started = time.monotonic()
        refused(body, 64, 100_000)
        assert time.monotonic() - started < 10.0

    def test_too_many_values(self) -> None:
        """Values, members and elements count."""
        assert len(parse_json(b"[" + b"1," * 98 + b"1]", 10, 100)) == 99
        with pytest.raises(BodyTooLargeError, match="more than 100 values"):
            parse_json(b"[" + b"1," * 100 + b"1]", 10, 100)
