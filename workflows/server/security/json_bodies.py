"""Reads the JSON of a request under limits: how deep, how many values, each member once. Knows no
route and no workflow.
"""

from __future__ import annotations

import json
from typing import Any

import numpy as np
import orjson

from workflows.server.faults import BodyTooLargeError, InvalidRequestError

_CHUNK = 1 << 20
_QUOTE = ord('"')
_LONGEST_NAME_SHOWN = 60


def parse_json(body: bytes, max_nesting: int, max_values: int) -> Any:
    """The value of a JSON text.

    The costs of reading are known before anything is built: a small text can stand for many
    values. NaN, infinities, numbers beyond the range of floats, lone surrogates and anything but
    UTF-8 are refused, as JSON wants it.

    Args:
        body: the text.
        max_nesting: most levels of objects and lists.
        max_values: most values, members and elements in all.

    Raises:
        InvalidRequestError: it is no JSON, nested too deep, or names a member of an object twice.
        BodyTooLargeError: it holds too many values.
    """
    colons = body.count(b":")
    containers = body.count(b"[") + body.count(b"{")
    if containers > max_nesting or containers + colons + body.count(b",") > max_values:
        # Some of those may stand in texts; look closer.
        depth, values = _outline(body)
        if depth > max_nesting:
            raise InvalidRequestError(f"The JSON is nested more than {max_nesting} levels deep.")
        if values > max_values:
            raise BodyTooLargeError(f"The JSON holds more than {max_values} values.")
    try:
        value = orjson.loads(body)
    except orjson.JSONDecodeError as error:
        raise InvalidRequestError(f"The body is no JSON: {error}.") from error
    # Fewer members than colons: a name came twice, or a colon stands in a text.
    if colons != _count_members(value) and (name := _repeated_name(body)) is not None:
        shown = repr(name if len(name) <= _LONGEST_NAME_SHOWN else name[:_LONGEST_NAME_SHOWN])
        raise InvalidRequestError(f"An object of the JSON has the member {shown} twice.")
    return value


def _outline(body: bytes) -> tuple[int, int]:
    """(deepest nesting, values) of a text, without building anything.

    Exact for JSON; of other texts the numbers mean nothing, and reading them fails later.
    """
    # Backslashes stand only in texts of JSON, and pairs are told from the left.
    if b"\\" in body:
        body = body.replace(b"\\\\", b"__").replace(b'\\"', b"__")
    data = np.frombuffer(body, np.uint8)
    depth = deepest = values = 0
    inside = False
    for start in range(0, len(data), _CHUNK):
        part = data[start : start + _CHUNK]
        in_text = np.bitwise_xor.accumulate(part == _QUOTE) ^ inside
        inside = bool(in_text[-1])
        kinds = _KINDS[part]
        kinds[in_text] = 0
        levels = np.cumsum(_CHANGES[kinds], dtype=np.int64) + depth
        depth, deepest = int(levels[-1]), max(deepest, int(levels.max()))
        values += int(np.isin(kinds, (_OPENS, _PARTS)).sum())
    return deepest, values


_OPENS, _CLOSES, _PARTS = 1, 2, 3
_KINDS = np.zeros(256, np.uint8)
_KINDS[[ord("["), ord("{")]] = _OPENS
_KINDS[[ord("]"), ord("}")]] = _CLOSES
_KINDS[[ord(","), ord(":")]] = _PARTS
_KINDS.flags.writeable = False
_CHANGES = np.array([0, 1, -1, 0], np.int8)
_CHANGES.flags.writeable = False


def _count_members(value: Any) -> int:
    left, count = [value], 0
    while left:
        current = left.pop()
        if type(current) is dict:
            count += len(current)
            left.extend(item for item in current.values() if type(item) in (dict, list))
        elif type(current) is list:
            left.extend(item for item in current if type(item) in (dict, list))
    return count


def _repeated_name(body: bytes) -> str | None:
    """The first name that one object has twice."""
    found: list[str] = []

    def note(pairs: list[tuple[str, Any]]) -> None:
        seen: set[str] = set()
        for name, _ in pairs:
            if name in seen:
                found.append(name)
            seen.add(name)

    json.loads(body, object_pairs_hook=note)
    return found[0] if found else None
