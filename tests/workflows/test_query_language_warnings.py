"""What `Workflow.warnings` says about the query language in a step."""

from __future__ import annotations

from typing import Any

import pytest

from workflows import Session, Workflow

AREA = {
    "type": "DynamicOperand",
    "operations": [{"type": "ExtractDetectionProperty", "property_name": "size"}],
}


def above(right: dict[str, Any], left: dict[str, Any] = AREA) -> dict[str, Any]:
    """The statement `left > right`."""
    return {
        "type": "BinaryStatement",
        "left_operand": left,
        "comparator": {"type": "(Number) >"},
        "right_operand": right,
    }


def number(value: float) -> dict[str, Any]:
    return {"type": "StaticOperand", "value": value}


def named(name: str) -> dict[str, Any]:
    return {"type": "DynamicOperand", "operand_name": name}


def group(*statements: dict[str, Any], **more: Any) -> dict[str, Any]:
    return {"type": "StatementGroup", "statements": list(statements), **more}


def filtering(
    condition: dict[str, Any], parameters: dict[str, str] | None = None
) -> dict[str, Any]:
    """A workflow with one filter of detections."""
    step: dict[str, Any] = {
        "type": "roboflow_core/detections_filter@v1",
        "name": "keep",
        "predictions": "$inputs.predictions",
        "operations": [{"type": "DetectionsFilter", "filter_operation": condition}],
    }
    if parameters is not None:
        step["operations_parameters"] = parameters
    return {
        "version": "1.0",
        "inputs": [
            {
                "type": "WorkflowBatchInput",
                "name": "predictions",
                "kind": ["object_detection_prediction"],
            },
            {"type": "WorkflowParameter", "name": "least", "default_value": 3},
        ],
        "steps": [step],
        "outputs": [{"type": "JsonField", "name": "kept", "selector": "$steps.keep.predictions"}],
    }


CONDITION = "/steps/0/operations/0/filter_operation"


class TestJoinedByOr:
    def test_place_and_text(self, session: Session) -> None:
        """Several statements without `operator` are named with their number and place."""
        definition = filtering(group(above(number(1)), above(number(2))))
        workflow = Workflow(definition, session=session)
        assert workflow.check() == []
        (warning,) = workflow.warnings()
        assert warning.code == "joined_by_or"
        assert warning.where == CONDITION
        assert warning.message == (
            "Step 'keep': 2 statements without an `operator` are joined by `or`; say `and` or `or`."
        )
        assert (warning.block_id, warning.property_name) == ("keep", "operations")

    @pytest.mark.parametrize(
        "condition",
        [
            group(above(number(1))),
            group(above(number(1)), above(number(2)), operator="or"),
            group(above(number(1)), above(number(2)), operator="and"),
        ],
        ids=["one", "or", "and"],
    )
    def test_what_is_said_needs_no_warning(
        self, session: Session, condition: dict[str, Any]
    ) -> None:
        """One statement, and statements whose operator is given, are as they should be."""
        assert Workflow(filtering(condition), session=session).warnings() == []

    def test_inner_group(self, session: Session) -> None:
        """A group inside a group is found at its own place."""
        inner = group(above(number(1)), above(number(2)), above(number(3)))
        definition = filtering(group(above(number(0)), inner, operator="and"))
        (warning,) = Workflow(definition, session=session).warnings()
        assert warning.where == f"{CONDITION}/statements/1"
        assert "3 statements" in warning.message


