"""The query language of workflows: operations on values, statements about them, and cases.

`definitions` is the parsed form and what manifests use as field types, `QueryCompiler` makes
callables of it, `describe_query_language` publishes it. Values of unknown types are looked into
through their `KindCodec` only.
"""

from execution_engine.query_language.compiler import (
    QueryCompiler,
    compile_cases,
    compile_operations,
    compile_statement,
)
from execution_engine.query_language.definitions import (
    AllOperationsType,
    BinaryStatement,
    CaseDefinition,
    CasesDefinition,
    DynamicCaseResult,
    DynamicOperand,
    Operation,
    StatementGroup,
    StaticCaseResult,
    StaticOperand,
    UnaryStatement,
)
from execution_engine.query_language.introspection import describe_query_language

__all__ = [
    "AllOperationsType",
    "BinaryStatement",
    "CaseDefinition",
    "CasesDefinition",
    "DynamicCaseResult",
    "DynamicOperand",
    "Operation",
    "QueryCompiler",
    "StatementGroup",
    "StaticCaseResult",
    "StaticOperand",
    "UnaryStatement",
    "compile_cases",
    "compile_operations",
    "compile_statement",
    "describe_query_language",
]
