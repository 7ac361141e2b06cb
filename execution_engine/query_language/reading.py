"""Reads JSON objects into definitions and says everything that is wrong with them.

Nothing is run here.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from typing import Any, Final, TypeVar

from pydantic import ValidationError
from pydantic_core import InitErrorDetails, PydanticCustomError

from execution_engine.definition.references import did_you_mean
from execution_engine.query_language.bounded_search import compile_expression
from execution_engine.query_language.definitions import (
    ROW_OPERAND,
    BinaryStatement,
    CaseDefinition,
    CasesDefinition,
    Definition,
    DynamicCaseResult,
    DynamicOperand,
    Operation,
    StatementGroup,
    StaticCaseResult,
    StaticOperand,
    UnaryStatement,
)
from execution_engine.query_language.operations_catalogue import OPERATIONS_BY_TYPE
from execution_engine.query_language.operators_catalogue import (
    COMPARATOR_TYPES,
    UNARY_OPERATOR_TYPES,
)
from execution_engine.query_language.specification import (
    ANYTHING,
    BOOLEAN,
    CASE_RESULT,
    CASES,
    COMPARATOR,
    OPERAND,
    OPERATIONS,
    STATEMENT_GROUP,
    STATEMENTS,
    TEXT,
    UNARY_OPERATOR,
    FieldSpec,
    FieldType,
    choice,
)

MAX_DEPTH: Final = 64
# So many options are listed where none is near.
_LONGEST_LIST: Final = 20

_OPERATIONS_FIELD: Final = FieldSpec(
    "operations", OPERATIONS, (), "Operations applied to the value"
)
_NEGATE_FIELD: Final = FieldSpec("negate", BOOLEAN, False, "Whether the result is turned round")

FIELDS: Final[Mapping[type[Definition], tuple[FieldSpec, ...]]] = {
    StaticOperand: (FieldSpec("value", ANYTHING, description="The value"), _OPERATIONS_FIELD),
    DynamicOperand: (
        FieldSpec("operand_name", TEXT, ROW_OPERAND, "Name of the parameter"),
        _OPERATIONS_FIELD,
    ),
    BinaryStatement: (
        FieldSpec("left_operand", OPERAND, description="What is compared"),
        FieldSpec("comparator", COMPARATOR, description="How it is compared"),
        FieldSpec("right_operand", OPERAND, description="What it is compared with"),
        _NEGATE_FIELD,
    ),
    UnaryStatement: (
        FieldSpec("operand", OPERAND, description="What is looked at"),
        FieldSpec("operator", UNARY_OPERATOR, description="What is asked of it"),
        _NEGATE_FIELD,
    ),
    StatementGroup: (
        FieldSpec("statements", STATEMENTS, description="The statements, at least one"),
        FieldSpec("operator", choice("and", "or"), "or", "How the statements are joined"),
    ),
    StaticCaseResult: (FieldSpec("value", ANYTHING, description="The result"),),
    DynamicCaseResult: (
        FieldSpec("parameter_name", TEXT, description="Name of the parameter"),
        _OPERATIONS_FIELD,
    ),
    CaseDefinition: (
        FieldSpec("condition", STATEMENT_GROUP, description="When the result is taken"),
        FieldSpec("result", CASE_RESULT, description="The result"),
    ),
    CasesDefinition: (
        FieldSpec("cases", CASES, description="Cases in order, the first true one wins"),
        FieldSpec("default", CASE_RESULT, description="Result when no case is true"),
    ),
}
OPERAND_CLASSES: Final[Mapping[str, type[Definition]]] = {
    "StaticOperand": StaticOperand,
    "DynamicOperand": DynamicOperand,
}
STATEMENT_CLASSES: Final[Mapping[str, type[Definition]]] = {
    "BinaryStatement": BinaryStatement,
    "UnaryStatement": UnaryStatement,
    "StatementGroup": StatementGroup,
}
RESULT_CLASSES: Final[Mapping[str, type[Definition]]] = {
    "StaticCaseResult": StaticCaseResult,
    "DynamicCaseResult": DynamicCaseResult,
}

Location = tuple[str | int, ...]
D = TypeVar("D", bound=Definition)
_FAILED: Final = object()


def read(cls: type[D], data: Any) -> D:
    """The definition of class `cls` that `data` stands for; `data` itself when it is one.

    Raises:
        pydantic.ValidationError: with one entry for each thing that is wrong, located in `data`.
    """
    if isinstance(data, cls):
        return data
    problems = _Problems()
    if cls is Operation:
        result = _read_operation(data, (), problems, 0)
    else:
        result = _read_one_of({cls.__name__: cls}, "definition", data, (), problems, 0)
    if problems.entries:
        raise ValidationError.from_exception_data(cls.__name__, problems.entries)
    return result


class _Problems:
    """Collects what is wrong, in pydantic's form."""

    __slots__ = ("entries",)

    def __init__(self) -> None:
        self.entries: list[InitErrorDetails] = []

    def add(self, kind: str, location: Location, value: Any, **context: Any) -> None:
        """A problem of one of pydantic's own kinds."""
        self.entries.append(InitErrorDetails(type=kind, loc=location, input=value, ctx=context))

    def add_custom(
        self, kind: str, location: Location, value: Any, message: str, **context: Any
    ) -> None:
        """A problem with a message of our own; `{name}` in it is an entry of the context."""
        error = PydanticCustomError(kind, message, context)
        self.entries.append(InitErrorDetails(type=error, loc=location, input=value))

    def add_unknown(
        self, what: str, location: Location, value: Any, options: Sequence[str]
    ) -> None:
        """A name that the language does not have."""
        hint = did_you_mean(value, options) if isinstance(value, str) else None
        if hint is None and len(options) <= _LONGEST_LIST:
            hint = f"expected {_listed(options)}"
        self.add_custom(
            f"unknown_{what.replace(' ', '_')}",
            location,
            value,
            "unknown {what} {name}{hint}",
            what=what,
            name=repr(value),
            hint=f"; {hint}" if hint else "",
        )


