"""How many threads models compute on. The cores of the process are shared by all of its models."""

from __future__ import annotations

import os
import threading
from collections import deque
from collections.abc import Iterator
from contextlib import contextmanager

# More threads than this in one call gain little on networks of the usual size, and cost other calls
# their cores.
MAX_THREADS_PER_CALL = 4


def available_cores() -> int:
    """Cores this process may use: the affinity mask where the system has one, else all of them."""
    if hasattr(os, "sched_getaffinity"):
        return max(1, len(os.sched_getaffinity(0)))
    return os.cpu_count() or 1


class ThreadBudget:
    """Hands out threads so that all calls together never compute on more than there are.

    Calls wait in the order they came, so that a call which needs many threads is not overtaken
    forever.

    Args:
        total: threads there are; the available cores when None.
        per_call: threads one call of one model gets; `MAX_THREADS_PER_CALL` or the total, when
            None.

    Raises:
        ValueError: a number is not positive, or a call would get more than there are.
    """

    def __init__(self, total: int | None = None, per_call: int | None = None) -> None:
        self.total = available_cores() if total is None else total
        self.per_call = min(self.total, MAX_THREADS_PER_CALL) if per_call is None else per_call
        if self.total < 1 or not 1 <= self.per_call <= self.total:
            raise ValueError(
                f"a thread budget needs 1 <= per_call <= total, got per_call={self.per_call}, "
                f"total={self.total}"
            )
        self._free = self.total
        self._changed = threading.Condition()
        self._waiting: deque[object] = deque()

    @property
    def in_use(self) -> int:
        """Threads handed out at this moment."""
        return self.total - self._free

    @contextmanager
    def take(self, threads: int) -> Iterator[None]:
        """Holds a number of threads, at most all of them, while the block runs."""
        wanted = min(max(1, threads), self.total)
        ticket = object()
        with self._changed:
            self._waiting.append(ticket)
            try:
                self._changed.wait_for(lambda: self._waiting[0] is ticket and self._free >= wanted)
                self._free -= wanted
            finally:
                self._waiting.remove(ticket)
                self._changed.notify_all()
        try:
            yield
        finally:
            with self._changed:
                self._free += wanted
                self._changed.notify_all()
