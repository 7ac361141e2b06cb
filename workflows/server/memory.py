"""How the process treats memory it has freed. Pictures are large: by default each is fetched from
the system page by page and given back at once, which takes longer than to decode it.
"""

from __future__ import annotations

import ctypes
import os
from collections.abc import Callable

# Parameters of mallopt(3) of the GNU C library.
_TRIM_THRESHOLD = -1
_MMAP_THRESHOLD = -3
_MEBIBYTE = 1024 * 1024
# The largest block that may be kept; the library takes no more.
_LARGEST_KEPT = 32 * _MEBIBYTE
_MOST_KEPT = 256 * _MEBIBYTE
_VARIABLES = ("MALLOC_TRIM_THRESHOLD_", "MALLOC_MMAP_THRESHOLD_", "GLIBC_TUNABLES")


class KeptMemory:
    """Gives freed memory back to the system once the server has had nothing to do for a while: what
    a flood of large requests left behind may be gigabytes.

    Args:
        give_back: does it; called in the thread of whoever calls the function `after` hands out.
        idle_seconds: how long nothing must have been done.
    """

    def __init__(self, give_back: Callable[[], object], idle_seconds: float) -> None:
        self._give_back = give_back
        self._idle_seconds = idle_seconds
        self._answered = 0
        self._busy_at: float | None = None

    def after(self, answered: int, busy: bool, now: float) -> Callable[[], object] | None:
        """What to call now, off the event loop; None when there is nothing to give back.

        Args:
            answered: requests answered so far.
            busy: whether any is inside.
            now: seconds on a clock that never goes back.
        """
        if busy or answered != self._answered:
            self._answered, self._busy_at = answered, now
        if self._busy_at is None or now - self._busy_at < self._idle_seconds:
            return None
        self._busy_at = None
        return self._give_back


def give_back_freed_memory() -> bool:
    """Gives all whole pages of freed memory back to the system; whether there were any.

    False also where the C library has no `malloc_trim`.
    """
    try:
        return bool(ctypes.CDLL(None).malloc_trim(0))
    except (AttributeError, OSError, TypeError):
        return False


def keep_freed_memory() -> bool:
    """Has the C library keep freed blocks up to 32 MiB for the next picture, at most 256 MiB of
    them at the end of each of its heaps.

    Returns:
        Whether it does: False where the library is another one, and where the environment says how
        it should treat memory.
    """
    if any(name in os.environ for name in _VARIABLES):
        return False
    try:
        mallopt = ctypes.CDLL(None).mallopt
    except (AttributeError, OSError, TypeError):  # another library or another system
        return False
    return bool(mallopt(_MMAP_THRESHOLD, _LARGEST_KEPT)) and bool(
        mallopt(_TRIM_THRESHOLD, _MOST_KEPT)
    )
