"""Writes responses as JSON. Results of workflows arrive as JSON data already; what is left is text
for bytes and numbers for numpy scalars.
"""

from __future__ import annotations

import base64
from typing import Any

import orjson

from execution_engine.errors import ExecutionEngineRuntimeError

_OPTIONS = orjson.OPT_SERIALIZE_NUMPY | orjson.OPT_NON_STR_KEYS
_SMALLEST, _LARGEST = -(2**63), 2**64 - 1


def to_json(value: Any) -> bytes:
    """UTF-8 JSON: bytes as base64 text, numpy values as numbers and arrays, NaN as null, dates as
    ISO text, whole numbers of more than 64 bits as floats, half characters as question marks.

    Raises:
        ExecutionEngineRuntimeError: a value has no JSON form.
    """
    try:
        return orjson.dumps(value, default=_plain, option=_OPTIONS)
    except TypeError:
        pass
    try:
        return orjson.dumps(_writable(value), default=_plain, option=_OPTIONS)
    except (TypeError, RecursionError) as error:
        raise ExecutionEngineRuntimeError(
            f"The results cannot be written as JSON: {error}.",
            context="response_serialisation",
            inner_error=error,
        ) from error


def _writable(value: Any) -> Any:
    """The value without numbers and texts that the writer does not take."""
    if type(value) is int and not _SMALLEST <= value <= _LARGEST:
        try:
            return float(value)
        except OverflowError:
            return None  # like the infinities
    if isinstance(value, str):
        return value.encode("utf-8", "replace").decode("utf-8")
    if isinstance(value, dict):
        return {_writable(key): _writable(item) for key, item in value.items()}
    if isinstance(value, (list, tuple)):
        return [_writable(item) for item in value]
    return value


def _plain(value: Any) -> Any:
    if isinstance(value, (bytes, bytearray, memoryview)):
        return base64.b64encode(value).decode("ascii")
    if hasattr(value, "tolist"):  # an array that is not contiguous, a scalar of another type
        return value.tolist()
    if isinstance(value, (set, frozenset)):
        return sorted(value, key=str)
    raise TypeError(f"type {type(value).__name__} is not JSON")
