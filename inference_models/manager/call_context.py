"""`CallContext`: who calls a model, until when, and whether he still wants the answer. It travels
beside the arguments of `infer`, so blocks need not pass it on. It decides nothing."""

from __future__ import annotations

import time
from collections.abc import Callable, Hashable, Iterator
from contextlib import AbstractContextManager, contextmanager, nullcontext
from contextvars import ContextVar
from dataclasses import dataclass

from inference_models.errors import ModelCallCancelledError, ModelDeadlineExceededError

# How often a caller who may give up at any time is asked whether he has.
_POLL_SECONDS = 0.05


@dataclass(frozen=True, slots=True)
class CallContext:
    """What holds for every call of a model made inside of `call_context`.

    Attributes:
        client: calls of one client share one turn where several wait; None gives each call its own.
        end: reading of `time.monotonic` after which the answer is of no use; None for never.
        cancelled: tells whether the caller has given up; None when he never does.
        aside: entered while a call waits for others and computes nothing; None when nobody cares.
    """

    client: Hashable = None
    end: float | None = None
    cancelled: Callable[[], bool] | None = None
    aside: Callable[[], AbstractContextManager[None]] | None = None

    def waiting(self) -> AbstractContextManager[None]:
        """Around a wait of the caller's thread for what other threads compute."""
        return nullcontext() if self.aside is None else self.aside()

    def check(self, model: str) -> None:
        """Raises when nobody wants the answer any more.

        Raises:
            ModelCallCancelledError: the caller has given up.
            ModelDeadlineExceededError: the deadline has passed.
        """
        if self.cancelled is not None and self.cancelled():
            raise ModelCallCancelledError(f"a call of {model} was cancelled before it ran")
        if self.end is not None and time.monotonic() >= self.end:
            raise ModelDeadlineExceededError(
                f"the deadline of a call of {model} passed before it ran"
            )

    def patience(self) -> float | None:
        """Seconds to wait before the next `check`; None when none is needed."""
        rest = None if self.end is None else max(0.0, self.end - time.monotonic())
        if self.cancelled is None:
            return rest
        return _POLL_SECONDS if rest is None else min(rest, _POLL_SECONDS)


_NOBODY = CallContext()
_CURRENT: ContextVar[CallContext] = ContextVar("weftlens_model_call", default=_NOBODY)


def current_call() -> CallContext:
    """The context that holds here."""
    return _CURRENT.get()


@contextmanager
def call_context(
    *,
    client: Hashable = None,
    deadline: float | None = None,
    cancelled: Callable[[], bool] | None = None,
    aside: Callable[[], AbstractContextManager[None]] | None = None,
) -> Iterator[CallContext]:
    """Says for the calls of models made inside who makes them and how long they are wanted.

    What is not named is that of the context around; of two deadlines the earlier one holds, and of
    two reasons to give up either one. Threads see the context when they are started with
    `contextvars.copy_context`, as those of the engine are.

    Args:
        client: calls of one client share one turn where several wait.
        deadline: seconds from now after which an answer is of no use.
        cancelled: tells whether the caller has given up; called often and from any thread, so it
            must answer at once and call no model.
        aside: entered, on the thread of the call, while it waits for a batch or another machine, so
            that a host may give its place to somebody else meanwhile.

    Raises:
        ValueError: the deadline is not positive.
    """
    if deadline is not None and not deadline > 0:
        raise ValueError(f"a deadline is a positive number of seconds, got {deadline!r}")
    outer = _CURRENT.get()
    end = None if deadline is None else time.monotonic() + deadline
    ends = [one for one in (end, outer.end) if one is not None]
    context = CallContext(
        client=outer.client if client is None else client,
        end=min(ends, default=None),
        cancelled=_either(cancelled, outer.cancelled),
        aside=outer.aside if aside is None else aside,
    )
    token = _CURRENT.set(context)
    try:
        yield context
    finally:
        _CURRENT.reset(token)


def _either(
    first: Callable[[], bool] | None, second: Callable[[], bool] | None
) -> Callable[[], bool] | None:
    if first is None or second is None:
        return first or second
    return lambda: first() or second()
