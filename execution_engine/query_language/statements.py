"""Statements and cases as callables over named parameters.

Rows of detections are not looked at together here.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from execution_engine.errors import OperationTypeNotRecognisedError, RoboflowQueryLanguageError
from execution_engine.kinds.codec import CodecRegistry
from execution_engine.query_language.chain import NO_PARAMETERS
from execution_engine.query_language.comparison import COMPARATORS, unary_operator
from execution_engine.query_language.comparison_failures import not_compared
from execution_engine.query_language.definitions import (
    BinaryStatement,
    CaseResult,
    Operand,
    Statement,
    StatementGroup,
    StaticCaseResult,
    StaticOperand,
)
from execution_engine.query_language.site import (
    CONTEXT,
    Condition,
    NestedCompiler,
    Parameters,
    not_evaluated,
    undeclared,
)

Source = Callable[[Parameters], Any]


class CompiledStatement:
    """A condition over named parameters.

    Args:
        condition: the condition that is evaluated.
    """

    __slots__ = ("_condition",)

    def __init__(self, condition: Condition) -> None:
        self._condition = condition

    def __call__(self, parameters: Mapping[str, Any] | None = None) -> bool:
        """Whether the condition holds.

        Raises:
            UndeclaredSymbolError: an operand names a parameter that is not given.
            EvaluationEngineError: an operator fails; the context names its place, as
                `<root>.statements[0]`.
            RoboflowQueryLanguageError: an operation on an operand fails.
        """
        return self._condition(NO_PARAMETERS if parameters is None else parameters)


class CompiledCases:
    """Results in order of their conditions.

    Args:
        cases: condition and result of each case.
        default: the result when no condition holds.
    """

    __slots__ = ("_cases", "_default")

    def __init__(self, cases: Sequence[tuple[Condition, Source]], default: Source) -> None:
        self._cases = tuple(cases)
        self._default = default

    def __call__(self, parameters: Mapping[str, Any] | None = None) -> Any:
        """The result of the first case that holds, else the default; raises as statements do."""
        known = NO_PARAMETERS if parameters is None else parameters
        for condition, result in self._cases:
            if condition(known):
                return result(known)
        return self._default(known)


def compile_condition(
    statement: Statement, codecs: CodecRegistry, nested: NestedCompiler, path: str
) -> Condition:
    """The statement as a function of the parameters.

    Raises:
        OperationTypeNotRecognisedError: an operation or operator is not part of the language.
    """
    if isinstance(statement, StatementGroup):
        return _group(statement, codecs, nested, path)
    if isinstance(statement, BinaryStatement):
        return _binary(statement, nested, path)
    operand = compile_operand(statement.operand, nested, f"{path}.operand")
    ask = unary_operator(statement.operator, codecs)
    if ask is None:
        raise unknown_operator("Operator", statement.operator, path)
    name, negate = statement.operator, statement.negate

    def holds(parameters: Parameters) -> bool:
        try:
            return bool(ask(operand(parameters))) is not negate
        except RoboflowQueryLanguageError:
            raise
        except Exception as error:
            raise not_evaluated(name, path, error) from error

    return holds


def _binary(statement: BinaryStatement, nested: NestedCompiler, path: str) -> Condition:
    left = compile_operand(statement.left_operand, nested, f"{path}.left_operand")
    right = compile_operand(statement.right_operand, nested, f"{path}.right_operand")
    compare = COMPARATORS.get(statement.comparator)
    if compare is None:
        raise unknown_operator("Comparator", statement.comparator, path)
    name, negate = statement.comparator, statement.negate

    def holds(parameters: Parameters) -> bool:
        try:
            left_value, right_value = left(parameters), right(parameters)
        except RoboflowQueryLanguageError:
            raise
        except Exception as error:
            raise not_evaluated(name, path, error) from error
        try:
            return bool(compare(left_value, right_value)) is not negate
        except Exception as error:
            raise not_compared(statement, path, left_value, right_value, error) from error

    return holds


def _group(
    group: StatementGroup, codecs: CodecRegistry, nested: NestedCompiler, path: str
) -> Condition:
    conditions = [
        compile_condition(statement, codecs, nested, f"{path}.statements[{index}]")
        for index, statement in enumerate(group.statements)
    ]
    if len(conditions) == 1:
        return conditions[0]
    join = all if group.operator == "and" else any

    def holds(parameters: Parameters) -> bool:
        # Every statement is evaluated, so that a broken one shows even where the others decide.
        return join([condition(parameters) for condition in conditions])

    return holds


def compile_operand(operand: Operand, nested: NestedCompiler, path: str) -> Source:
    """The operand as a function of the parameters."""
    chain = nested.chain(operand.operations, path)
    has_operations = bool(operand.operations)
    if isinstance(operand, StaticOperand):
        value = operand.value
        if not has_operations:
            return lambda parameters: value
        return lambda parameters: chain(value, parameters)
    return _named(operand.operand_name, chain if has_operations else None, path)


def compile_case_result(result: CaseResult, nested: NestedCompiler, path: str) -> Source:
    """The result of a case as a function of the parameters."""
    if isinstance(result, StaticCaseResult):
        value = result.value
        return lambda parameters: value
    chain = nested.chain(result.operations, path)
    return _named(result.parameter_name, chain if result.operations else None, path)


def _named(name: str, chain: Callable[[Any, Parameters], Any] | None, path: str) -> Source:
    def look_up(parameters: Parameters) -> Any:
        try:
            value = parameters[name]
        except KeyError:
            raise undeclared(name, parameters, path) from None
        return value if chain is None else chain(value, parameters)

    return look_up


def unknown_operator(what: str, name: str, path: str) -> OperationTypeNotRecognisedError:
    """The error for a comparator or operator that the language does not have."""
    return OperationTypeNotRecognisedError(
        f"{what} '{name}' at {path} is not part of the query language.",
        context=f"{CONTEXT} | {path}",
    )
