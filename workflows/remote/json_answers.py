"""The bytes of an answer as JSON, and keys out of texts that a server sent. Knows no route."""

from __future__ import annotations

import json
import reprlib
from typing import Any

import orjson

_SHOWN = 200
_MASK = "***"


def parsed(content: bytes) -> tuple[Any, bool]:
    """(the value, True), or (the first characters of the text, False) when the body is no JSON.

    NaN and infinite numbers are taken, which JSON has not and servers in Python write.
    """
    try:
        return orjson.loads(content), True
    except orjson.JSONDecodeError:
        pass
    try:
        return json.loads(content), True
    except (ValueError, RecursionError):
        return content[: 4 * _SHOWN].decode("utf-8", "replace")[:_SHOWN], False


def holds(content: bytes, key: str) -> bool:
    """Whether a body has the key in it, as it is or as JSON writes it."""
    return key.encode() in content or orjson.dumps(key)[1:-1] in content


def hidden(value: Any, key: str | None) -> Any:
    """A value without the key in its texts."""
    if not key:
        return value
    try:
        return _hidden(value, key)
    except RecursionError:
        return "(nested too deep to show)"


def _hidden(value: Any, key: str) -> Any:
    if isinstance(value, str):
        return value.replace(key, _MASK)
    if isinstance(value, list):
        return [_hidden(item, key) for item in value]
    if isinstance(value, dict):
        return {_hidden(name, key): _hidden(item, key) for name, item in value.items()}
    return value


def shown(value: Any) -> str:
    """A value for a message: its beginning, however large it is."""
    if isinstance(value, str):
        return repr(value[:120])
    return f"{reprlib.repr(value):.120}"