def _read_operation(data: Any, location: Location, problems: _Problems, depth: int) -> Any:
    if isinstance(data, Operation):
        return data
    if not isinstance(data, Mapping):
        problems.add("dict_type", location, data)
        return _FAILED
    name = data.get("type")
    spec = OPERATIONS_BY_TYPE.get(name) if isinstance(name, str) else None
    if spec is None:
        _add_wrong_type("operation", location, data, problems, tuple(OPERATIONS_BY_TYPE))
        return _FAILED
    return Operation(spec.type, _read_fields(spec.fields, data, location, problems, depth))


def _read_one_of(
    classes: Mapping[str, type[Definition]],
    what: str,
    data: Any,
    location: Location,
    problems: _Problems,
    depth: int,
) -> Any:
    if isinstance(data, tuple(classes.values())):
        return data
    if not isinstance(data, Mapping):
        problems.add("dict_type", location, data)
        return _FAILED
    name = data.get("type")
    cls = classes.get(name) if isinstance(name, str) else None
    if cls is None:
        _add_wrong_type(what, location, data, problems, tuple(classes))
        return _FAILED
    before = len(problems.entries)
    fields = _read_fields(FIELDS[cls], data, location, problems, depth)
    return cls(**fields) if len(problems.entries) == before else _FAILED


def _add_wrong_type(
    what: str,
    location: Location,
    data: Mapping[str, Any],
    problems: _Problems,
    options: Sequence[str],
) -> None:
    if "type" in data:
        problems.add_unknown(what, (*location, "type"), data["type"], options)
    else:
        problems.add("missing", (*location, "type"), data)


def _read_fields(
    specs: tuple[FieldSpec, ...],
    data: Mapping[str, Any],
    location: Location,
    problems: _Problems,
    depth: int,
) -> dict[str, Any]:
    fields: dict[str, Any] = {}
    for spec in specs:
        name = spec.name
        if name not in data:
            if spec.is_required:
                problems.add("missing", (*location, name), data)
            else:
                fields[name] = spec.default
            continue
        value = data[name]
        field_type = spec.type
        if type(value) in field_type.exact or (type(value) is str and value in field_type.choices):
            fields[name] = value
        elif field_type.nested:
            if depth >= MAX_DEPTH:
                problems.add_custom(
                    "nested_too_deeply",
                    (*location, name),
                    None,
                    "nested deeper than {limit} levels",
                    limit=MAX_DEPTH,
                )
            else:
                fields[name] = NESTED_READERS[field_type.nested](
                    value, (*location, name), problems, depth + 1
                )
        else:
            fields[name] = _read_plain(field_type, value, (*location, name), problems)
    return fields


