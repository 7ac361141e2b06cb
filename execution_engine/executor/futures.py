"""Waits for values that blocks hand over as futures."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from concurrent.futures import Future
from typing import Any

from execution_engine.block_api.batch import Batch
from execution_engine.errors import WorkflowError
from execution_engine.executor.failures import StepErrorHandler, raise_step_failure
from execution_engine.executor.state import RunState
from execution_engine.plan import StepPlan

DEFAULT_TIMEOUT = 60.0


def resolve_futures(value: Any, timeout: float = DEFAULT_TIMEOUT) -> Any:
    """The value with every `Future` in it (also inside lists, tuples, dicts, batches) replaced by
    its result.

    Raises:
        TimeoutError: a future is not done within `timeout` seconds.
    """
    if isinstance(value, Future):
        try:
            result = value.result(timeout)
        except TimeoutError as error:
            if value.done():
                raise
            raise TimeoutError(f"A result was not ready within {timeout:g} s.") from error
        return resolve_futures(result, timeout)
    if type(value) is list:
        return [resolve_futures(item, timeout) for item in value]
    if type(value) is tuple:
        return tuple(resolve_futures(item, timeout) for item in value)
    if type(value) is dict:
        return {key: resolve_futures(item, timeout) for key, item in value.items()}
    if isinstance(value, Batch):
        return Batch([resolve_futures(item, timeout) for item in value], lambda: value.indices)
    return value


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
        """
        for slot in slots:
            try:
                state.slots[slot] = resolve_futures(state.slots[slot])
            except WorkflowError:
                raise
            except Exception as error:
                raise_step_failure(self._producers[slot], error, self._error_handler)
