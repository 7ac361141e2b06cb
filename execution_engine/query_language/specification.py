"""The form in which the language is written down: fields, operations, operators.

No entry of the language is here.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, Final, Literal

from pydantic_core import SchemaValidator, core_schema

from execution_engine.kinds.kind import Kind

REQUIRED: Final = object()
"""Stands for "there is no default"."""


@dataclass(frozen=True, slots=True, eq=False)
class FieldType:
    """What a field of a definition holds.

    Attributes:
        annotation: the type as the published schema shows it; the name of a type of `publication`
            for nested definitions.
        exact: Python types that are taken without a look at the value.
        validator: reads every other value with pydantic's lax rules; None for nested definitions.
        nested: which nested definitions the field holds (`operations`, `operand`, ...), "" for
            plain values.
        choices: the allowed texts, empty when any value of the type will do.
        minimum: least allowed number, or least number of entries.
        maximum: greatest allowed number.
        is_regex: whether the text must be a regular expression.
    """

    annotation: Any
    exact: frozenset[type] = frozenset()
    validator: SchemaValidator | None = None
    nested: str = ""
    choices: tuple[str, ...] = ()
    minimum: int | None = None
    maximum: int | None = None
    is_regex: bool = False


def plain(annotation: Any, schema: core_schema.CoreSchema, *exact: type) -> FieldType:
    """A field of plain values."""
    return FieldType(annotation, frozenset(exact), SchemaValidator(schema))


def choice(*options: str) -> FieldType:
    """A field that holds one of the given texts."""
    return FieldType(Literal[options], choices=options)


def nested(name: str, annotation: str, minimum: int | None = None) -> FieldType:
    """A field that holds further definitions."""
    return FieldType(annotation, nested=name, minimum=minimum)


_STRING = core_schema.str_schema()
_INTEGER = core_schema.int_schema()
_FLOAT = core_schema.float_schema()
_BOOLEAN = core_schema.bool_schema()

ANYTHING: Final = FieldType(Any, validator=SchemaValidator(core_schema.any_schema()))
TEXT: Final = plain(str, _STRING, str)
REGEX: Final = FieldType(str, validator=SchemaValidator(_STRING), is_regex=True)
INTEGER: Final = plain(int, _INTEGER, int)
PERCENT_FROM_ONE: Final = FieldType(
    int, validator=SchemaValidator(core_schema.int_schema(ge=1, le=100)), minimum=1, maximum=100
)
FLOAT: Final = plain(float, _FLOAT, float)
NUMBER: Final = plain(int | float, core_schema.union_schema([_INTEGER, _FLOAT]), int, float)
BOOLEAN: Final = plain(bool, _BOOLEAN, bool)
DICTIONARY: Final = plain(dict, core_schema.dict_schema(), dict)
CLASS_MAP: Final = plain(
    dict[str, str] | str,
    core_schema.union_schema([core_schema.dict_schema(_STRING, _STRING), _STRING]),
    str,
)
FLAG_OR_NAME: Final = plain(bool | str, core_schema.union_schema([_BOOLEAN, _STRING]), bool, str)

OPERATIONS: Final = nested("operations", "list[AllOperations]")
OPERAND: Final = nested("operand", "Operand")
COMPARATOR: Final = nested("comparator", "Comparator")
UNARY_OPERATOR: Final = nested("unary_operator", "Operator")
STATEMENTS: Final = nested("statements", "list[Statement]", minimum=1)
STATEMENT_GROUP: Final = nested("statement_group", "StatementGroup")
CASES: Final = nested("cases", "list[CaseDefinition]")
CASE_RESULT: Final = nested("case_result", "CaseResult")


@dataclass(frozen=True, slots=True, eq=False)
class FieldSpec:
    """One field of a definition: its name in JSON, what it holds, what it is when left out."""

    name: str
    type: FieldType
    default: Any = REQUIRED
    description: str = ""

    @property
    def is_required(self) -> bool:
        """Whether a definition must give it."""
        return self.default is REQUIRED


@dataclass(frozen=True, slots=True, eq=False)
class OperationSpec:
    """One operation of the language.

    Attributes:
        type: its name in JSON.
        description: one line for people.
        input_kinds: what it works on.
        output_kinds: what it makes.
        fields: its parameters.
        compound: whether editors show it as one that works on the parts of its input.
        nested_input_kinds: what its parts are.
        nested_output_kinds: what is made of a part.
    """

    type: str
    description: str
    input_kinds: tuple[Kind, ...]
    output_kinds: tuple[Kind, ...]
    fields: tuple[FieldSpec, ...] = ()
    compound: bool = False
    nested_input_kinds: tuple[Kind, ...] = ()
    nested_output_kinds: tuple[Kind, ...] = ()


@dataclass(frozen=True, slots=True, eq=False)
class OperatorSpec:
    """One comparator or unary operator of the language.

    Attributes:
        name: name of the schema that is published for it.
        types: its names in JSON.
        description: one line for people.
        operand_kinds: accepted kinds, one entry an operand, the left one first.
    """

    name: str
    types: tuple[str, ...]
    description: str
    operand_kinds: tuple[tuple[Kind, ...], ...] = field(default=())
