"""Makes the JSON of two runs comparable: what is new in every run gets a name in order of its
appearance.
"""

from __future__ import annotations

import json
import re
from typing import Any

_UUID = re.compile(r"[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}")
_TIME = re.compile(r'("frame_timestamp": )"[^"]*"')


def masked(value: Any) -> str:
    """JSON text without ids and times of one run; equal ids keep equal names."""
    names: dict[str, str] = {}

    def named(match: re.Match[str]) -> str:
        return names.setdefault(match.group(), f"id-{len(names)}")

    return _TIME.sub(r'\1"then"', _UUID.sub(named, json.dumps(value, sort_keys=True)))