class TestNamesThatAreNotGiven:
    def test_without_parameters(self, session: Session) -> None:
        """A name that `operations_parameters` lacks is named with its place."""
        definition = filtering(group(above(named("min_area"))))
        workflow = Workflow(definition, session=session)
        assert workflow.check() == []
        (warning,) = workflow.warnings()
        assert warning.code == "parameter_not_given"
        assert warning.where == f"{CONDITION}/statements/0/right_operand/operand_name"
        assert warning.message == (
            "Step 'keep' uses the parameter 'min_area', which operations_parameters does not "
            "give; it gives nothing."
        )

    def test_nearest_name(self, session: Session) -> None:
        """The nearest of the names that are given is the hint."""
        definition = filtering(group(above(named("min_area"))), {"min_areas": "$inputs.least"})
        (warning,) = Workflow(definition, session=session).warnings()
        assert warning.message.endswith("it gives min_areas.")
        assert warning.hint == "did you mean 'min_areas'?"

    def test_given(self, session: Session) -> None:
        """A name that is given, and the detection at hand, need no warning."""
        definition = filtering(group(above(named("min_area"))), {"min_area": "$inputs.least"})
        assert Workflow(definition, session=session).warnings() == []

    def test_the_detection_outside_of_a_filter(self, session: Session) -> None:
        """`_` is known inside a filter only."""
        definition = filtering(group(above(number(1))))
        definition["steps"].append(
            {
                "type": "roboflow_core/continue_if@v1",
                "name": "gate",
                "condition_statement": group(above(number(1), {"type": "DynamicOperand"})),
                "evaluation_parameters": {"count": "$inputs.least"},
                "next_steps": ["$steps.keep"],
            }
        )
        (warning,) = Workflow(definition, session=session).warnings()
        assert warning.where == "/steps/1/condition_statement/statements/0/left_operand"
        assert "'_'" in warning.message

    def test_results_of_cases(self, session: Session) -> None:
        """The result of a case names a value, too."""
        definition = filtering(group(above(number(1))))
        definition["steps"].append(
            {
                "type": "roboflow_core/expression@v1",
                "name": "choose",
                "data": {"a": "$inputs.least"},
                "switch": {
                    "type": "CasesDefinition",
                    "cases": [],
                    "default": {"type": "DynamicCaseResult", "parameter_name": "b"},
                },
            }
        )
        (warning,) = Workflow(definition, session=session).warnings()
        assert warning.where == "/steps/1/switch/default/parameter_name"


class TestUnknownNamesOfTheLanguage:
    def test_comparator(self, session: Session) -> None:
        """An unknown comparator is said plainly, and the hint lists the known ones."""
        statement = above(number(1)) | {"comparator": {"type": "GT"}}
        (problem,) = Workflow(filtering(group(statement)), session=session).check()
        assert problem.message == (
            "Step 'keep': 'operations[0].filter_operation.statements[0].comparator.type' is the "
            "unknown comparator 'GT'."
        )
        assert problem.hint is not None
        assert "'(Number) >'" in problem.hint

    def test_near_comparator(self, session: Session) -> None:
        """Where one is near, the hint names it alone."""
        statement = above(number(1)) | {"comparator": {"type": "(number) >"}}
        (problem,) = Workflow(filtering(group(statement)), session=session).check()
        assert problem.hint == "did you mean '(Number) >'?"

    def test_operation(self, session: Session) -> None:
        """An unknown operation names the nearest one."""
        definition = filtering(group(above(number(1))))
        definition["steps"][0]["operations"] = [{"type": "DetectionFilter"}]
        (problem,) = Workflow(definition, session=session).check()
        assert problem.message.endswith("is the unknown operation 'DetectionFilter'.")
        assert problem.hint == "did you mean 'DetectionsFilter'?"


class TestInputOfUnknownType:
    def test_only_the_cause_is_reported(
        self, session: Session, blur_definition: dict[str, Any]
    ) -> None:
        """Steps and outputs that refer to an input of unknown type are not blamed for it."""
        blur_definition["inputs"][0]["type"] = "Image"
        blur_definition["outputs"].append(
            {"type": "JsonField", "name": "same", "selector": "$inputs.image"}
        )
        (problem,) = Workflow(blur_definition, session=session).check()
        assert problem.where == "/inputs/0/type"
        assert problem.hint == "did you mean 'WorkflowImage'?"
