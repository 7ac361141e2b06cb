"""`WorkflowMemory`: what the steps of one engine share between runs. Holds values, never looks into
them.
"""

from __future__ import annotations

from collections import OrderedDict
from threading import Lock
from typing import Any


class WorkflowMemory:
    """Values by namespace and key, dropped least recently used first so that a long run cannot grow
    it.

    An engine makes one and hands it to every block that asks for the init parameter
    `workflow_memory`; a new engine starts with an empty one. Safe to use from several threads.

    Args:
        max_namespaces: namespaces (videos) kept at a time.
        max_entries: keys kept at a time in each namespace.

    Raises:
        ValueError: a limit is not positive.
    """

    def __init__(self, max_namespaces: int = 1024, max_entries: int = 1024) -> None:
        if max_namespaces < 1 or max_entries < 1:
            raise ValueError(
                "WorkflowMemory needs room for at least one namespace and one entry, "
                f"got max_namespaces={max_namespaces}, max_entries={max_entries}"
            )
        self._max_namespaces = max_namespaces
        self._max_entries = max_entries
        self._namespaces: OrderedDict[str, OrderedDict[str, Any]] = OrderedDict()
        self._lock = Lock()

    def get(self, namespace: str, key: str, default: Any = None) -> Any:
        """The value stored under `key` in `namespace`, `default` when there is none."""
        with self._lock:
            entries = self._namespaces.get(namespace)
            if entries is None or key not in entries:
                return default
            self._namespaces.move_to_end(namespace)
            entries.move_to_end(key)
            return entries[key]

    def set(self, namespace: str, key: str, value: Any) -> None:
        """Stores `value` under `key` in `namespace`, in place of what was there."""
        with self._lock:
            entries = self._namespaces.setdefault(namespace, OrderedDict())
            self._namespaces.move_to_end(namespace)
            entries[key] = value
            entries.move_to_end(key)
            if len(entries) > self._max_entries:
                entries.popitem(last=False)
            if len(self._namespaces) > self._max_namespaces:
                self._namespaces.popitem(last=False)

    def clear(self) -> None:
        """Forgets everything."""
        with self._lock:
            self._namespaces.clear()

    def __len__(self) -> int:
        """Number of stored values in all namespaces."""
        with self._lock:
            return sum(len(entries) for entries in self._namespaces.values())
