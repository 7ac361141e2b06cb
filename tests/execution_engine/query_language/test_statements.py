"""Statements and cases over named parameters."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np
import pytest

from execution_engine.errors import (
    EvaluationEngineError,
    InvalidInputTypeError,
    OperationTypeNotRecognisedError,
    UndeclaredSymbolError,
)
from execution_engine.kinds.codec import CodecRegistry
from execution_engine.query_language import (
    BinaryStatement,
    CasesDefinition,
    DynamicOperand,
    StatementGroup,
    StaticOperand,
    UnaryStatement,
    compile_cases,
    compile_statement,
)
from execution_engine.query_language.operators_catalogue import (
    COMPARATOR_TYPES,
    UNARY_OPERATOR_TYPES,
)

X, Y = DynamicOperand("x"), DynamicOperand("y")
SQUARE = [[0, 0], [10, 0], [10, 10], [0, 10]]

Evaluate = Callable[[Any, Mapping[str, Any]], bool]


@pytest.fixture
def holds(codecs: CodecRegistry) -> Evaluate:
    return lambda statement, parameters: compile_statement(statement, codecs)(parameters)


COMPARISONS: list[tuple[str, Any, Any, bool]] = [
    ("==", 1, 1.0, True),
    ("==", "a", "b", False),
    ("==", None, None, True),
    ("==", [1, 2], [1, 2], True),
    ("(Number) ==", 2, 2, True),
    ("!=", "a", "b", True),
    ("(Number) !=", 2, 2, False),
    ("(Number) >", 3, 2, True),
    ("(Number) >", 2, 2, False),
    ("(Number) >=", 2, 2, True),
    ("(Number) >=", 1.9, 2, False),
    ("(Number) <", 1, 2, True),
    ("(Number) <", 2, 2, False),
    ("(Number) <=", 2, 2, True),
    ("(Number) <=", 3, 2, False),
    ("(Number) in range", 1, [1, 3], True),
    ("(Number) in range", 3, [1, 3], True),
    ("(Number) in range", 3.01, [1, 3], False),
    ("(String) startsWith", "abc", "ab", True),
    ("(String) startsWith", "abc", "b", False),
    ("(String) endsWith", "xyz", "yz", True),
    ("(String) endsWith", "xyz", "y", False),
    ("(String) contains", "aQb", "Q", True),
    ("(String) contains", "aqb", "Q", False),
    ("in (Sequence)", "q", ["abc", "q"], True),
    ("in (Sequence)", "b", "abc", True),
    ("in (Sequence)", 1, [], False),
    ("any in (Sequence)", ["a", "z"], ["a", "b"], True),
    ("any in (Sequence)", ["z"], ["a", "b"], False),
    ("any in (Sequence)", [], ["a"], False),
    ("all in (Sequence)", ["a", "b"], ["a", "b", "c"], True),
    ("all in (Sequence)", ["a", "z"], ["a", "b"], False),
    ("all in (Sequence)", [], [], True),
    ("(Detection) in zone", [5, 5], SQUARE, True),
    ("(Detection) in zone", (5.0, 9.99), SQUARE, True),
    ("(Detection) in zone", [10, 5], SQUARE, False),
    ("(Detection) in zone", [0, 0], SQUARE, False),
    ("(Detection) in zone", np.array([11, 5]), SQUARE, False),
]


class TestBinaryStatement:
    @pytest.mark.parametrize(("comparator", "left", "right", "expected"), COMPARISONS)
    def test_comparators(
        self, holds: Evaluate, comparator: str, left: Any, right: Any, expected: bool
    ) -> None:
        """Each comparator says what the language says, and the opposite when negated."""
        statement = BinaryStatement(X, comparator, StaticOperand(right))
        assert holds(statement, {"x": left}) is expected
        negated = BinaryStatement(X, comparator, StaticOperand(right), negate=True)
        assert holds(negated, {"x": left}) is not expected

    def test_every_comparator_is_in_the_table(self) -> None:
        """The table above covers the whole language."""
        assert {row[0] for row in COMPARISONS} == COMPARATOR_TYPES

    @pytest.mark.parametrize(
        ("comparator", "left", "right", "reason"),
        [
            ("(Number) in range", 1, [1], "ValueError: not enough values"),
            (
                "(Detection) in zone",
                [1, 2, 3],
                SQUARE,
                "a point must be two numbers [x, y], got an",
            ),
            ("(Detection) in zone", "here", SQUARE, "got str (take one of a detection"),
            ("(Detection) in zone", [1, 2], [[0, 0], [1, 1]], "at least three points"),
            ("(Detection) in zone", [1, 2], [[0, 0], [1]], "a zone must be a list of points"),
            ("==", np.array([1, 2]), 1, "ValueError: The truth value of an array"),
        ],
    )
    def test_failures(
        self, holds: Evaluate, comparator: str, left: Any, right: Any, reason: str
    ) -> None:
        """What a comparator cannot compare is an evaluation error with the place in its context."""
        group = StatementGroup((BinaryStatement(X, comparator, StaticOperand(right)),))
        with pytest.raises(EvaluationEngineError) as caught:
            holds(group, {"x": left})
        assert caught.value.context == (
            "step_execution | roboflow_query_language_evaluation | <root>.statements[0]"
        )
        assert caught.value.public_message.startswith(
            f"Statement at <root>.statements[0]: {comparator} failed: "
        )
        assert reason in caught.value.public_message
        assert caught.value.inner_error is not None

    @pytest.mark.parametrize(
        ("comparator", "left", "right", "reason"),
        [
            ("(Number) >", "a", 1, "a number on the left, got 'a' of type str"),
            ("(Number) <=", 2, "1500", "a number on the right, got '1500' of type str"),
            ("(Number) >", None, 1, "a number on the left, got None of type NoneType"),
            ("(Number) in range", "1", [1, 2], "a number on the left, got '1' of type str"),
            ("(String) startsWith", 5, "a", "text on the left, got 5 of type int"),
            ("(String) contains", None, "a", "text on the left, got None of type NoneType"),
            ("in (Sequence)", 1, 5, "a list or text on the right, got 5 of type int"),
        ],
    )
    def test_wrong_types(
        self, holds: Evaluate, comparator: str, left: Any, right: Any, reason: str
    ) -> None:
        """A value of a type that the comparator does not take: expected and got, and which side."""
        group = StatementGroup((BinaryStatement(X, comparator, StaticOperand(right)),))
        with pytest.raises(EvaluationEngineError) as caught:
            holds(group, {"x": left})
        assert caught.value.public_message == (
            f"Statement at <root>.statements[0]: {comparator} expects {reason}."
        )
        assert isinstance(caught.value.inner_error, (TypeError, AttributeError))

    @pytest.mark.parametrize(
        ("name", "ending"),
        [
            ("area_px", "; a step of roboflow_core/mask_area_measurement before this one adds it"),
            ("in_out", ""),
        ],
    )
    def test_property_without_value(
        self, run: Callable[..., Any], toy: Callable[..., Any], name: str, ending: str
    ) -> None:
        """A property that the detections lack is named, with the block that adds it if known."""
        left = {
            "type": "DynamicOperand",
            "operations": [{"type": "ExtractDetectionProperty", "property_name": name}],
        }
        statement = {
            "type": "BinaryStatement",
            "left_operand": left,
            "comparator": {"type": "(Number) >"},
            "right_operand": {"type": "StaticOperand", "value": 1500},
        }
        group = {"type": "StatementGroup", "statements": [statement]}
        with pytest.raises(EvaluationEngineError) as caught:
            run(toy([[0, 0, 1, 1]]), {"type": "DetectionsFilter", "filter_operation": group})
        assert caught.value.public_message == (
            "Statement at <root>.operations[0].filter_operation.statements[0]: (Number) > failed: "
            f"property '{name}' has no value on these detections{ending}."
        )

    def test_unknown_comparator(self, codecs: CodecRegistry) -> None:
        """A comparator outside the language is refused when the statement is compiled."""
        with pytest.raises(OperationTypeNotRecognisedError, match=r"Comparator '~' at <root>"):
            compile_statement(BinaryStatement(X, "~", Y), codecs)


QUESTIONS: list[tuple[str, Any, bool]] = [
    ("Exists", 0, True),
    ("Exists", "", True),
    ("Exists", None, False),
    ("DoesNotExist", None, True),
    ("DoesNotExist", False, False),
    ("(Boolean) is True", True, True),
    ("(Boolean) is True", np.bool_(True), True),
    ("(Boolean) is True", False, False),
    ("(Boolean) is True", 1, False),
    ("(Boolean) is True", "True", False),
    ("(Boolean) is False", False, True),
    ("(Boolean) is False", np.bool_(False), True),
    ("(Boolean) is False", 0, False),
    ("(Boolean) is False", None, False),
    ("(Sequence) is empty", [], True),
    ("(Sequence) is empty", "a", False),
    ("(Sequence) is empty", {}, True),
    ("(Sequence) is not empty", [0], True),
    ("(Sequence) is not empty", "", False),
]


class TestUnaryStatement:
    @pytest.mark.parametrize(("operator", "value", "expected"), QUESTIONS)
    def test_operators(self, holds: Evaluate, operator: str, value: Any, expected: bool) -> None:
        """Each operator says what the language says, and the opposite when negated."""
        assert holds(UnaryStatement(X, operator), {"x": value}) is expected
        assert holds(UnaryStatement(X, operator, negate=True), {"x": value}) is not expected

    def test_every_operator_is_in_the_table(self) -> None:
        """The table above covers the whole language."""
        assert {row[0] for row in QUESTIONS} == UNARY_OPERATOR_TYPES

    def test_detections_are_sequences(self, holds: Evaluate, toy: Callable[..., Any]) -> None:
        """The length of detections comes from their codec."""
        empty = UnaryStatement(X, "(Sequence) is empty")
        assert holds(empty, {"x": toy([])}) is True
        assert holds(empty, {"x": toy([[0, 0, 1, 1]])}) is False

    def test_failure(self, holds: Evaluate) -> None:
        """A value without length is an evaluation error."""
        with pytest.raises(EvaluationEngineError, match=r"\(Sequence\) is empty failed: TypeError"):
            holds(UnaryStatement(X, "(Sequence) is empty"), {"x": None})

    def test_failing_operation_keeps_its_class(self, holds: Evaluate) -> None:
        """An operation on the operand that fails raises its own error, with its own place."""
        statement = StatementGroup.parse(
            {
                "type": "StatementGroup",
                "statements": [
                    {
                        "type": "UnaryStatement",
                        "operand": {
                            "type": "DynamicOperand",
                            "operand_name": "x",
                            "operations": [{"type": "StringToLowerCase"}],
                        },
                        "operator": {"type": "Exists"},
                    }
                ],
            }
        )
        with pytest.raises(InvalidInputTypeError) as caught:
            holds(statement, {"x": 5})
        place = "<root>.statements[0].operand.operations[0]"
        assert caught.value.context.endswith(f" | {place}")
        assert caught.value.public_message == (
            f"StringToLowerCase at {place} expects text, got 5 of type int."
        )

    def test_unknown_operator(self, codecs: CodecRegistry) -> None:
        """An operator outside the language is refused when the statement is compiled."""
        with pytest.raises(OperationTypeNotRecognisedError, match=r"Operator 'IsOdd' at <root>"):
            compile_statement(UnaryStatement(X, "IsOdd"), codecs)


class TestOperands:
    def test_operations_are_applied(self, codecs: CodecRegistry) -> None:
        """Static and named operands go through their operations."""
        operations = [{"type": "StringToUpperCase"}]
        statement = compile_statement(
            StatementGroup.parse(
                {
                    "type": "StatementGroup",
                    "statements": [
                        {
                            "type": "BinaryStatement",
                            "left_operand": {
                                "type": "DynamicOperand",
                                "operand_name": "x",
                                "operations": operations,
                            },
                            "comparator": {"type": "=="},
                            "right_operand": {
                                "type": "StaticOperand",
                                "value": "ab",
                                "operations": operations,
                            },
                        }
                    ],
                }
            ),
            codecs,
        )
        assert statement({"x": "Ab"}) is True
        assert statement({"x": "b"}) is False

    def test_undeclared(self, holds: Evaluate) -> None:
        """An operand whose parameter is not given says name, place and the nearest given one."""
        group = StatementGroup((UnaryStatement(DynamicOperand("count"), "Exists"),))
        with pytest.raises(UndeclaredSymbolError) as caught:
            holds(group, {"counts": 1, "a": 2})
        assert caught.value.public_message == (
            "Parameter 'count' is used at <root>.statements[0].operand but was not given"
            " (given: a, counts; did you mean 'counts'?)."
        )
        assert caught.value.context.endswith("<root>.statements[0].operand")

    def test_undeclared_without_any(self, codecs: CodecRegistry) -> None:
        """Without parameters the message says so."""
        with pytest.raises(UndeclaredSymbolError, match=r"\(no parameters were given\)"):
            compile_statement(UnaryStatement(X, "Exists"), codecs)()


class TestStatementGroup:
    @pytest.mark.parametrize(
        ("operator", "values", "expected"),
        [
            ("and", (True, True), True),
            ("and", (True, False), False),
            ("or", (False, True), True),
            ("or", (False, False), False),
        ],
    )
    def test_joins(
        self, holds: Evaluate, operator: Any, values: tuple[bool, bool], expected: bool
    ) -> None:
        """`and` needs every statement, `or` one."""
        group = StatementGroup(
            (UnaryStatement(X, "(Boolean) is True"), UnaryStatement(Y, "(Boolean) is True")),
            operator,
        )
        assert holds(group, dict(zip("xy", values, strict=True))) is expected

    def test_nesting(self, holds: Evaluate) -> None:
        """Groups nest: x and (y or not x)."""
        is_x, is_y = (UnaryStatement(operand, "(Boolean) is True") for operand in (X, Y))
        inner = StatementGroup((is_y, UnaryStatement(X, "(Boolean) is True", negate=True)), "or")
        group = StatementGroup((is_x, inner), "and")
        table = {
            (x, y): holds(group, {"x": x, "y": y}) for x in (True, False) for y in (True, False)
        }
        assert table == {
            (True, True): True,
            (True, False): False,
            (False, True): False,
            (False, False): False,
        }

    def test_no_short_circuit(self, holds: Evaluate) -> None:
        """A broken statement shows even where the one before it decides."""
        group = StatementGroup(
            (UnaryStatement(X, "Exists"), UnaryStatement(X, "(Sequence) is empty")), "or"
        )
        with pytest.raises(EvaluationEngineError) as caught:
            holds(group, {"x": 1})
        assert caught.value.context.endswith("<root>.statements[1]")

    def test_nested_path(self, holds: Evaluate) -> None:
        """The place of a failure names every group on the way."""
        inner = StatementGroup((UnaryStatement(X, "(Sequence) is empty"),))
        group = StatementGroup((UnaryStatement(X, "Exists"), inner))
        with pytest.raises(EvaluationEngineError) as caught:
            holds(group, {"x": 1})
        assert caught.value.context.endswith("<root>.statements[1].statements[0]")


def switch(*conditions: str, default: Any = "none") -> CasesDefinition:
    """A case for each named boolean parameter, its result the parameter's name in capitals."""
    return CasesDefinition.parse(
        {
            "type": "CasesDefinition",
            "cases": [
                {
                    "type": "CaseDefinition",
                    "condition": {
                        "type": "StatementGroup",
                        "statements": [
                            {
                                "type": "UnaryStatement",
                                "operand": {"type": "DynamicOperand", "operand_name": name},
                                "operator": {"type": "(Boolean) is True"},
                            }
                        ],
                    },
                    "result": {"type": "StaticCaseResult", "value": name.upper()},
                }
                for name in conditions
            ],
            "default": {"type": "StaticCaseResult", "value": default},
        }
    )


