"""Running on a server: `run_remotely`, `RemoteServer`, the errors of the way there.

Names load when they are first used. Nothing may be computed here.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from workflows.remote.client import RemoteServer, run_remotely
    from workflows.remote.errors import (
        MissingItem,
        MissingOnServerError,
        RemoteServerError,
        ServerAnswerError,
        ServerConnectionError,
        ServerRefusedError,
        ServerTimeoutError,
    )

_CLIENT = ("RemoteServer", "run_remotely")

__all__ = [
    "MissingItem",
    "MissingOnServerError",
    "RemoteServer",
    "RemoteServerError",
    "ServerAnswerError",
    "ServerConnectionError",
    "ServerRefusedError",
    "ServerTimeoutError",
    "run_remotely",
]


def __getattr__(name: str) -> Any:
    if name not in __all__:
        raise AttributeError(f"module 'workflows.remote' has no attribute {name!r}")
    place = "client" if name in _CLIENT else "errors"
    return getattr(importlib.import_module(f"workflows.remote.{place}"), name)


def __dir__() -> list[str]:
    return sorted([*globals(), *__all__])
