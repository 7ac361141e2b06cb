"""Edits JSON text in place: finds where values stand and changes only those characters, so that
formatting, order, line ends and escapes stay as the author wrote them. Knows no workflow.
"""

from __future__ import annotations

import json
import re
from collections.abc import Sequence
from dataclasses import dataclass, field
from json.decoder import scanstring  # type: ignore[attr-defined]

_SPACE = re.compile(r"[ \t\r\n]*")
_WORD = re.compile(r"[^\s,\]}:]+")
_BYTE_ORDER_MARK = "\ufeff"


@dataclass(slots=True)
class Node:
    """One value and its place in the text, `[start, end)`.

    Attributes:
        start: first character.
        end: one past the last.
        members: of an object, in order; names may repeat, as JSON allows.
        items: of a list.
    """

    start: int
    end: int = 0
    members: list[Member] = field(default_factory=list)
    items: list[Node] = field(default_factory=list)

    def member(self, name: str) -> Member | None:
        """The member that counts under a name: the last one."""
        return next((one for one in reversed(self.members) if one.name == name), None)

    def at(self, pointer: str) -> Node:
        """The node that a JSON pointer leads to from here.

        Raises:
            KeyError: it leads nowhere.
        """
        node = self
        for part in pointer.split("/")[1:]:
            if node.items:
                node = node.items[int(part)]
                continue
            member = node.member(part.replace("~1", "/").replace("~0", "~"))
            if member is None:
                raise KeyError(pointer)
            node = member.value
        return node


@dataclass(slots=True)
class Member:
    """One member of an object: its name, where the name stands, and its value."""

    name: str
    start: int
    name_end: int
    value: Node


def parse_places(text: str) -> Node:
    """The tree of a JSON text with the place of every value.

    Raises:
        ValueError: it is no JSON.
    """
    try:
        json.loads(
            text.removeprefix(_BYTE_ORDER_MARK)
        )  # whose words on a fault are the better ones
        start = 1 if text.startswith(_BYTE_ORDER_MARK) else 0
        return _value(text, _after_space(text, start))
    except RecursionError as error:
        raise ValueError("the text is nested too deep") from error


def replace_value(text: str, member: Member, value: str) -> str:
    """The text with another value of a member, given as JSON text."""
    return text[: member.value.start] + value + text[member.value.end :]


def rename_member(text: str, member: Member, name: str) -> str:
    """The text with another name of a member."""
    return text[: member.start] + _quoted(name) + text[member.name_end :]


def replace_member(
    text: str, owner: Node, member: Member, others: Sequence[tuple[str, str]]
) -> str:
    """The text with other members, as names and JSON texts, in place of one; none removes it."""
    if not others:
        return _remove(text, owner, member)
    written = _written(text, owner, member, others)
    return text[: member.start] + written + text[member.value.end :]


def add_members(text: str, owner: Node, others: Sequence[tuple[str, str]]) -> str:
    """The text with more members at the end of an object that has at least one.

    Raises:
        ValueError: the object is empty, and so shows no style.
    """
    if not owner.members:
        raise ValueError("an empty object shows no style to follow")
    last = owner.members[-1]
    separator = _separator(text, owner, last)
    written = _written(text, owner, last, others)
    return text[: last.value.end] + separator + written + text[last.value.end :]


def _written(text: str, owner: Node, like: Member, others: Sequence[tuple[str, str]]) -> str:
    """Members in the style of one that is there."""
    colon = text[like.name_end : like.value.start]
    separator = _separator(text, owner, like)
    return separator.join(f"{_quoted(name)}{colon}{value}" for name, value in others)


def _separator(text: str, owner: Node, like: Member) -> str:
    """What stands between a member and its neighbour: a comma with white space."""
    position = _position(owner, like)
    if position > 0:
        return text[owner.members[position - 1].value.end : like.start]
    if len(owner.members) > 1:
        return text[like.value.end : owner.members[1].start]
    return "," + (text[owner.start + 1 : like.start] or " ")


def _remove(text: str, owner: Node, member: Member) -> str:
    position = _position(owner, member)
    if position + 1 < len(owner.members):
        return text[: member.start] + text[owner.members[position + 1].start :]
    if position > 0:
        return text[: owner.members[position - 1].value.end] + text[member.value.end :]
    return text[: owner.start + 1] + text[owner.end - 1 :]


def _position(owner: Node, member: Member) -> int:
    """Which member of an object it is; the tree may have been read again since."""
    return next(i for i, one in enumerate(owner.members) if one.start == member.start)


def _quoted(name: str) -> str:
    return json.dumps(name, ensure_ascii=False)


def _after_space(text: str, position: int) -> int:
    found = _SPACE.match(text, position)
    assert found is not None  # it may match nothing
    return found.end()


def _value(text: str, position: int) -> Node:
    node = Node(position)
    if text[position] == "{":
        position = _after_space(text, position + 1)
        while text[position] != "}":
            start = position
            name, name_end = scanstring(text, position + 1)
            value = _value(text, _after_space(text, _after_space(text, name_end) + 1))
            node.members.append(Member(name, start, name_end, value))
            position = _after_comma(text, value.end)
        node.end = position + 1
    elif text[position] == "[":
        position = _after_space(text, position + 1)
        while text[position] != "]":
            item = _value(text, position)
            node.items.append(item)
            position = _after_comma(text, item.end)
        node.end = position + 1
    elif text[position] == '"':
        node.end = scanstring(text, position + 1)[1]
    else:
        word = _WORD.match(text, position)
        assert word is not None  # the text is valid JSON
        node.end = word.end()
    return node


def _after_comma(text: str, position: int) -> int:
    """The place of the next value or closing bracket after a value."""
    position = _after_space(text, position)
    return _after_space(text, position + 1) if text[position] == "," else position
