"""Operations on lists and everything else that has elements; detections have rows as elements."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Mapping
from typing import Any, Final

import numpy as np

from execution_engine.query_language.comparison import sequence_length
from execution_engine.query_language.definitions import Operation
from execution_engine.query_language.operations.values import missing_entry
from execution_engine.query_language.rows import DetectionRows, plain_value
from execution_engine.query_language.site import (
    Parameters,
    Site,
    Step,
    find_detections_codec,
)

MAX_JOINED_CHARACTERS: Final = 1_000_000
_FUNCTIONS: Final[Mapping[str, Callable[[list[Any]], Any]]] = {"min": min, "max": max, "sum": sum}


def map_elements(operation: Operation, site: Site) -> Step:
    """`SequenceMap`: the entry of each element in a table."""
    table = operation.parameters["lookup_table"]

    def entry(value: Any) -> Any:
        try:
            return table[value]
        except (KeyError, TypeError) as error:
            raise missing_entry(site, value, table, error) from error

    def step(value: Any, parameters: Parameters) -> list[Any]:
        return [entry(element) for element in _elements(value, site)]

    return step


def apply_to_elements(operation: Operation, site: Site) -> Step:
    """`SequenceApply`: the result of a chain for each element."""
    chain = site.nested.chain(operation.parameters["operations"], site.path)

    def step(value: Any, parameters: Parameters) -> list[Any]:
        return [chain(element, parameters) for element in _elements(value, site)]

    return step


def length(operation: Operation, site: Site) -> Step:
    """`SequenceLength`: number of elements, entries, characters or detections."""

    def step(value: Any, parameters: Parameters) -> int:
        try:
            return sequence_length(value, site.codecs)
        except TypeError as error:
            raise site.wrong_input("something with elements", value, error) from error

    return step


def count_elements(operation: Operation, site: Site) -> Step:
    """`SequenceElementsCount`: how often each element occurs, by its text."""

    def step(value: Any, parameters: Parameters) -> dict[str, int]:
        return dict(Counter(str(element) for element in _elements(value, site)))

    return step


def join(operation: Operation, site: Site) -> Step:
    """`SequenceJoin`: the texts of the elements with a separator between them.

    The step raises `OperationError` when the result has more than `MAX_JOINED_CHARACTERS`
    characters.
    """
    separator = operation.parameters["separator"]

    def step(value: Any, parameters: Parameters) -> str:
        parts: list[str] = []
        size = -len(separator)
        for element in _elements(value, site):
            part = str(element)
            size += len(part) + len(separator)
            if size > MAX_JOINED_CHARACTERS:
                raise site.failed(f"the text has more than {MAX_JOINED_CHARACTERS} characters")
            parts.append(part)
        return separator.join(parts)

    return step


def aggregate_numbers(operation: Operation, site: Site) -> Step:
    """`NumericSequenceAggregate`: minimum, maximum or sum; the neutral value for no elements."""
    function = _FUNCTIONS[operation.parameters["function"]]
    neutral = operation.parameters["neutral_value"]

    def step(value: Any, parameters: Parameters) -> Any:
        elements = list(_elements(value, site))
        if not elements:
            return neutral
        try:
            return plain_value(function(elements))
        except (TypeError, ValueError, OverflowError) as error:
            raise site.wrong_input("a list of numbers", value, error) from error

    return step


def aggregate(operation: Operation, site: Site) -> Step:
    """`SequenceAggregate`: the first, last, most or least frequent element.

    Of equally frequent elements the first one is the most frequent and the last one the least
    frequent.
    """
    mode = operation.parameters["mode"]
    place = 0 if mode in ("first", "most_common") else -1
    by_frequency = mode in ("most_common", "least_common")

    def step(value: Any, parameters: Parameters) -> Any:
        codec = find_detections_codec(value, site.codecs)
        if codec is not None:
            count = codec.length(value)
            if by_frequency or not count:
                raise site.wrong_input("a list that is not empty", value)
            return codec.select(value, np.array([place % count]))
        elements = list(_elements(value, site))
        if not elements:
            raise site.wrong_input("a list that is not empty", value)
        if not by_frequency:
            return elements[place]
        try:
            return Counter(elements).most_common()[place][0]
        except TypeError as error:
            raise site.wrong_input("a list of values that can be counted", value, error) from error

    return step


def _elements(value: Any, site: Site) -> Iterable[Any]:
    codec = find_detections_codec(value, site.codecs)
    if codec is not None:
        return DetectionRows(codec, value)
    try:
        return iter(value)
    except TypeError as error:
        raise site.wrong_input("a list", value) from error