def _read_plain(field_type: FieldType, value: Any, location: Location, problems: _Problems) -> Any:
    if field_type.choices:
        expected = _listed(field_type.choices)
        hint = did_you_mean(value, field_type.choices) if isinstance(value, str) else None
        problems.add_custom(
            "literal_error",
            location,
            value,
            "Input should be {expected}{hint}",
            expected=expected,
            hint=f"; {hint}" if hint else "",
        )
        return _FAILED
    assert field_type.validator is not None
    try:
        read_value = field_type.validator.validate_python(value)
    except ValidationError as error:
        for detail in error.errors(include_url=False):
            problems.add(
                detail["type"],
                (*location, *detail["loc"]),
                detail["input"],
                **detail.get("ctx", {}),
            )
        return _FAILED
    if field_type.is_regex:
        try:
            compile_expression(read_value)
        except re.error as error:
            problems.add_custom(
                "regex_invalid",
                location,
                value,
                "not a regular expression: {reason}",
                reason=str(error),
            )
    return read_value


def _listed(options: Sequence[str]) -> str:
    quoted = [repr(option) for option in options]
    return " or ".join(part for part in (", ".join(quoted[:-1]), quoted[-1]) if part)


def _read_entries(
    read_entry: Callable[[Any, Location, _Problems, int], Any],
    minimum: int,
    data: Any,
    location: Location,
    problems: _Problems,
    depth: int,
) -> Any:
    if not isinstance(data, (list, tuple)):
        problems.add("list_type", location, data)
        return _FAILED
    if len(data) < minimum:
        problems.add(
            "too_short",
            location,
            data,
            field_type="List",
            min_length=minimum,
            actual_length=len(data),
        )
    return tuple(
        [read_entry(entry, (*location, index), problems, depth) for index, entry in enumerate(data)]
    )


def _read_operations(data: Any, location: Location, problems: _Problems, depth: int) -> Any:
    return _read_entries(_read_operation, 0, data, location, problems, depth)


def _read_operand(data: Any, location: Location, problems: _Problems, depth: int) -> Any:
    return _read_one_of(OPERAND_CLASSES, "operand", data, location, problems, depth)


def _read_statement(data: Any, location: Location, problems: _Problems, depth: int) -> Any:
    return _read_one_of(STATEMENT_CLASSES, "statement", data, location, problems, depth)


def _read_statements(data: Any, location: Location, problems: _Problems, depth: int) -> Any:
    return _read_entries(_read_statement, 1, data, location, problems, depth)


def _read_statement_group(data: Any, location: Location, problems: _Problems, depth: int) -> Any:
    classes = {"StatementGroup": StatementGroup}
    return _read_one_of(classes, "statement group", data, location, problems, depth)


def _read_case(data: Any, location: Location, problems: _Problems, depth: int) -> Any:
    return _read_one_of({"CaseDefinition": CaseDefinition}, "case", data, location, problems, depth)


def _read_cases(data: Any, location: Location, problems: _Problems, depth: int) -> Any:
    return _read_entries(_read_case, 0, data, location, problems, depth)


def _read_case_result(data: Any, location: Location, problems: _Problems, depth: int) -> Any:
    return _read_one_of(RESULT_CLASSES, "case result", data, location, problems, depth)


def _read_comparator(data: Any, location: Location, problems: _Problems, depth: int) -> Any:
    return _read_operator_name(COMPARATOR_TYPES, "comparator", data, location, problems)


def _read_unary_operator(data: Any, location: Location, problems: _Problems, depth: int) -> Any:
    return _read_operator_name(UNARY_OPERATOR_TYPES, "operator", data, location, problems)


def _read_operator_name(
    names: frozenset[str], what: str, data: Any, location: Location, problems: _Problems
) -> Any:
    if not isinstance(data, Mapping):
        problems.add("dict_type", location, data)
        return _FAILED
    name = data.get("type")
    if isinstance(name, str) and name in names:
        return name
    _add_wrong_type(what, location, data, problems, sorted(names))
    return _FAILED


NESTED_READERS: Final[Mapping[str, Callable[[Any, Location, _Problems, int], Any]]] = {
    "operations": _read_operations,
    "operand": _read_operand,
    "comparator": _read_comparator,
    "unary_operator": _read_unary_operator,
    "statements": _read_statements,
    "statement_group": _read_statement_group,
    "cases": _read_cases,
    "case_result": _read_case_result,
}
