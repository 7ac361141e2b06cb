"""How deep the JSON data of a definition are nested. Looks at no meaning."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from execution_engine.definition.json_pointer import pointer_part

DEEPEST_NESTING = 200
_SHOWN_PARTS = 3


def find_too_deep(value: Any, limit: int = DEEPEST_NESTING) -> str | None:
    """Where a value is nested more than `limit` levels deep, as a JSON pointer cut after a few
    parts; None when it is nowhere. A container that holds itself counts as too deep.
    """
    left: list[tuple[Any, int, str]] = [(value, 0, "")]
    while left:
        current, depth, where = left.pop()
        if isinstance(current, Mapping):
            entries = list(current.items())
        elif isinstance(current, (list, tuple)):
            entries = list(enumerate(current))
        else:
            continue
        if depth == limit:
            return where
        for key, item in entries:
            if isinstance(item, (Mapping, list, tuple)):
                inner = f"{where}/{pointer_part(key)}" if depth < _SHOWN_PARTS else where
                left.append((item, depth + 1, inner))
    return None
