"""The JSON schema of the language, made of the same tables that definitions are read by.

Used only to publish.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from functools import cache
from typing import Annotated, Any, Literal, Union

from pydantic import BaseModel, ConfigDict, Field, TypeAdapter, create_model
from pydantic_core import CoreSchema

from execution_engine.query_language.definitions import Definition, Operation
from execution_engine.query_language.operations_catalogue import OPERATION_SPECS
from execution_engine.query_language.operators_catalogue import (
    COMPARATOR_SPECS,
    UNARY_OPERATOR_SPECS,
)
from execution_engine.query_language.reading import (
    FIELDS,
    OPERAND_CLASSES,
    RESULT_CLASSES,
    STATEMENT_CLASSES,
)
from execution_engine.query_language.specification import FieldSpec, OperationSpec, OperatorSpec


def published_core_schema(cls: type[Definition]) -> CoreSchema:
    """Core schema of the published form of a definition class, to make a JSON schema of."""
    return TypeAdapter(published_type(cls)).core_schema


def published_type(cls: type[Definition]) -> Any:
    """The published form of a definition class: a pydantic model or the union of operations."""
    types = _published_types()
    return types["AllOperations"] if cls is Operation else types[cls.__name__]


@cache
def _published_types() -> Mapping[str, Any]:
    types: dict[str, Any] = {}
    operations = [_operation_model(spec) for spec in OPERATION_SPECS]
    comparators = [_operator_model(spec) for spec in COMPARATOR_SPECS]
    operators = [_operator_model(spec) for spec in UNARY_OPERATOR_SPECS]
    definitions = [
        _model(cls.__name__, (cls.__name__,), fields, {}) for cls, fields in FIELDS.items()
    ]
    for model in (*operations, *comparators, *operators, *definitions):
        types[model.__name__] = model
    types["AllOperations"] = _one_of(operations)
    types["Comparator"] = _one_of(comparators)
    types["Operator"] = _one_of(operators)
    types["Operand"] = _one_of(types[name] for name in OPERAND_CLASSES)
    types["Statement"] = _one_of(types[name] for name in STATEMENT_CLASSES)
    types["CaseResult"] = _one_of(types[name] for name in RESULT_CLASSES)
    for model in (*operations, *definitions):
        model.model_rebuild(_types_namespace=types)
    return types


def _one_of(models: Iterable[type[BaseModel]]) -> Any:
    return Annotated[Union[tuple(models)], Field(discriminator="type")]


def _operation_model(spec: OperationSpec) -> type[BaseModel]:
    described: dict[str, Any] = {
        "description": spec.description,
        "compound": spec.compound,
        "input_kind": [kind.to_dict() for kind in spec.input_kinds],
        "output_kind": [kind.to_dict() for kind in spec.output_kinds],
    }
    if spec.compound:
        described["nested_operation_input_kind"] = [
            kind.to_dict() for kind in spec.nested_input_kinds
        ]
        described["nested_operation_output_kind"] = [
            kind.to_dict() for kind in spec.nested_output_kinds
        ]
    return _model(spec.type, (spec.type,), spec.fields, described)


def _operator_model(spec: OperatorSpec) -> type[BaseModel]:
    described = {
        "description": spec.description,
        "operands_number": len(spec.operand_kinds),
        "operands_kinds": [[kind.to_dict() for kind in kinds] for kinds in spec.operand_kinds],
    }
    return _model(spec.name, spec.types, (), described)


def _model(
    name: str, types: tuple[str, ...], fields: tuple[FieldSpec, ...], described: dict[str, Any]
) -> type[BaseModel]:
    members: dict[str, Any] = {"type": (Literal[types], ...)}
    for spec in fields:
        members[spec.name] = (_annotation(spec), _field(spec))
    return create_model(
        name, __config__=ConfigDict(json_schema_extra=described), __module__=__name__, **members
    )


def _annotation(spec: FieldSpec) -> Any:
    return spec.type.annotation


def _field(spec: FieldSpec) -> Any:
    limits: dict[str, Any] = {}
    if spec.type.nested and spec.type.minimum is not None:
        limits["min_length"] = spec.type.minimum
    elif spec.type.minimum is not None:
        limits = {"ge": spec.type.minimum, "le": spec.type.maximum}
    if spec.is_required:
        return Field(description=spec.description, **limits)
    if spec.default == ():
        return Field(default_factory=list, description=spec.description, **limits)
    return Field(default=spec.default, description=spec.description, **limits)
