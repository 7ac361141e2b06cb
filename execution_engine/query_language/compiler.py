"""`QueryCompiler`: turns definitions into callables, once each.

What operations and statements do is elsewhere.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from threading import Lock
from typing import Any, Final, TypeVar

from execution_engine.errors import OperationTypeNotRecognisedError
from execution_engine.kinds.codec import CodecRegistry
from execution_engine.query_language.chain import OperationChain
from execution_engine.query_language.definitions import (
    CasesDefinition,
    Operation,
    Statement,
    StatementGroup,
)
from execution_engine.query_language.operations import OPERATION_BUILDERS
from execution_engine.query_language.row_masks import RowMask
from execution_engine.query_language.site import CONTEXT, ROOT, Site, Step
from execution_engine.query_language.statements import (
    CompiledCases,
    CompiledStatement,
    compile_case_result,
    compile_condition,
)

T = TypeVar("T")
MAX_KEPT: Final = 512


class QueryCompiler:
    """Compiles definitions and keeps what it compiled, so that asking again costs a look-up.

    A definition is recognised by identity and must not be changed after it was given. At most
    `MAX_KEPT` results are kept, the oldest go first. Safe to use from several threads.

    Args:
        codecs: how operations look into values.
    """

    def __init__(self, codecs: CodecRegistry) -> None:
        self._codecs = codecs
        self._kept: dict[int, tuple[Any, Any]] = {}
        self._lock = Lock()

    def operations(self, operations: Sequence[Operation]) -> OperationChain:
        """The operations, applied from left to right: `chain(value, parameters)`.

        Raises:
            OperationTypeNotRecognisedError: an operation or operator is not part of the language.
        """
        kept = self._kept.get(id(operations))
        if kept is not None:
            return kept[1]
        return self._keep(operations, compile_operations(operations, self._codecs))

    def statement(self, group: StatementGroup) -> CompiledStatement:
        """The statements as a condition: `condition(parameters)` gives True or False.

        Raises:
            OperationTypeNotRecognisedError: an operation or operator is not part of the language.
        """
        kept = self._kept.get(id(group))
        if kept is not None:
            return kept[1]
        return self._keep(group, compile_statement(group, self._codecs))

    def cases(self, definition: CasesDefinition) -> CompiledCases:
        """The cases: `cases(parameters)` gives the result of the first true one, else the default.

        Raises:
            OperationTypeNotRecognisedError: an operation or operator is not part of the language.
        """
        kept = self._kept.get(id(definition))
        if kept is not None:
            return kept[1]
        return self._keep(definition, compile_cases(definition, self._codecs))

    def _keep(self, definition: Any, compiled: T) -> T:
        # The definition is kept beside the result: while it lives, no other object has its id.
        with self._lock:
            while len(self._kept) >= MAX_KEPT:
                del self._kept[next(iter(self._kept))]
            self._kept[id(definition)] = (definition, compiled)
        return compiled


def compile_operations(
    operations: Sequence[Operation], codecs: CodecRegistry, path: str = ROOT
) -> OperationChain:
    """The operations as one callable; `path` is their place in error messages."""
    return Nested(codecs).chain(operations, path)


def compile_statement(
    statement: Statement, codecs: CodecRegistry, path: str = ROOT
) -> CompiledStatement:
    """The statement as a callable condition; `path` is its place in error messages."""
    return CompiledStatement(compile_condition(statement, codecs, Nested(codecs), path))


def compile_cases(
    definition: CasesDefinition, codecs: CodecRegistry, path: str = ROOT
) -> CompiledCases:
    """The cases as a callable; `path` is their place in error messages."""
    nested = Nested(codecs)
    return CompiledCases(
        [
            (
                compile_condition(
                    case.condition, codecs, nested, f"{path}.cases[{index}].condition"
                ),
                compile_case_result(case.result, nested, f"{path}.cases[{index}].result"),
            )
            for index, case in enumerate(definition.cases)
        ],
        compile_case_result(definition.default, nested, f"{path}.default"),
    )


class Nested:
    """Compiles the definitions inside definitions.

    Args:
        codecs: how operations look into values.
    """

    def __init__(self, codecs: CodecRegistry) -> None:
        self._codecs = codecs

    def chain(self, operations: Sequence[Operation], path: str) -> OperationChain:
        """The operations as one step."""
        return OperationChain(
            tuple(
                self._step(operation, f"{path}.operations[{index}]")
                for index, operation in enumerate(operations)
            )
        )

    def row_mask(self, statement: Statement, path: str) -> RowMask:
        """The statement as a function of rows of detections that gives a boolean mask (n,)."""
        return RowMask(
            statement,
            compile_condition(statement, self._codecs, self, path),
            self._codecs,
            self,
            path,
        )

    def _step(self, operation: Operation, path: str) -> Step:
        builder: Callable[[Operation, Site], Step] | None = OPERATION_BUILDERS.get(operation.type)
        if builder is None:
            raise OperationTypeNotRecognisedError(
                f"Operation '{operation.type}' at {path} is not part of the query language.",
                context=f"{CONTEXT} | {path}",
            )
        return builder(operation, Site(operation.type, path, self._codecs, self))
