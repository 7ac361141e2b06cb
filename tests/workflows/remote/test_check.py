"""What a server lacks: found out there, read here."""

from __future__ import annotations

from typing import Any

import pytest

from workflows import Session
from workflows.remote.check import find_missing, missing_on_server, model_parameters
from workflows.remote.errors import MissingItem

DETECTOR = "roboflow_core/roboflow_object_detection_model@v2"
MODELS = ["parts/1", "parts/2", "faces/1"]


def definition(*steps: dict[str, Any], inputs: list[dict[str, Any]] | None = None) -> Any:
    image = {"type": "WorkflowImage", "name": "image"}
    return {"version": "1.0", "inputs": [image, *(inputs or [])], "steps": list(steps)}


def step(type_id: str, name: str = "s", **fields: Any) -> dict[str, Any]:
    return {"type": type_id, "name": name, "image": "$inputs.image", **fields}


def found(session: Session, workflow: Any, **parameters: Any) -> list[dict[str, Any]]:
    return find_missing(workflow, parameters, session.registry, MODELS.__contains__, lambda: MODELS)


class TestFindMissing:
    def test_nothing_is_missing(self, session: Session) -> None:
        """Blocks by id and alias, models by literal."""
        workflow = definition(
            step("roboflow_core/image_blur@v1"),
            step("AbsoluteStaticCrop"),
            step(DETECTOR, model_id="parts/1"),
        )
        assert found(session, workflow) == []

    def test_unknown_blocks_with_the_nearest_there_are(self, session: Session) -> None:
        """Blocks that are known by name only are not offered."""
        [item] = found(session, definition(step("roboflow_core/image_blurr@v1")))
        assert item["kind"] == "block"
        assert "roboflow_core/image_blur@v1" in item["available"]
        assert all(session.registry.spec(name) for name in item["available"])
        assert item["where"] == "/steps/0/type"

    def test_unknown_versions_with_those_there_are(self, session: Session) -> None:
        """The block is there in another version."""
        [item] = found(session, definition(step("roboflow_core/image_slicer@v9", "cut")))
        assert item == {
            "step": "cut",
            "block_type": "roboflow_core/image_slicer@v9",
            "kind": "version",
            "wanted": "roboflow_core/image_slicer@v9",
            "available": ["roboflow_core/image_slicer@v1", "roboflow_core/image_slicer@v2"],
            "where": "/steps/0/type",
        }

    def test_models_by_literal_parameter_and_default(self, session: Session) -> None:
        """Whatever names them; a model that a step computes is not known before the run."""
        inputs = [
            {"type": "WorkflowParameter", "name": "given"},
            {"type": "WorkflowParameter", "name": "usual", "default_value": "partz/3"},
        ]
        workflow = definition(
            step(DETECTOR, "a", model_id="part/1"),
            step(DETECTOR, "b", model_id="$inputs.given"),
            step(DETECTOR, "c", model_id="$inputs.usual"),
            step(DETECTOR, "d", model_id="$steps.x.y"),
            step(DETECTOR, "e", model_id="$inputs.usual2"),
            inputs=inputs,
        )
        items = found(session, workflow, given="cats/1")
        assert [(item["step"], item["wanted"]) for item in items] == [
            ("a", "part/1"),
            ("b", "cats/1"),
            ("c", "partz/3"),
        ]
        assert items[0]["available"][0] == "parts/1"
        assert items[0]["where"] == "/steps/0/model_id"

    @pytest.mark.parametrize(
        "workflow", [None, [], {}, {"steps": 3}, {"steps": [1, {}, {"type": 5}]}, {"inputs": {}}]
    )
    def test_broken_definitions_are_not_its_business(self, session: Session, workflow: Any) -> None:
        """The compiler says what is wrong with them."""
        assert found(session, workflow) == []


class TestModelParameters:
    def test_names_of_inputs_that_feed_model_fields(self) -> None:
        """Other inputs are not part of the question."""
        workflow = definition(
            step(DETECTOR, model_id="$inputs.detector", confidence="$inputs.confidence"),
            step("x", roboflow_model_id="$inputs.other"),
        )
        assert model_parameters(workflow) == {"detector", "other"}


class TestMissingOnServer:
    def test_nothing(self) -> None:
        """Also where the answer says nothing about it."""
        assert missing_on_server({"missing": []}, "http://s") is None
        assert missing_on_server({}, "http://s") is None

    def test_names_step_type_and_what_there_is(self, session: Session) -> None:
        """One problem each, with the place and the way out."""
        workflow = definition(
            step("roboflow_core/image_slicer@v9", "cut"), step(DETECTOR, "find", model_id="part/1")
        )
        error = missing_on_server({"missing": found(session, workflow)}, "http://s")
        assert error is not None
        assert str(error).splitlines() == [
            "/steps/0/type: Step 'cut' has the type 'roboflow_core/image_slicer@v9', which the "
            "server http://s does not have. (it has roboflow_core/image_slicer@v1, "
            "roboflow_core/image_slicer@v2)",
            f"/steps/1/model_id: Step 'find' ({DETECTOR}) needs the model 'part/1', which the "
            "server http://s does not have. (it has parts/1, parts/2)",
        ]
        assert error.missing[1] == MissingItem(
            "find", DETECTOR, "model", "part/1", ("parts/1", "parts/2")
        )
        assert [problem.code for problem in error.errors] == [
            "block_version_not_on_server",
            "model_not_on_server",
        ]
        assert [block.block_id for block in error.blocks_errors] == ["cut", "find"]
