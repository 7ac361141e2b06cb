"""Describes the language to editors as plain data. Says nothing that the tables do not say."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from execution_engine.kinds.kind import Kind
from execution_engine.query_language.operations_catalogue import OPERATION_SPECS
from execution_engine.query_language.operators_catalogue import (
    COMPARATOR_SPECS,
    UNARY_OPERATOR_SPECS,
)


@dataclass(frozen=True, slots=True)
class OperationDescription:
    """An operation as editors see it; kinds by name, nested kinds None when it is not compound.

    `property_name_options` lists the allowed values of the parameter `property_name`, None without
    one.
    """

    operation_type: str
    compound: bool
    input_kind: list[str]
    output_kind: list[str]
    nested_operation_input_kind: list[str] | None = None
    nested_operation_output_kind: list[str] | None = None
    description: str | None = None
    property_name_options: list[str] | None = None

    def to_dict(self) -> dict[str, object]:
        """The description as JSON data."""
        return {name: getattr(self, name) for name in self.__slots__}


@dataclass(frozen=True, slots=True)
class OperatorDescription:
    """A comparator or unary operator as editors see it; kinds by name, one list an operand."""

    operator_type: str
    operands_number: int
    operands_kinds: list[list[str]]
    description: str | None = None

    def to_dict(self) -> dict[str, object]:
        """The description as JSON data."""
        return {name: getattr(self, name) for name in self.__slots__}


def describe_operations() -> list[OperationDescription]:
    """Every operation, in the order of the published schema."""
    return [
        OperationDescription(
            operation_type=spec.type,
            compound=spec.compound,
            input_kind=_names(spec.input_kinds),
            output_kind=_names(spec.output_kinds),
            nested_operation_input_kind=_names(spec.nested_input_kinds) if spec.compound else None,
            nested_operation_output_kind=_names(spec.nested_output_kinds)
            if spec.compound
            else None,
            description=spec.description,
            property_name_options=next(
                (
                    list(field.type.choices)
                    for field in spec.fields
                    if field.name == "property_name"
                ),
                None,
            ),
        )
        for spec in OPERATION_SPECS
    ]


def describe_operators() -> list[OperatorDescription]:
    """Every comparator and unary operator, one entry for each name it has in JSON."""
    return [
        OperatorDescription(
            operator_type=name,
            operands_number=len(spec.operand_kinds),
            operands_kinds=[_names(kinds) for kinds in spec.operand_kinds],
            description=spec.description,
        )
        for spec in (*COMPARATOR_SPECS, *UNARY_OPERATOR_SPECS)
        for name in spec.types
    ]


def describe_query_language() -> dict[str, list[dict[str, object]]]:
    """The whole language as JSON data: `operations_description` and `operators_descriptions`."""
    return {
        "operations_description": [operation.to_dict() for operation in describe_operations()],
        "operators_descriptions": [operator.to_dict() for operator in describe_operators()],
    }


def _names(kinds: Iterable[Kind]) -> list[str]:
    return [kind.name for kind in kinds]
