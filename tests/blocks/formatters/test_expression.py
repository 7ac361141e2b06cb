"""`expression@v1`."""

from __future__ import annotations

from typing import Any

import pytest
from pydantic import ValidationError

from blocks.formatters.expression.v1 import ExpressionBlockV1, ExpressionManifest
from execution_engine.kinds.codec import CodecRegistry

DEFAULT = {"type": "StaticCaseResult", "value": "none"}


def case(name: str, above: int, result: dict[str, Any]) -> dict[str, Any]:
    return {
        "type": "CaseDefinition",
        "condition": {
            "type": "StatementGroup",
            "statements": [
                {
                    "type": "BinaryStatement",
                    "left_operand": {"type": "DynamicOperand", "operand_name": name},
                    "comparator": {"type": "(Number) >"},
                    "right_operand": {"type": "StaticOperand", "value": above},
                }
            ],
        },
        "result": result,
    }


def run(data: dict[str, Any], cases: list[Any], data_operations: Any = None) -> Any:
    manifest = ExpressionManifest.model_validate(
        {
            "type": "Expression",
            "name": "e",
            "data": dict.fromkeys(data, "$inputs.x"),
            "switch": {"type": "CasesDefinition", "cases": cases, "default": DEFAULT},
            **({} if data_operations is None else {"data_operations": data_operations}),
        }
    )
    block = ExpressionBlockV1(CodecRegistry())
    result: Any = block.run(data, manifest.switch, manifest.data_operations)
    return result["output"]


class TestRun:
    def test_first_true_case_wins(self) -> None:
        """Cases are tried in order."""
        cases = [
            case("n", 10, {"type": "StaticCaseResult", "value": "many"}),
            case("n", 1, {"type": "StaticCaseResult", "value": "some"}),
        ]
        assert [run({"n": n}, cases) for n in (20, 5, 0)] == ["many", "some", "none"]

    def test_dynamic_result(self) -> None:
        """A result may be one of the values with further operations."""
        result = {
            "type": "DynamicCaseResult",
            "parameter_name": "text",
            "operations": [{"type": "StringToUpperCase"}],
        }
        assert run({"n": 5, "text": "abc"}, [case("n", 1, result)]) == "ABC"

    def test_data_operations_come_first(self) -> None:
        """Conditions see the values after their operations."""
        cases = [case("n", 1, {"type": "StaticCaseResult", "value": "some"})]
        operations = {"n": [{"type": "SequenceLength"}]}
        assert run({"n": [7, 8]}, cases, operations) == "some"
        assert run({"n": [7]}, cases, operations) == "none"


class TestManifest:
    def test_operations_without_value_are_refused(self) -> None:
        """Operations for a name that `data` lacks are found before anything runs."""
        with pytest.raises(ValidationError, match="'m', which data does not define"):
            run({"n": 1}, [], {"m": []})