class TestCompileCases:
    def test_first_true_case_wins(self, codecs: CodecRegistry) -> None:
        """Cases are tried in order; the default counts when none is true."""
        cases = compile_cases(switch("a", "b"), codecs)
        assert cases({"a": True, "b": True}) == "A"
        assert cases({"a": False, "b": True}) == "B"
        assert cases({"a": False, "b": False}) == "none"

    def test_no_cases(self, codecs: CodecRegistry) -> None:
        """Without cases the default is the result."""
        assert compile_cases(switch(default=[1, 2]), codecs)() == [1, 2]

    def test_dynamic_result(self, codecs: CodecRegistry) -> None:
        """A dynamic result is a parameter, with operations applied where there are any."""
        definition = switch("a").to_dict()
        definition["cases"][0]["result"] = {
            "type": "DynamicCaseResult",
            "parameter_name": "text",
            "operations": [{"type": "StringToUpperCase"}],
        }
        definition["default"] = {"type": "DynamicCaseResult", "parameter_name": "text"}
        cases = compile_cases(CasesDefinition.parse(definition), codecs)
        assert cases({"a": True, "text": "q"}) == "Q"
        assert cases({"a": False, "text": "q"}) == "q"

    def test_places_of_failures(self, codecs: CodecRegistry) -> None:
        """Failures in conditions and results name their case."""
        definition = switch("a", "b").to_dict()
        missing = {"type": "DynamicCaseResult", "parameter_name": "gone"}
        definition["cases"][1]["result"] = missing
        definition["default"] = missing
        cases = compile_cases(CasesDefinition.parse(definition), codecs)
        for parameters, place in [
            ({}, "<root>.cases[0].condition.statements[0].operand"),
            ({"a": False, "b": True}, "<root>.cases[1].result"),
            ({"a": False, "b": False}, "<root>.default"),
        ]:
            with pytest.raises(UndeclaredSymbolError) as caught:
                cases(parameters)
            assert caught.value.context.endswith(f" | {place}")
