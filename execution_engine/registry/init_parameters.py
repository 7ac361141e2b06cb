"""How init parameters are called: `source.name` for one plug-in, `name` for all. `BlockRegistry`
decides what a block gets.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

CORE_SOURCE = "workflows_core"


def core_name(name: str) -> str:
    """The qualified name of an init parameter of the core blocks."""
    return f"{CORE_SOURCE}.{name}"


def core_parameter(given: Mapping[str, Any], name: str, default: Any = None) -> Any:
    """The value given for the core blocks: under the qualified name, else under the plain one."""
    return given.get(core_name(name), given.get(name, default))
