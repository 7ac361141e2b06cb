"""The language described as data for editors."""

from __future__ import annotations

import json

from execution_engine.query_language import describe_query_language
from execution_engine.query_language.introspection import describe_operations, describe_operators
from execution_engine.query_language.operations import OPERATION_BUILDERS
from execution_engine.query_language.operators_catalogue import (
    COMPARATOR_TYPES,
    UNARY_OPERATOR_TYPES,
)


class TestDescribeOperations:
    def test_every_operation_once(self) -> None:
        """Every operation that can be built is described once."""
        described = [operation.operation_type for operation in describe_operations()]
        assert sorted(described) == sorted(OPERATION_BUILDERS)

    def test_compound(self) -> None:
        """A compound operation says what its parts are; others have no nested kinds."""
        by_type = {operation.operation_type: operation for operation in describe_operations()}
        compound = {name for name, operation in by_type.items() if operation.compound}
        assert compound == {"SequenceMap", "SequenceApply", "DetectionsFilter"}
        assert by_type["DetectionsFilter"].nested_operation_input_kind == ["detection"]
        assert by_type["DetectionsFilter"].nested_operation_output_kind == ["boolean"]
        assert by_type["ToString"].nested_operation_input_kind is None

    def test_property_names(self) -> None:
        """Operations with a property name list what it may be."""
        options = {
            operation.operation_type: operation.property_name_options
            for operation in describe_operations()
            if operation.property_name_options is not None
        }
        assert options["ExtractImageProperty"] == ["size", "height", "width", "aspect_ratio"]
        assert options["ExtractFrameMetadata"] == [
            "frame_number",
            "frame_timestamp",
            "seconds_since_start",
        ]
        assert len(options["DetectionsPropertyExtract"] or []) == 31
        assert options["DetectionsPropertyExtract"] == options["ExtractDetectionProperty"]
        assert len(options) == 5


class TestDescribeOperators:
    def test_every_name_once(self) -> None:
        """Every name of a comparator or operator is described once, with kinds for its operands."""
        described = describe_operators()
        names = [operator.operator_type for operator in described]
        assert sorted(names) == sorted(COMPARATOR_TYPES | UNARY_OPERATOR_TYPES)
        for operator in described:
            is_unary = operator.operator_type in UNARY_OPERATOR_TYPES
            assert operator.operands_number == (1 if is_unary else 2)
            assert len(operator.operands_kinds) == operator.operands_number


class TestDescribeQueryLanguage:
    def test_is_json(self) -> None:
        """The description is JSON data of two lists."""
        described = describe_query_language()
        assert json.loads(json.dumps(described)) == described
        assert set(described) == {"operations_description", "operators_descriptions"}
        assert described["operations_description"][0] == {
            "operation_type": "StringToLowerCase",
            "compound": False,
            "input_kind": ["string"],
            "output_kind": ["string"],
            "nested_operation_input_kind": None,
            "nested_operation_output_kind": None,
            "description": "Turns text into lower case",
            "property_name_options": None,
        }
