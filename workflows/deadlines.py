"""`Deadline`: a point in time at which a piece of work with several steps has to end. Waits for
nothing itself.
"""

from __future__ import annotations

import time

# Seconds a socket or a lock can wait: clocks of some systems end not far above it (a year).
_LONGEST_WAIT = 31_536_000.0


class DeadlinePassed(Exception):
    """The time for all of it is over."""


class Deadline:
    """A point in time.

    Args:
        seconds: how far from now; may be infinite.

    Attributes:
        seconds: as given, for messages.
    """

    __slots__ = ("_end", "seconds")

    def __init__(self, seconds: float) -> None:
        self.seconds = seconds
        self._end = time.monotonic() + seconds

    def left(self) -> float:
        """Seconds until then, at most a year.

        Raises:
            DeadlinePassed: there are none.
        """
        left = self._end - time.monotonic()
        if left <= 0:
            raise DeadlinePassed
        return min(left, _LONGEST_WAIT)
