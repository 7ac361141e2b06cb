"""Deadline and cancellation of a run. A block that is running is never interrupted: the run stops
before the next call.
"""

from __future__ import annotations

import threading
import time

from execution_engine.errors import RunCancelledError, RunDeadlineExceededError


class CancellationToken:
    """Lets a host stop a run from another thread."""

    __slots__ = ("_event",)

    def __init__(self) -> None:
        self._event = threading.Event()

    def cancel(self) -> None:
        """Asks the run to stop before its next call of a block."""
        self._event.set()

    @property
    def cancelled(self) -> bool:
        """Whether `cancel` was called."""
        return self._event.is_set()


class RunLimits:
    """Checks a run against its deadline and its cancellation token.

    Args:
        deadline: seconds from now the run may take, None for no limit.
        cancellation: the host's token, None when the run cannot be cancelled.

    Raises:
        ValueError: the deadline is not positive.
    """

    __slots__ = ("_cancellation", "_deadline", "_end")

    def __init__(self, deadline: float | None, cancellation: CancellationToken | None) -> None:
        if deadline is not None and not (isinstance(deadline, (int, float)) and deadline > 0):
            raise ValueError(f"a deadline is a positive number of seconds, got {deadline!r}")
        self._deadline = deadline
        self._end = None if deadline is None else time.monotonic() + deadline
        self._cancellation = cancellation

    def check(self, step: str) -> None:
        """Raises when the run must stop; `step` is the one that would run next.

        Raises:
            RunCancelledError: the token was cancelled.
            RunDeadlineExceededError: the deadline has passed.
        """
        if self._cancellation is not None and self._cancellation.cancelled:
            raise RunCancelledError(
                f"The run was cancelled before step '{step}'.", context="workflow_execution"
            )
        if self._end is not None and time.monotonic() > self._end:
            raise RunDeadlineExceededError(
                f"The run did not finish within its deadline of {self._deadline:g} s; it stopped "
                f"before step '{step}'.",
                context="workflow_execution",
            )
