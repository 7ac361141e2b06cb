"""Definitions are read with pydantic's rules, and everything wrong is reported at its place."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import jsonschema
import pytest
from pydantic import BaseModel, TypeAdapter, ValidationError

from execution_engine.query_language import (
    AllOperationsType,
    BinaryStatement,
    CasesDefinition,
    DynamicOperand,
    Operation,
    StatementGroup,
    StaticOperand,
    UnaryStatement,
)
from execution_engine.query_language.operations_catalogue import OPERATION_SPECS
from execution_engine.query_language.publication import published_type
from execution_engine.query_language.reading import FIELDS, MAX_DEPTH
from execution_engine.query_language.specification import REQUIRED

GROUP = {
    "type": "StatementGroup",
    "statements": [
        {
            "type": "UnaryStatement",
            "operand": {"type": "DynamicOperand", "operand_name": "x"},
            "operator": {"type": "Exists"},
        }
    ],
}
BINARY = {
    "type": "BinaryStatement",
    "left_operand": {
        "type": "DynamicOperand",
        "operations": [{"type": "ExtractDetectionProperty", "property_name": "confidence"}],
    },
    "comparator": {"type": "(Number) >="},
    "right_operand": {"type": "StaticOperand", "value": 0.5},
}
CASES = {
    "type": "CasesDefinition",
    "cases": [
        {
            "type": "CaseDefinition",
            "condition": GROUP,
            "result": {"type": "DynamicCaseResult", "parameter_name": "x"},
        }
    ],
    "default": {"type": "StaticCaseResult", "value": None},
}


class Manifest(BaseModel):
    """A manifest as blocks have it."""

    operations: list[AllOperationsType] = []
    table: dict[str, list[AllOperationsType]] = {}
    condition: StatementGroup | None = None
    switch: CasesDefinition | None = None


def errors_of(data: Mapping[str, Any]) -> list[tuple[tuple[Any, ...], str, str]]:
    with pytest.raises(ValidationError) as caught:
        Manifest.model_validate(data)
    return [(error["loc"], error["type"], error["msg"]) for error in caught.value.errors()]


class TestOperation:
    @pytest.mark.parametrize(
        ("data", "parameters"),
        [
            ({"type": "StringSubSequence"}, {"start": 0, "end": -1}),
            ({"type": "RandomNumber"}, {"min_value": 0.0, "max_value": 1.0}),
            ({"type": "SequenceJoin"}, {"separator": ", "}),
            (
                {"type": "NumericSequenceAggregate", "function": "sum"},
                {"function": "sum", "neutral_value": None},
            ),
            ({"type": "SortDetections", "mode": "size"}, {"mode": "size", "ascending": True}),
            (
                {"type": "DetectionsRename", "class_map": {"a": "b"}},
                {"class_map": {"a": "b"}, "strict": True, "new_classes_id_offset": 1024},
            ),
            (
                {"type": "DetectionsRename", "class_map": "names", "strict": "flag"},
                {"class_map": "names", "strict": "flag", "new_classes_id_offset": 1024},
            ),
            ({"type": "ConvertImageToJPEG"}, {"compression_level": 95}),
        ],
    )
    def test_defaults(self, data: dict[str, Any], parameters: dict[str, Any]) -> None:
        """Parameters that are left out take the defaults of the language."""
        assert dict(Operation.parse(data).parameters) == parameters

    def test_names(self) -> None:
        """The language has exactly these operations."""
        assert {spec.type for spec in OPERATION_SPECS} == {
            "StringToLowerCase", "StringToUpperCase", "LookupTable", "ToNumber", "NumberRound",
            "SequenceMap", "SequenceApply", "NumericSequenceAggregate", "ToString", "ToBoolean",
            "StringSubSequence", "DetectionsPropertyExtract", "SequenceAggregate",
            "ExtractDetectionProperty", "DetectionsFilter", "DetectionsOffset", "DetectionsShift",
            "DetectionsRename", "RandomNumber", "StringMatches", "ExtractImageProperty",
            "ExtractFrameMetadata", "SequenceLength", "SequenceElementsCount", "SequenceJoin",
            "Multiply", "Divide", "DetectionsSelection", "SortDetections",
            "ClassificationPropertyExtract", "ConvertImageToJPEG", "ConvertImageToBase64",
            "DetectionsToDictionary", "ConvertDictionaryToJSON", "PickDetectionsByParentClass",
            "TimestampToISOFormat",
        }  # fmt: skip

    def test_unknown_type_names_the_nearest(self) -> None:
        """An unknown type is reported at its place with the nearest known one."""
        assert errors_of({"operations": [{"type": "ToString"}, {"type": "StringToLowercase"}]}) == [
            (
                ("operations", 1, "type"),
                "unknown_operation",
                "unknown operation 'StringToLowercase'; did you mean 'StringToLowerCase'?",
            )
        ]

    def test_unknown_type_without_near_name(self) -> None:
        """A type that looks like nothing known gets no hint, and no list of all operations."""
        assert errors_of({"operations": [{"type": "Zzz"}, {"type": 7}]}) == [
            (("operations", 0, "type"), "unknown_operation", "unknown operation 'Zzz'"),
            (("operations", 1, "type"), "unknown_operation", "unknown operation 7"),
        ]

    def test_every_problem_is_reported(self) -> None:
        """All problems of all operations come in one error, each with its own place."""
        found = errors_of(
            {
                "operations": [
                    {"type": "ToNumber", "cast_to": "integer"},
                    {"type": "NumberRound"},
                    {"type": "NumberRound", "decimal_digits": "x"},
                    5,
                    {"start": 1},
                    {"type": "StringMatches", "regex": "("},
                    {"type": "StringMatches", "regex": 4},
                    {"type": "ConvertImageToJPEG", "compression_level": 101},
                    {"type": "SequenceApply", "operations": {"type": "ToString"}},
                    {"type": "DetectionsFilter", "filter_operation": []},
                ],
                "table": {"k": [{"type": "DetectionsRename", "class_map": {"a": 1}}]},
            }
        )
        assert [(location, kind) for location, kind, _ in found] == [
            (("operations", 0, "cast_to"), "literal_error"),
            (("operations", 1, "decimal_digits"), "missing"),
            (("operations", 2, "decimal_digits"), "int_parsing"),
            (("operations", 3), "dict_type"),
            (("operations", 4, "type"), "missing"),
            (("operations", 5, "regex"), "regex_invalid"),
            (("operations", 6, "regex"), "string_type"),
            (("operations", 7, "compression_level"), "less_than_equal"),
            (("operations", 8, "operations"), "list_type"),
            (("operations", 9, "filter_operation"), "dict_type"),
            (("table", "k", 0, "class_map", "dict[str,str]", "a"), "string_type"),
            (("table", "k", 0, "class_map", "str"), "string_type"),
        ]
        assert found[0][2] == "Input should be 'int' or 'float'; did you mean 'int'?"
        assert found[5][2].startswith("not a regular expression: missing )")

    def test_choice_hints(self) -> None:
        """A wrong choice lists the choices and names the nearest one."""
        ((_, kind, message),) = errors_of(
            {"operations": [{"type": "SequenceAggregate", "mode": "most_comon"}]}
        )
        assert kind == "literal_error"
        assert message == (
            "Input should be 'first', 'last', 'most_common' or 'least_common'; "
            "did you mean 'most_common'?"
        )
        ((_, _, message),) = errors_of({"operations": [{"type": "SequenceAggregate", "mode": 1}]})
        assert message == "Input should be 'first', 'last', 'most_common' or 'least_common'"

    def test_extra_keys_are_ignored(self) -> None:
        """Keys the language does not know are no error."""
        assert Operation.parse({"type": "ToString", "note": "mine"}) == Operation("ToString", {})

    def test_parsed_operations_pass(self) -> None:
        """A parsed operation is taken as it is, at the top and inside others."""
        inner = Operation("ToString", {})
        assert Operation.parse(inner) is inner
        outer = Operation.parse({"type": "SequenceApply", "operations": (inner,)})
        assert outer.parameters["operations"][0] is inner
        group = StatementGroup.parse(GROUP)
        assert StatementGroup.parse({**GROUP, "statements": [group]}).statements[0] is group

    def test_dump_is_what_was_read(self) -> None:
        """A manifest dumps its operations as the objects they came from, defaults filled in."""
        manifest = Manifest.model_validate(
            {"operations": [{"type": "DetectionsFilter", "filter_operation": GROUP}]}
        )
        dumped = manifest.model_dump()
        assert dumped["operations"][0]["filter_operation"]["operator"] == "or"
        assert Manifest.model_validate(dumped) == manifest
        assert Manifest.model_validate_json(manifest.model_dump_json()) == manifest

    def test_replaced_value_still_dumps(self) -> None:
        """A field that was set past validation dumps as it is."""
        manifest = Manifest.model_construct(condition={"type": "mine"})
        assert manifest.model_dump(warnings=False)["condition"] == {"type": "mine"}


PROBES: list[Any] = [
    None, True, 0, 3, 1.5, 2.0, "", "x", "7", "true", [], ["a"], {}, {"a": "b"}, {"a": 1}, b"x",
    "first", "sum", "confidence", "int", 101, -1,
]  # fmt: skip


class TestAgainstPublishedModels:
    """Oracle: the pydantic models that are published for the same language."""

    @pytest.mark.parametrize("spec", OPERATION_SPECS, ids=lambda spec: spec.type)
    def test_same_values_and_refusals(self, spec: Any) -> None:
        """Each plain parameter takes, converts and refuses what the published model does."""
        adapter = TypeAdapter(published_type(Operation))
        good: dict[str, Any] = {"type": spec.type}
        for field in spec.fields:
            if field.default is REQUIRED:
                good[field.name] = {
                    "operations": [],
                    "filter_operation": GROUP,
                }.get(field.name) or next(
                    (probe for probe in PROBES if _accepts(field.type, probe)), None
                )
                if field.name == "operations":
                    good[field.name] = []
                if field.type.choices:
                    good[field.name] = field.type.choices[0]
        for field in spec.fields:
            if field.type.nested:
                continue
            for probe in PROBES:
                data = {**good, field.name: probe}
                try:
                    expected = getattr(adapter.validate_python(data), field.name)
                except ValidationError:
                    with pytest.raises(ValidationError):
                        Operation.parse(data)
                else:
                    got = Operation.parse(data).parameters[field.name]
                    assert (got, type(got)) == (expected, type(expected)), (field.name, probe)

    def test_same_defaults(self) -> None:
        """Every default of the published models is the default that definitions are read with."""
        for spec in OPERATION_SPECS:
            for field in spec.fields:
                published = _published_field(spec.type, field.name)
                assert published.is_required() == field.is_required
                if not field.is_required:
                    assert published.default == field.default


def _accepts(field_type: Any, probe: Any) -> bool:
    if field_type.validator is None:
        return False
    try:
        field_type.validator.validate_python(probe)
    except ValidationError:
        return False
    return True


def _published_field(type_name: str, field_name: str) -> Any:
    union = published_type(Operation)
    members = {model.__name__: model for model in union.__origin__.__args__}
    return members[type_name].model_fields[field_name]


class TestStatementGroup:
    def test_parts(self) -> None:
        """A group is read into typed parts with the defaults of the language."""
        group = StatementGroup.parse({**GROUP, "statements": [GROUP["statements"][0], BINARY]})
        unary, binary = group.statements
        assert group.operator == "or"
        assert unary == UnaryStatement(DynamicOperand("x"), "Exists", False)
        assert binary == BinaryStatement(
            DynamicOperand(
                "_", (Operation("ExtractDetectionProperty", {"property_name": "confidence"}),)
            ),
            "(Number) >=",
            StaticOperand(0.5),
        )

    def test_round_trip(self) -> None:
        """What `to_dict` gives is read into an equal group, nested groups included."""
        group = StatementGroup.parse(
            {"type": "StatementGroup", "operator": "and", "statements": [GROUP, BINARY]}
        )
        assert StatementGroup.parse(group.to_dict()) == group

    def test_problems(self) -> None:
        """Problems deep in a statement are located there, with the nearest known names."""
        bad = {
            "type": "StatementGroup",
            "operator": "xor",
            "statements": [
                {**BINARY, "comparator": {"type": "(String) startswith"}, "negate": "maybe"},
                {**BINARY, "left_operand": {"type": "Dynamic"}, "right_operand": 4},
                {"type": "BinaryStatment"},
                {
                    "type": "UnaryStatement",
                    "operand": {"type": "StaticOperand"},
                    "operator": {"type": "exists"},
                },
                {
                    "type": "UnaryStatement",
                    "operand": {"type": "DynamicOperand"},
                    "operator": "Exists",
                },
                {"type": "StatementGroup", "statements": []},
                {**BINARY, "comparator": {}},
            ],
        }
        at = ("condition", "statements")
        found = errors_of({"condition": bad})
        assert [(location, kind) for location, kind, _ in found] == [
            ((*at, 0, "comparator", "type"), "unknown_comparator"),
            ((*at, 0, "negate"), "bool_parsing"),
            ((*at, 1, "left_operand", "type"), "unknown_operand"),
            ((*at, 1, "right_operand"), "dict_type"),
            ((*at, 2, "type"), "unknown_statement"),
            ((*at, 3, "operand", "value"), "missing"),
            ((*at, 3, "operator", "type"), "unknown_operator"),
            ((*at, 4, "operator"), "dict_type"),
            ((*at, 5, "statements"), "too_short"),
            ((*at, 6, "comparator", "type"), "missing"),
            (("condition", "operator"), "literal_error"),
        ]
        messages = [message for _, _, message in found]
        assert messages[0] == (
            "unknown comparator '(String) startswith'; did you mean '(String) startsWith'?"
        )
        assert messages[2] == "unknown operand 'Dynamic'; did you mean 'DynamicOperand'?"
        assert messages[4] == "unknown statement 'BinaryStatment'; did you mean 'BinaryStatement'?"
        assert messages[6] == "unknown operator 'exists'; did you mean 'Exists'?"

    def test_wrong_type_lists_what_is_expected(self) -> None:
        """Where few types are possible and none is near, they are listed."""
        ((location, kind, message),) = errors_of({"condition": {"type": "Foo"}})
        assert (location, kind) == (("condition", "type"), "unknown_definition")
        assert message == "unknown definition 'Foo'; expected 'StatementGroup'"

    def test_nesting_is_limited(self) -> None:
        """Definitions nested deeper than the limit are refused instead of exhausting the stack."""

        def nest(levels: int) -> dict[str, Any]:
            group: dict[str, Any] = GROUP
            for _ in range(levels):
                group = {"type": "StatementGroup", "statements": [group]}
            return group

        StatementGroup.parse(nest(MAX_DEPTH - 3))
        found = errors_of({"condition": nest(5000)})
        assert [kind for _, kind, _ in found] == ["nested_too_deeply"]
        assert found[0][2] == f"nested deeper than {MAX_DEPTH} levels"
        assert found[0][0] == ("condition", *(("statements", 0) * MAX_DEPTH), "statements")


class TestCasesDefinition:
    def test_round_trip(self) -> None:
        """Cases are read and given back."""
        cases = CasesDefinition.parse(CASES)
        assert cases.cases[0].result.to_dict() == {
            "type": "DynamicCaseResult",
            "parameter_name": "x",
            "operations": [],
        }
        assert cases.default.to_dict() == {"type": "StaticCaseResult", "value": None}
        assert CasesDefinition.parse(cases.to_dict()) == cases

    def test_problems(self) -> None:
        """Problems in cases are located."""
        bad = {
            "type": "CasesDefinition",
            "cases": [{"type": "CaseDefinition", "condition": {"type": "Group"}, "result": 1}, 4],
        }
        assert [(location, kind) for location, kind, _ in errors_of({"switch": bad})] == [
            (("switch", "cases", 0, "condition", "type"), "unknown_statement_group"),
            (("switch", "cases", 0, "result"), "dict_type"),
            (("switch", "cases", 1), "dict_type"),
            (("switch", "default"), "missing"),
        ]


class TestJsonSchema:
    SCHEMA = Manifest.model_json_schema()

    def test_is_valid_and_complete(self) -> None:
        """The schema is a JSON schema, and every reference in it has its target."""
        jsonschema.Draft202012Validator.check_schema(self.SCHEMA)
        missing = [
            reference
            for reference in _references(self.SCHEMA)
            if reference.removeprefix("#/$defs/") not in self.SCHEMA["$defs"]
        ]
        assert missing == []

    @pytest.mark.parametrize(
        ("data", "is_valid"),
        [
            ({"operations": [{"type": "ToString"}], "condition": GROUP, "switch": CASES}, True),
            ({"operations": [{"type": "DetectionsFilter", "filter_operation": GROUP}]}, True),
            ({"operations": [{"type": "ToText"}]}, False),
            ({"operations": [{"type": "NumberRound"}]}, False),
            ({"operations": [{"type": "ConvertImageToJPEG", "compression_level": 0}]}, False),
            ({"condition": {"type": "StatementGroup", "statements": []}}, False),
        ],
    )
    def test_accepts_what_is_read(self, data: dict[str, Any], is_valid: bool) -> None:
        """The schema accepts definitions that are read and refuses those that are not."""
        assert jsonschema.Draft202012Validator(self.SCHEMA).is_valid(data) is is_valid
        try:
            Manifest.model_validate(data)
        except ValidationError:
            assert not is_valid
        else:
            assert is_valid

    def test_describes_operations(self) -> None:
        """The schema of an operation carries what editors need."""
        described = self.SCHEMA["$defs"]["DetectionsFilter"]
        assert described["compound"] is True
        assert described["nested_operation_input_kind"][0]["name"] == "detection"
        assert described["properties"]["type"]["const"] == "DetectionsFilter"
        equals = self.SCHEMA["$defs"]["Equals"]
        assert equals["properties"]["type"]["enum"] == ["(Number) ==", "=="]
        assert equals["operands_number"] == 2

    def test_every_definition_has_fields(self) -> None:
        """Every class that is read from JSON has an entry in the schema."""
        names = {cls.__name__ for cls in FIELDS} - {"StatementGroup", "CasesDefinition"}
        assert names <= self.SCHEMA["$defs"].keys()


def _references(schema: Any) -> list[str]:
    if isinstance(schema, list):
        return [found for item in schema for found in _references(item)]
    if not isinstance(schema, dict):
        return []
    own = [schema["$ref"]] if isinstance(schema.get("$ref"), str) else []
    return own + [found for item in schema.values() for found in _references(item)]
