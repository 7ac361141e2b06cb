"""The parsed form of the language, usable as field types of block manifests.

Reading and running are elsewhere.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping
from dataclasses import dataclass
from functools import partial
from typing import Any, Literal, Self

from pydantic import GetCoreSchemaHandler, GetJsonSchemaHandler
from pydantic_core import CoreSchema, core_schema

ROW_OPERAND = "_"


class Definition(ABC):
    """Base of everything that is written in the language; instances are immutable."""

    __slots__ = ()

    @abstractmethod
    def to_dict(self) -> dict[str, Any]:
        """The definition as the JSON object it is read from, defaults filled in."""

    @classmethod
    def parse(cls, data: Any) -> Self:
        """The definition that a JSON object stands for.

        Raises:
            pydantic.ValidationError: with one entry for each thing that is wrong, located in
            `data`.
        """
        from execution_engine.query_language.reading import read

        return read(cls, data)

    @classmethod
    def __get_pydantic_core_schema__(cls, source: Any, handler: GetCoreSchemaHandler) -> CoreSchema:
        from execution_engine.query_language.reading import read

        return core_schema.no_info_plain_validator_function(
            partial(read, cls),
            serialization=core_schema.plain_serializer_function_ser_schema(
                _as_data, return_schema=core_schema.any_schema()
            ),
        )

    @classmethod
    def __get_pydantic_json_schema__(
        cls, schema: CoreSchema, handler: GetJsonSchemaHandler
    ) -> dict[str, Any]:
        from execution_engine.query_language.publication import published_core_schema

        return handler(published_core_schema(cls))


def _as_data(definition: Any) -> Any:
    return definition.to_dict() if isinstance(definition, Definition) else definition


def _dump(value: Any) -> Any:
    if isinstance(value, Definition):
        return value.to_dict()
    if isinstance(value, tuple):
        return [_dump(item) for item in value]
    return value


@dataclass(frozen=True, slots=True)
class Operation(Definition):
    """One operation with its parameters; nested definitions among them are parsed as well."""

    type: str
    parameters: Mapping[str, Any]

    def to_dict(self) -> dict[str, Any]:
        """The operation as the JSON object it is read from."""
        return {"type": self.type} | {name: _dump(value) for name, value in self.parameters.items()}


@dataclass(frozen=True, slots=True)
class StaticOperand(Definition):
    """A value that the definition states."""

    value: Any
    operations: tuple[Operation, ...] = ()

    def to_dict(self) -> dict[str, Any]:
        """The operand as the JSON object it is read from."""
        return {"type": "StaticOperand", "value": self.value, "operations": _dump(self.operations)}


@dataclass(frozen=True, slots=True)
class DynamicOperand(Definition):
    """A named parameter of the evaluation; `_` is the detection at hand inside a filter."""

    operand_name: str = ROW_OPERAND
    operations: tuple[Operation, ...] = ()

    def to_dict(self) -> dict[str, Any]:
        """The operand as the JSON object it is read from."""
        return {
            "type": "DynamicOperand",
            "operand_name": self.operand_name,
            "operations": _dump(self.operations),
        }


Operand = StaticOperand | DynamicOperand


@dataclass(frozen=True, slots=True)
class BinaryStatement(Definition):
    """Two operands and how they are compared; `comparator` is the comparator's name."""

    left_operand: Operand
    comparator: str
    right_operand: Operand
    negate: bool = False

    def to_dict(self) -> dict[str, Any]:
        """The statement as the JSON object it is read from."""
        return {
            "type": "BinaryStatement",
            "left_operand": self.left_operand.to_dict(),
            "comparator": {"type": self.comparator},
            "right_operand": self.right_operand.to_dict(),
            "negate": self.negate,
        }


@dataclass(frozen=True, slots=True)
class UnaryStatement(Definition):
    """One operand and what is asked of it; `operator` is the operator's name."""

    operand: Operand
    operator: str
    negate: bool = False

    def to_dict(self) -> dict[str, Any]:
        """The statement as the JSON object it is read from."""
        return {
            "type": "UnaryStatement",
            "operand": self.operand.to_dict(),
            "operator": {"type": self.operator},
            "negate": self.negate,
        }


@dataclass(frozen=True, slots=True)
class StatementGroup(Definition):
    """One or more statements joined by `or` or `and`."""

    statements: tuple[BinaryStatement | UnaryStatement | StatementGroup, ...]
    operator: Literal["or", "and"] = "or"

    def to_dict(self) -> dict[str, Any]:
        """The group as the JSON object it is read from."""
        return {
            "type": "StatementGroup",
            "statements": _dump(self.statements),
            "operator": self.operator,
        }


Statement = BinaryStatement | UnaryStatement | StatementGroup


@dataclass(frozen=True, slots=True)
class StaticCaseResult(Definition):
    """A result that the definition states."""

    value: Any

    def to_dict(self) -> dict[str, Any]:
        """The result as the JSON object it is read from."""
        return {"type": "StaticCaseResult", "value": self.value}


@dataclass(frozen=True, slots=True)
class DynamicCaseResult(Definition):
    """A result made of a named parameter."""

    parameter_name: str
    operations: tuple[Operation, ...] = ()

    def to_dict(self) -> dict[str, Any]:
        """The result as the JSON object it is read from."""
        return {
            "type": "DynamicCaseResult",
            "parameter_name": self.parameter_name,
            "operations": _dump(self.operations),
        }


CaseResult = StaticCaseResult | DynamicCaseResult


@dataclass(frozen=True, slots=True)
class CaseDefinition(Definition):
    """A result and the condition under which it is taken."""

    condition: StatementGroup
    result: CaseResult

    def to_dict(self) -> dict[str, Any]:
        """The case as the JSON object it is read from."""
        return {
            "type": "CaseDefinition",
            "condition": self.condition.to_dict(),
            "result": self.result.to_dict(),
        }


@dataclass(frozen=True, slots=True)
class CasesDefinition(Definition):
    """Cases in order, the first true one wins, and the result when none is true."""

    cases: tuple[CaseDefinition, ...]
    default: CaseResult

    def to_dict(self) -> dict[str, Any]:
        """The definition as the JSON object it is read from."""
        return {
            "type": "CasesDefinition",
            "cases": _dump(self.cases),
            "default": self.default.to_dict(),
        }


AllOperationsType = Operation
