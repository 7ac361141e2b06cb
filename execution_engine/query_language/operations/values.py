"""Operations on values of any type, and conversions between types that fit no other module."""

from __future__ import annotations

import json
import random
from datetime import date
from typing import Any

from execution_engine.query_language.comparison import sequence_length
from execution_engine.query_language.definitions import Operation
from execution_engine.query_language.site import (
    Parameters,
    Site,
    Step,
    describe_value,
    find_detections_codec,
)


def to_text(operation: Operation, site: Site) -> Step:
    """`ToString`: Python's `str` of the value."""

    def step(value: Any, parameters: Parameters) -> str:
        return str(value)

    return step


def to_boolean(operation: Operation, site: Site) -> Step:
    """`ToBoolean`: Python's truth of the value; detections are true when there are any."""

    def step(value: Any, parameters: Parameters) -> bool:
        if find_detections_codec(value, site.codecs) is not None:
            return sequence_length(value, site.codecs) > 0
        try:
            return bool(value)
        except (TypeError, ValueError) as error:
            raise site.wrong_input("a value that is true or false", value, error) from error

    return step


def look_up(operation: Operation, site: Site) -> Step:
    """`LookupTable`: the entry of the value."""
    table = operation.parameters["lookup_table"]

    def step(value: Any, parameters: Parameters) -> Any:
        try:
            return table[value]
        except (KeyError, TypeError) as error:
            raise missing_entry(site, value, table, error) from error

    return step


def missing_entry(site: Site, value: Any, table: dict[Any, Any], cause: Exception) -> Exception:
    """The error for a value that a look-up table does not have, or cannot have."""
    if isinstance(cause, TypeError):
        return site.wrong_input("a value that can be looked up", value, cause)
    entries = describe_value(list(table))
    return site.wrong_input(f"one of the table's entries ({entries})", value)


def random_number(operation: Operation, site: Site) -> Step:
    """`RandomNumber`: a number between the two bounds, whatever the value is."""
    least, greatest = operation.parameters["min_value"], operation.parameters["max_value"]

    def step(value: Any, parameters: Parameters) -> float:
        return random.uniform(least, greatest)

    return step


def to_json(operation: Operation, site: Site) -> Step:
    """`ConvertDictionaryToJSON`: JSON text of an object."""

    def step(value: Any, parameters: Parameters) -> str:
        if not isinstance(value, dict):
            raise site.wrong_input("an object", value)
        try:
            return json.dumps(value)
        except (TypeError, ValueError) as error:
            raise site.failed(f"the object does not fit JSON ({error})", error) from error

    return step


def to_iso_format(operation: Operation, site: Site) -> Step:
    """`TimestampToISOFormat`: ISO-8601 text of a moment."""

    def step(value: Any, parameters: Parameters) -> str:
        if not isinstance(value, date):
            raise site.wrong_input("a timestamp", value)
        return value.isoformat()

    return step
