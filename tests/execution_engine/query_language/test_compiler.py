"""Definitions are compiled once each, and the results are cheap to ask for again."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor

import pytest

from execution_engine.errors import OperationTypeNotRecognisedError
from execution_engine.kinds.codec import CodecRegistry
from execution_engine.query_language import (
    CasesDefinition,
    DynamicOperand,
    Operation,
    QueryCompiler,
    StatementGroup,
    StaticCaseResult,
    UnaryStatement,
    compile_operations,
)
from execution_engine.query_language.compiler import MAX_KEPT

UPPER = Operation("StringToUpperCase", {})


class TestQueryCompiler:
    def test_same_object_is_compiled_once(self, codecs: CodecRegistry) -> None:
        """The same definition object gives the same compiled object, an equal one another."""
        compiler = QueryCompiler(codecs)
        operations = [UPPER]
        group = StatementGroup((UnaryStatement(DynamicOperand("x"), "Exists"),))
        cases = CasesDefinition((), StaticCaseResult(3))
        assert compiler.operations(operations) is compiler.operations(operations)
        assert compiler.operations(operations) is not compiler.operations([UPPER])
        assert compiler.statement(group) is compiler.statement(group)
        assert compiler.cases(cases) is compiler.cases(cases)
        assert compiler.operations(operations)("a") == "A"
        assert compiler.statement(group)({"x": 1}) is True
        assert compiler.cases(cases)() == 3

    def test_bounded(self, codecs: CodecRegistry) -> None:
        """Only the latest results are kept."""
        compiler = QueryCompiler(codecs)
        definitions = [[UPPER] for _ in range(MAX_KEPT + 1)]
        compiled = [compiler.operations(operations) for operations in definitions]
        assert compiler.operations(definitions[-1]) is compiled[-1]
        assert compiler.operations(definitions[1]) is compiled[1]
        assert compiler.operations(definitions[0]) is not compiled[0]

    def test_reused_ids_are_not_mixed_up(self, codecs: CodecRegistry) -> None:
        """Definitions that come and go never get the result of an earlier one."""
        compiler = QueryCompiler(codecs)
        for index in range(3 * MAX_KEPT):
            operations = [Operation("Multiply", {"other": index})]
            assert compiler.operations(operations)(1) == index
            del operations

    def test_threads(self, codecs: CodecRegistry) -> None:
        """Several threads may compile at once."""
        compiler = QueryCompiler(codecs)

        def work(start: int) -> list[int]:
            return [
                compiler.operations([Operation("Multiply", {"other": number})])(2)
                for number in range(start, start + 400)
            ]

        with ThreadPoolExecutor(4) as pool:
            results = list(pool.map(work, (0, 1000, 2000, 3000)))
        assert results == [[2 * n for n in range(s, s + 400)] for s in (0, 1000, 2000, 3000)]


class TestCompileOperations:
    def test_chain_order(self, codecs: CodecRegistry) -> None:
        """Operations are applied from left to right."""
        chain = compile_operations(
            [Operation("StringSubSequence", {"start": 0, "end": 2}), UPPER], codecs
        )
        assert chain("abcd") == "AB"

    def test_empty_chain(self, codecs: CodecRegistry) -> None:
        """Without operations the value comes back as it is."""
        value = object()
        assert compile_operations([], codecs)(value) is value

    def test_unknown_operation(self, codecs: CodecRegistry) -> None:
        """An operation outside the language is refused with its place."""
        with pytest.raises(OperationTypeNotRecognisedError) as caught:
            compile_operations([UPPER, Operation("Frobnicate", {})], codecs)
        assert caught.value.public_message == (
            "Operation 'Frobnicate' at <root>.operations[1] is not part of the query language."
        )
        assert caught.value.context.endswith(" | <root>.operations[1]")
