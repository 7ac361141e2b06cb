"""Edits of JSON text that leave everything else as it is."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from workflows.upgrading.json_text import (
    Member,
    Node,
    add_members,
    parse_places,
    rename_member,
    replace_member,
    replace_value,
)

SPACES = st.text(" \t\n\r", max_size=3)
SCALARS = st.one_of(
    st.none(), st.booleans(), st.integers(), st.floats(allow_nan=False, allow_infinity=False),
    st.text(max_size=6),
)  # fmt: skip
VALUES = st.recursive(
    SCALARS,
    lambda inner: (
        st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=4), inner, max_size=3)
    ),
    max_leaves=8,
)


def spaced(value: Any, draw: Any) -> str:
    """JSON text of a value with odd white space."""
    before, after = draw(SPACES), draw(SPACES)
    if isinstance(value, dict):
        inner = ",".join(
            f"{draw(SPACES)}{json.dumps(key)}{draw(SPACES)}:{spaced(item, draw)}"
            for key, item in value.items()
        )
        return f"{before}{{{inner}{draw(SPACES)}}}{after}"
    if isinstance(value, list):
        inner = ",".join(spaced(item, draw) for item in value)
        return f"{before}[{inner}{draw(SPACES)}]{after}"
    return f"{before}{json.dumps(value, ensure_ascii=draw(st.booleans()))}{after}"


def read(text: str, node: Node) -> Any:
    """The value of a place."""
    return json.loads(text[node.start : node.end])


def named(text: str, name: str) -> tuple[Node, Member]:
    """The outermost object and one of its members."""
    root = parse_places(text)
    member = root.member(name)
    assert member is not None
    return root, member


class TestParsePlaces:
    @settings(max_examples=150, deadline=None)
    @given(VALUES, st.data())
    def test_places(self, value: Any, data: Any) -> None:
        """At every place stands the value that a JSON reader finds there."""
        text = spaced(value, data.draw)
        self.compare(text, parse_places(text), value)

    def compare(self, text: str, node: Node, value: Any) -> None:
        assert read(text, node) == value
        if isinstance(value, dict):
            assert [one.name for one in node.members] == list(value)
            for member in node.members:
                assert json.loads(text[member.start : member.name_end]) == member.name
                self.compare(text, member.value, value[member.name])
        elif isinstance(value, list):
            assert len(node.items) == len(value)
            for item, inner in zip(node.items, value, strict=True):
                self.compare(text, item, inner)

    def test_byte_order_mark(self) -> None:
        """A byte order mark is no part of a value."""
        text = '\ufeff{"a": 1}'
        assert read(text, parse_places(text)) == {"a": 1}

    @pytest.mark.parametrize("text", ["", "{", '{"a": 1,}', "[1 2]", "nope", "[" * 100_000])
    def test_no_json(self, text: str) -> None:
        """What is no JSON is a ValueError."""
        with pytest.raises(ValueError, match=r"."):
            parse_places(text)

    def test_repeated_names(self) -> None:
        """The last of several members of one name counts, as for JSON readers."""
        text = '{"a": 1, "a": 2}'
        assert read(text, named(text, "a")[1].value) == 2


class TestReplaceValue:
    def test_the_rest_stays(self) -> None:
        """Only the value changes."""
        text = '{ "a" :\t[1,\r\n2], "b": "é" }\n'
        assert replace_value(text, named(text, "a")[1], "7") == '{ "a" :\t7, "b": "é" }\n'


class TestRenameMember:
    def test_the_rest_stays(self) -> None:
        """Only the name changes."""
        text = '{"a" : 1}'
        assert rename_member(text, named(text, "a")[1], 'ü"') == '{"ü\\"" : 1}'


class TestReplaceMember:
    @pytest.mark.parametrize(
        ("text", "name", "expected"),
        [
            ('{"a": 1, "b": 2, "c": 3}', "a", '{"b": 2, "c": 3}'),
            ('{"a": 1, "b": 2, "c": 3}', "b", '{"a": 1, "c": 3}'),
            ('{"a": 1, "b": 2, "c": 3}', "c", '{"a": 1, "b": 2}'),
            ('{ "a": 1 }', "a", "{}"),
            ('{\r\n  "a": 1,\r\n  "b": 2\r\n}', "b", '{\r\n  "a": 1\r\n}'),
            ('{\n  "a": 1,\n  "b": 2\n}', "a", '{\n  "b": 2\n}'),
            ('{"a": 1,"b": 2\n, "c": 3}', "b", '{"a": 1,"c": 3}'),
        ],
    )
    def test_remove(self, text: str, name: str, expected: str) -> None:
        """A member goes with its comma; lines that stay do not change."""
        root, member = named(text, name)
        assert replace_member(text, root, member, []) == expected

    @pytest.mark.parametrize(
        ("text", "expected"),
        [
            ('{"a": 1, "b": 2}', '{"a": 1, "x": 7, "y": 8}'),
            (
                '{\r\n\t"a" : 1,\r\n\t"b" : 2\r\n}',
                '{\r\n\t"a" : 1,\r\n\t"x" : 7,\r\n\t"y" : 8\r\n}',
            ),
            ('{"b":2,"a":1}', '{"x":7,"y":8,"a":1}'),
            ('{\n  "b": 2\n}', '{\n  "x": 7,\n  "y": 8\n}'),
        ],
    )
    def test_replace(self, text: str, expected: str) -> None:
        """Others come in its place, in the style of the object."""
        root, member = named(text, "b")
        assert replace_member(text, root, member, [("x", "7"), ("y", "8")]) == expected

    @settings(max_examples=100, deadline=None)
    @given(st.dictionaries(st.text(max_size=4), VALUES, min_size=1, max_size=5), st.data())
    def test_as_a_dictionary(self, value: dict[str, Any], data: Any) -> None:
        """Removing, replacing and adding do to the text what they do to a dictionary."""
        text = spaced(value, data.draw)
        name = data.draw(st.sampled_from(list(value)))
        root, member = named(text, name)
        removed = {key: item for key, item in value.items() if key != name}
        assert json.loads(replace_member(text, root, member, [])) == removed
        replaced = replace_member(text, root, member, [("new name", "[1]")])
        pairs = [("new name", [1]) if key == name else (key, value[key]) for key in value]
        assert json.loads(replaced, object_pairs_hook=list) == json.loads(
            json.dumps(dict(pairs)), object_pairs_hook=list
        )
        added = add_members(text, root, [("new name", '"x"')])
        assert list(json.loads(added).items()) == [*value.items(), ("new name", "x")]


class TestAddMembers:
    def test_style(self) -> None:
        """New members stand as those before them."""
        text = '{\n    "a": 1,\n    "b": [\n    ]\n}\n'
        root = parse_places(text)
        expected = '{\n    "a": 1,\n    "b": [\n    ],\n    "c": true\n}\n'
        assert add_members(text, root, [("c", "true")]) == expected

    def test_an_empty_object(self) -> None:
        """An empty object shows no style."""
        with pytest.raises(ValueError, match="shows no style"):
            add_members("{}", parse_places("{}"), [("a", "1")])
