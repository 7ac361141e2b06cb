"""Waits for values that blocks hand over as futures."""

from __future__ import annotations

from concurrent.futures import Future
from typing import Any

from execution_engine.block_api.batch import Batch

DEFAULT_TIMEOUT = 60.0


def resolve_futures(value: Any, timeout: float = DEFAULT_TIMEOUT) -> Any:
    """The value with every `Future` in it (also inside lists, tuples, dicts, batches) replaced by
    its result.

    Raises:
        TimeoutError: a future is not done within `timeout` seconds.
    """
    if isinstance(value, Future):
        return resolve_futures(value.result(timeout), timeout)
    if type(value) is list:
        return [resolve_futures(item, timeout) for item in value]
    if type(value) is tuple:
        return tuple(resolve_futures(item, timeout) for item in value)
    if type(value) is dict:
        return {key: resolve_futures(item, timeout) for key, item in value.items()}
    if isinstance(value, Batch):
        return Batch([resolve_futures(item, timeout) for item in value], value.indices)
    return value
