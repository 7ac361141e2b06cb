"""Chains of operations for the named values of a step. No block may live here."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from execution_engine.errors import InvalidFieldValueError
from execution_engine.kinds.codec import CodecRegistry
from execution_engine.query_language import AllOperationsType, QueryCompiler

Operations = Mapping[str, Sequence[AllOperationsType]]


class NamedOperations:
    """Runs on each named value the chain of operations that a step defines for its name.

    Args:
        kind_codecs: what the operations need to look into values.
    """

    def __init__(self, kind_codecs: CodecRegistry) -> None:
        self._compiler = QueryCompiler(kind_codecs)

    def apply(self, values: Mapping[str, Any], operations: Operations) -> dict[str, Any]:
        """A new mapping with the results; values without operations are passed on as they are.

        Operations may name the other values as parameters, as they were before any operation.
        """
        results = dict(values)
        for name, chain in operations.items():
            results[name] = self._compiler.operations(chain)(values[name], values)
        return results


def check_names(operations: Iterable[str], values: Iterable[str] | None, field: str) -> None:
    """Raises `ValueError` naming operations for which the field of values has no entry.

    Args:
        operations: names that have operations.
        values: names of the values; None when that field is faulty itself.
        field: name of the field of values.
    """
    if values is None:
        return
    known = list(values)
    unknown = [name for name in operations if name not in known]
    if unknown:
        raise InvalidFieldValueError(
            f"operations for {', '.join(map(repr, unknown))}, which {field} does not define; "
            f"it defines {', '.join(map(repr, known)) or 'nothing'}"
        )
