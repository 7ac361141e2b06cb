"""Finds what is allowed in the language but is seldom meant, in definitions as written.

Says nothing about definitions that cannot be read; that is done by `reading`.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Final

from execution_engine.definition.json_pointer import pointer_part
from execution_engine.query_language.definitions import ROW_OPERAND, Definition

# Where a definition names a parameter: type of the definition, field, name when it is left out.
_NAMES: Final[tuple[tuple[str, str, str | None], ...]] = (
    ("DynamicOperand", "operand_name", ROW_OPERAND),
    ("DynamicCaseResult", "parameter_name", None),
    ("DetectionsRename", "class_map", None),
    ("DetectionsRename", "strict", None),
)


@dataclass(frozen=True, slots=True)
class Silence:
    """Statements of one group that are joined without saying how; `where` is a JSON pointer."""

    where: str
    statements: int


@dataclass(frozen=True, slots=True)
class NamedParameter:
    """A parameter that a definition names; `where` is a JSON pointer."""

    where: str
    name: str


def holds_definition(value: Any) -> bool:
    """Whether a value of a manifest is a definition, or a list or object of definitions."""
    if isinstance(value, (list, tuple)):
        return any(map(holds_definition, value))
    if isinstance(value, dict):
        return any(map(holds_definition, value.values()))
    return isinstance(value, Definition)


def find_silent_groups(data: Any, where: str) -> Iterator[Silence]:
    """Every group of several statements, in JSON data, that leaves its `operator` out."""
    if isinstance(data, Mapping):
        statements = data.get("statements")
        silent = data.get("type") == "StatementGroup" and "operator" not in data
        if silent and isinstance(statements, list) and len(statements) > 1:
            yield Silence(where, len(statements))
    for key, value in _inside(data):
        yield from find_silent_groups(value, f"{where}/{key}")


def find_names(
    data: Any, where: str, known: Collection[str] = frozenset()
) -> Iterator[NamedParameter]:
    """Every parameter that JSON data names and that is none of `known`.

    The detection at hand is known inside the condition of a filter.
    """
    kind = data.get("type") if isinstance(data, Mapping) else None
    for type_name, field, default in _NAMES:
        if kind != type_name:
            continue
        name = data.get(field, default)
        if isinstance(name, str) and name not in known:
            yield NamedParameter(f"{where}/{field}" if field in data else where, name)
    for key, value in _inside(data):
        filters = kind == "DetectionsFilter" and key == "filter_operation"
        inner = {*known, ROW_OPERAND} if filters else known
        yield from find_names(value, f"{where}/{key}", inner)


def _inside(data: Any) -> Iterator[tuple[str, Any]]:
    """The parts of JSON data that may hold definitions, with their part of a JSON pointer."""
    if isinstance(data, Mapping):
        for key, value in data.items():
            # Values that operands and results state are data, whatever they look like.
            if key != "value":
                yield pointer_part(key), value
    elif isinstance(data, list):
        yield from ((str(index), value) for index, value in enumerate(data))
