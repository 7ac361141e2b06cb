"""Any value as plain JSON data. Forms of single kinds live in their codecs, not here."""

from __future__ import annotations

import base64
import dataclasses
import math
from collections import deque
from collections.abc import Callable, Mapping, Set
from datetime import date, datetime, time, timedelta
from decimal import Decimal
from enum import Enum
from pathlib import PurePath
from typing import TYPE_CHECKING, Any
from uuid import UUID

import numpy as np

if TYPE_CHECKING:
    from execution_engine.kinds.codec import CodecRegistry

_PLAIN_TYPES = frozenset({str, int, bool, type(None)})


class NoJsonFormError(TypeError):
    """A value, or something inside it, has no JSON form; `path` says where."""

    def __init__(self, type_name: str) -> None:
        super().__init__(type_name)
        self.type_name = type_name
        self.path: list[str] = []

    def __str__(self) -> str:
        where = "".join(reversed(self.path))
        return f"a value of type {self.type_name}{f' at {where}' if where else ''} has no JSON form"


def number_form(number: float) -> float | None:
    """The number, None for NaN and infinities, which JSON does not have."""
    return number if math.isfinite(number) else None


def array_form(array: np.ndarray) -> Any:
    """An array of numbers as nested lists, with None in place of NaN and infinities."""
    if array.dtype.kind == "f" and not (finite := np.isfinite(array)).all():
        numbers = array.astype(object)
        numbers[~finite] = None
        return numbers.tolist()
    return array.tolist()


def json_form(value: Any, registry: CodecRegistry | None = None) -> Any:
    """The value as `json.dumps` takes it: plain values untouched, containers walked, rest turned.

    NaN and infinities become null, arrays nested lists, numpy scalars Python ones, dates and times
    ISO-8601 text, durations seconds, bytes base64 text, enums their values, sets lists in a stable
    order, keys of mappings text; dataclasses and pydantic models become objects.

    Args:
        value: anything.
        registry: where codecs of further types (images, predictions) are looked up.

    Raises:
        NoJsonFormError: a type has no JSON form.
        ValueError: a container holds itself.
    """
    try:
        return _walk(value, registry)
    except RecursionError:
        raise ValueError("the value holds itself or is nested too deep for JSON") from None


def _walk(value: Any, registry: CodecRegistry | None) -> Any:
    value_type = type(value)
    if value_type in _PLAIN_TYPES:
        return value
    if value_type is float:
        return number_form(value)
    if value_type is dict:
        return _mapping(value, registry)
    if value_type is list or value_type is tuple:
        return _sequence(value, registry)
    if registry is not None:
        codec = registry.for_value(value)
        if codec is not None and codec.offers("serialise"):
            return codec.serialise(value)
    if isinstance(value, Enum):  # before its base types: text of a (str, Enum) is not its value
        return _walk(value.value, registry)
    for base in value_type.__mro__:
        convert = _CONVERTERS.get(base)
        if convert is not None:
            return convert(value, registry)
    if isinstance(value, Mapping):
        return _mapping(value, registry)
    if isinstance(value, Set):
        return _set(value, registry)
    if dataclasses.is_dataclass(value) and not isinstance(value, type):
        fields = {field.name: getattr(value, field.name) for field in dataclasses.fields(value)}
        return _mapping(fields, registry)
    if hasattr(value, "model_dump"):
        return _walk(value.model_dump(by_alias=True), registry)
    if hasattr(value, "tolist"):
        return _walk(value.tolist(), registry)
    raise NoJsonFormError(value_type.__qualname__)


def _mapping(value: Mapping[Any, Any], registry: CodecRegistry | None) -> dict[str, Any]:
    result = {}
    for key, item in value.items():
        name = key if type(key) is str else str(key.value if isinstance(key, Enum) else key)
        try:
            result[name] = _walk(item, registry)
        except NoJsonFormError as error:
            error.path.append(f".{name}")
            raise
    return result


def _sequence(value: Any, registry: CodecRegistry | None) -> list[Any]:
    result = []
    for index, item in enumerate(value):
        try:
            result.append(_walk(item, registry))
        except NoJsonFormError as error:
            error.path.append(f"[{index}]")
            raise
    return result


def _set(value: Any, registry: CodecRegistry | None) -> list[Any]:
    # The order of a set changes between processes, the order of the text of its members does not.
    return _sequence(sorted(value, key=repr), registry)


def _array(value: np.ndarray, registry: CodecRegistry | None) -> Any:
    if value.dtype.kind in "biufU":
        return array_form(value)
    if value.dtype.kind in "OSMmT":
        return _walk(value.tolist(), registry)
    raise NoJsonFormError(f"ndarray of {value.dtype}")


def _scalar(value: np.generic, registry: CodecRegistry | None) -> Any:
    plain = float(value) if isinstance(value, np.longdouble) else value.item()
    if isinstance(plain, (np.generic, complex)):
        raise NoJsonFormError(type(value).__name__)
    return _walk(plain, registry)


_CONVERTERS: dict[type, Callable[[Any, CodecRegistry | None], Any]] = {
    np.generic: _scalar,
    np.ndarray: _array,
    datetime: lambda value, _: value.isoformat(),
    date: lambda value, _: value.isoformat(),
    time: lambda value, _: value.isoformat(),
    timedelta: lambda value, _: value.total_seconds(),
    bytes: lambda value, _: base64.b64encode(value).decode("ascii"),
    bytearray: lambda value, _: base64.b64encode(value).decode("ascii"),
    memoryview: lambda value, _: base64.b64encode(value).decode("ascii"),
    PurePath: lambda value, _: str(value),
    UUID: lambda value, _: str(value),
    Decimal: lambda value, _: number_form(float(value)),
    dict: _mapping,
    list: _sequence,
    tuple: _sequence,
    deque: _sequence,
    range: _sequence,
    set: _set,
    frozenset: _set,
    str: lambda value, _: str(value),
    bool: lambda value, _: bool(value),
    int: lambda value, _: int(value),
    float: lambda value, _: number_form(float(value)),
}
