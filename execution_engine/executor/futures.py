"""Waits for values that blocks hand over as futures."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Mapping
from concurrent.futures import Future
from functools import partial
from typing import Any

from execution_engine.block_api.batch import Batch
from execution_engine.errors import WorkflowError
from execution_engine.executor.failures import StepErrorHandler, raise_step_failure
from execution_engine.executor.state import RunState
from execution_engine.plan import StepPlan

DEFAULT_TIMEOUT = 60.0
# How long a run that is to stop may go on waiting, in seconds.
_POLL = 0.05
Check = Callable[[], None]


def resolve_futures(
    value: Any, timeout: float = DEFAULT_TIMEOUT, check: Check = lambda: None
) -> Any:
    """The value with every `Future` in it (also inside lists, tuples, dicts, batches) replaced by
    its result.

    Args:
        value: what may hold futures.
        timeout: seconds to wait for each of them.
        check: called now and then while one is waited for; may raise.

    Raises:
        TimeoutError: a future is not done within `timeout` seconds.
    """
    if isinstance(value, Future):
        return resolve_futures(_result(value, timeout, check), timeout, check)
    if type(value) is list:
        return [resolve_futures(item, timeout, check) for item in value]
    if type(value) is tuple:
        return tuple(resolve_futures(item, timeout, check) for item in value)
    if type(value) is dict:
        return {key: resolve_futures(item, timeout, check) for key, item in value.items()}
    if isinstance(value, Batch):
        items = [resolve_futures(item, timeout, check) for item in value]
        return Batch(items, lambda: value.indices)
    return value


def _result(future: Future[Any], timeout: float, check: Check) -> Any:
    end = time.monotonic() + timeout
    while True:
        left = end - time.monotonic()
        try:
            return future.result(min(max(left, 0.0), _POLL))
        except TimeoutError as error:
            if future.done():
                raise
            if left <= 0:
                raise TimeoutError(f"A result was not ready within {timeout:g} s.") from error
        check()


class FutureSlots:
    """The slots of a plan that may hold futures, each with the step that fills it.

    Args:
        producers: step by slot.
        error_handler: called with the name of the step whose future failed, and the error.
    """

    __slots__ = ("_error_handler", "_producers")

    def __init__(
        self,
        producers: Mapping[int, StepPlan] | None = None,
        error_handler: StepErrorHandler | None = None,
    ) -> None:
        self._producers = producers or {}
        self._error_handler = error_handler

    def among(self, slots: Iterable[int]) -> tuple[int, ...]:
        """Those of the slots that may hold futures, each once."""
        return tuple(slot for slot in dict.fromkeys(slots) if slot in self._producers)

    def wait(self, state: RunState, slots: Iterable[int]) -> None:
        """Replaces the futures in slots by their results.

        Raises:
            StepExecutionError: a future failed or was not done in time; it names the step that made
                it.
            RunCancelledError, RunDeadlineExceededError: the run must stop.
        """
        for slot in slots:
            producer = self._producers[slot]
            try:
                state.slots[slot] = resolve_futures(
                    state.slots[slot], check=partial(_check_limits, state, producer.name)
                )
            except WorkflowError:
                raise
            except Exception as error:
                raise_step_failure(producer, error, self._error_handler)


def _check_limits(state: RunState, step: str) -> None:
    if state.limits is not None:
        state.limits.check_waiting(step)
