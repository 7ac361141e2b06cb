"""Ends a run at its deadline, when it is cancelled, or when its images take too much. A block that
is running is never interrupted: the run stops before the next call.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Iterable
from typing import Any

import numpy as np

from execution_engine.errors import (
    RunCancelledError,
    RunDeadlineExceededError,
    RunTooLargeError,
)
from execution_engine.images.image_data import WorkflowImageData


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
    """Checks a run against its deadline, its cancellation token and what its images may take.

    Args:
        deadline: seconds from now the run may take, None for no limit.
        cancellation: the host's token, None when the run cannot be cancelled.
        max_image_bytes: most bytes of the images that its steps make, None for no limit.

    Raises:
        ValueError: the deadline is not positive.
    """

    __slots__ = (
        "_cancellation",
        "_counted",
        "_deadline",
        "_end",
        "_image_bytes",
        "_latest",
        "_lock",
        "_most",
    )

    def __init__(
        self,
        deadline: float | None,
        cancellation: CancellationToken | None,
        max_image_bytes: int | None = None,
    ) -> None:
        if deadline is not None and not (isinstance(deadline, (int, float)) and deadline > 0):
            raise ValueError(f"a deadline is a positive number of seconds, got {deadline!r}")
        self._deadline = deadline
        self._end = None if deadline is None else time.monotonic() + deadline
        self._cancellation = cancellation
        self._latest = ""
        self._most = max_image_bytes
        self._image_bytes = 0
        self._counted: set[int] = set()
        self._lock = threading.Lock()

    def note_images(self, step: str, values: Iterable[Any]) -> None:
        """Counts the images among what a step made; parts of one picture count once.

        Raises:
            RunTooLargeError: the images of the run take more than they may.
        """
        if self._most is None:
            return
        with self._lock:
            for value in values:
                for image in value if isinstance(value, list) else (value,):
                    if isinstance(image, WorkflowImageData):
                        self._count(image)
            if self._image_bytes > self._most:
                raise RunTooLargeError(
                    f"The images of this run take {self._image_bytes} bytes after step '{step}'; "
                    f"this host lets a run hold {self._most}.",
                    context="workflow_execution",
                )

    def _count(self, image: WorkflowImageData) -> None:
        pixels = image.pixels_in_memory
        if pixels is None:
            return
        while isinstance(pixels.base, np.ndarray):
            pixels = pixels.base
        # The run holds what was counted to its end, so an id stays that of one array.
        if id(pixels) not in self._counted:
            self._counted.add(id(pixels))
            self._image_bytes += pixels.nbytes

    def check(self, step: str) -> None:
        """Raises when the run must stop; `step` is the one that would run next.

        Raises:
            RunCancelledError: the token was cancelled.
            RunDeadlineExceededError: the deadline has passed.
        """
        self._latest = step
        self._check(f"before step '{step}'")

    def check_waiting(self, step: str) -> None:
        """Raises when the run must stop while it waits for what a step has promised.

        Raises:
            RunCancelledError, RunDeadlineExceededError: as `check`.
        """
        self._check(f"while it waited for the results of step '{step}'")

    def _check(self, when: str) -> None:
        if self._cancellation is not None and self._cancellation.cancelled:
            raise RunCancelledError(f"The run was cancelled {when}.", context="workflow_execution")
        if self._end is not None and time.monotonic() > self._end:
            raise RunDeadlineExceededError(
                f"The run did not finish within its deadline of {self._deadline:g} s; it stopped "
                f"{when}.",
                context="workflow_execution",
            )

    def check_end(self) -> None:
        """Raises when the last step took too long, which no check before a call can see.

        Raises:
            RunDeadlineExceededError: the deadline has passed.
        """
        if self._end is not None and self._latest and time.monotonic() > self._end:
            raise RunDeadlineExceededError(
                f"The run did not finish within its deadline of {self._deadline:g} s; the deadline "
                f"passed during step '{self._latest}', the last one.",
                context="workflow_execution",
            )
