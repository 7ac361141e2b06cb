"""The JSON Schema of definitions: what it takes, refuses, and leaves to the compiler."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Literal

import pytest
from jsonschema import Draft202012Validator
from pydantic import create_model

from execution_engine import BlockRegistry, Plugin
from execution_engine.block_api import OutputDefinition, WorkflowBlock, WorkflowBlockManifest
from workflows import Session, WeftlensSettings, Workflow, default_session
from workflows.definition_schema import definition_schema, schema_of_registry

ROOT = Path(__file__).parents[2]
EXAMPLES = sorted((ROOT / "examples").glob("*.json"))
CASES = sorted((ROOT / "tests" / "conformance" / "cases").glob("*.json"))
# What only the compiler can find: names across steps, kinds, depths, rules of one block.
BEYOND_SCHEMAS = frozenset(
    {
        "cycle",
        "depths_differ",
        "duplicated_control_target",
        "duplicated_name",
        "invalid_step",
        "kind_mismatch",
        "unknown_input",
        "unknown_output",
        "unknown_output_target",
        "unknown_step",
        "unrelated_batches",
        "batch_into_single_value",
        "gate_does_not_fit",
        "nothing_to_collapse",
    }
)


@pytest.fixture(scope="module")
def schema() -> dict[str, Any]:
    with Session(WeftlensSettings()) as session:
        return definition_schema(session)


@pytest.fixture(scope="module")
def validator(schema: dict[str, Any]) -> Draft202012Validator:
    return Draft202012Validator(schema)


def places(validator: Draft202012Validator, definition: Any) -> set[str]:
    """JSON paths of what the schema refuses."""
    return {error.json_path for error in validator.iter_errors(definition)}


class TestDefinitionSchema:
    def test_it_is_a_schema(self, schema: dict[str, Any]) -> None:
        """The schema follows its own dialect and every reference in it leads somewhere."""
        Draft202012Validator.check_schema(schema)
        assert schema["$schema"] == "https://json-schema.org/draft/2020-12/schema"
        names = set(schema["$defs"])

        def references(value: Any) -> set[str]:
            if isinstance(value, Mapping):
                found = {value["$ref"]} if isinstance(value.get("$ref"), str) else set()
                return found.union(*map(references, value.values()))
            if isinstance(value, list):
                return set().union(*map(references, value))
            return set()

        targets = {
            reference.removeprefix("#/$defs/").replace("%20", " ").replace("~1", "/")
            for reference in references(schema)
        }
        assert targets <= names

    def test_every_block_is_in_it(self, schema: dict[str, Any]) -> None:
        """Each built block has its schema under its type id."""
        with Session(WeftlensSettings()) as session:
            assert set(session.registry.specs) <= set(schema["$defs"])

    @pytest.mark.parametrize("path", EXAMPLES, ids=lambda path: path.stem)
    def test_examples_are_valid(self, validator: Draft202012Validator, path: Path) -> None:
        """Every example fits."""
        definition = json.loads(path.read_text(encoding="utf-8"))
        if Workflow(definition).missing_blocks():
            pytest.skip("blocks not in this build")
        assert places(validator, definition) == set()

    @pytest.mark.parametrize("path", CASES, ids=lambda path: path.stem)
    def test_recorded_cases(self, validator: Draft202012Validator, path: Path) -> None:
        """A definition that compiles fits; one with faults a schema can see does not."""
        definition = json.loads(path.read_text(encoding="utf-8"))["definition"]
        workflow = Workflow(definition)
        if workflow.missing_blocks() or definition.get("dynamic_blocks_definitions"):
            pytest.skip("blocks not in this build")
        problems = workflow.check()
        found = places(validator, definition)
        if not problems:
            assert found == set()
        elif not {problem.code for problem in problems} <= BEYOND_SCHEMAS:
            visible = [p for p in problems if p.code not in BEYOND_SCHEMAS]
            rules_of_blocks = [p for p in visible if "must be valid (" in p.message]
            assert found or visible == rules_of_blocks

    @pytest.mark.parametrize("name", ["image", "images"])
    def test_a_field_under_any_of_its_names(
        self, validator: Draft202012Validator, blur_definition: dict[str, Any], name: str
    ) -> None:
        """Aliases are taken; a wrong value under an alias is refused."""
        step = blur_definition["steps"][0]
        del step["image"]
        step[name] = "$inputs.image"
        assert places(validator, blur_definition) == set()
        step[name] = 7
        assert places(validator, blur_definition) == {f"$.steps[0].{name}"}

    def test_a_type_under_any_of_its_ids(
        self, validator: Draft202012Validator, blur_definition: dict[str, Any]
    ) -> None:
        """An older id of a block is taken and held against the same schema."""
        blur_definition["steps"] = [
            {"type": "AbsoluteStaticCrop", "name": "c", "image": "$inputs.image", "width": 3}
        ]
        assert places(validator, blur_definition) == {"$.steps[0]"}
        blur_definition["steps"][0].update(x_center=4, y_center=4, height=2)
        assert places(validator, blur_definition) == set()

    @pytest.mark.parametrize(
        ("change", "place"),
        [
            (lambda d: d.pop("version"), "$"),
            (lambda d: d.update(version=1.0), "$.version"),
            (lambda d: d.pop("outputs"), "$"),
            (lambda d: d.update(steps={}), "$.steps"),
            (lambda d: d["inputs"][0].update(type="WorkflowImag"), "$.inputs[0].type"),
            (lambda d: d["inputs"][0].pop("name"), "$.inputs[0]"),
            (lambda d: d["inputs"][0].update(kind="image"), "$.inputs[0].kind"),
            (
                lambda d: d["inputs"].append(
                    {"type": "WorkflowBatchInput", "name": "b", "dimensionality": 0}
                ),
                "$.inputs[2].dimensionality",
            ),
            (lambda d: d["steps"][0].pop("name"), "$.steps[0]"),
            (lambda d: d["steps"][0].pop("type"), "$.steps[0]"),
            (lambda d: d["steps"][0].update(type="CSVSink"), "$.steps[0].type"),
            (lambda d: d["steps"][0].pop("image"), "$.steps[0]"),
            (lambda d: d["steps"][0].update(image="photo.jpg"), "$.steps[0].image"),
            (lambda d: d["steps"][0].update(blur_type="gausian"), "$.steps[0].blur_type"),
            (lambda d: d["steps"][0].update(kernel_size="five"), "$.steps[0].kernel_size"),
            (lambda d: d["outputs"][0].update(type="Field"), "$.outputs[0].type"),
            (lambda d: d["outputs"][0].update(selector="$steps.blur"), "$.outputs[0].selector"),
            (
                lambda d: d["outputs"][0].update(coordinates_system="root"),
                "$.outputs[0].coordinates_system",
            ),
        ],
    )
    def test_broken_ones_are_refused(
        self,
        validator: Draft202012Validator,
        blur_definition: dict[str, Any],
        change: Any,
        place: str,
    ) -> None:
        """Each fault is found at its place, and the compiler agrees that it is one."""
        change(blur_definition)
        assert place in places(validator, blur_definition)
        assert Workflow(blur_definition).check()

    def test_own_blocks_of_a_definition(
        self, validator: Draft202012Validator, blur_definition: dict[str, Any]
    ) -> None:
        """A type that is not listed is taken where the definition brings blocks of its own; listed
        ones are held to their schema all the same.
        """
        blur_definition["steps"].append({"type": "MyBlock", "name": "mine", "anything": 1})
        assert places(validator, blur_definition) == {"$.steps[1].type"}
        blur_definition["dynamic_blocks_definitions"] = []
        assert places(validator, blur_definition) == {"$.steps[1].type"}
        blur_definition["dynamic_blocks_definitions"] = [{"type": "DynamicBlockDefinition"}]
        assert places(validator, blur_definition) == set()
        blur_definition["steps"][0]["kernel_size"] = "five"
        assert places(validator, blur_definition) == {"$.steps[0].kernel_size"}

    def test_the_default_session(self) -> None:
        """Without a session the blocks of the default one are taken."""
        assert set(default_session().registry.specs) <= set(definition_schema()["$defs"])


# Two pairs of inner models with the same names: the items look alike, what they hold does not.
NumberItem: Any = create_model("Item", leaf=(create_model("Leaf", value=(int, ...)), ...))
TextItem: Any = create_model("Item", leaf=(create_model("Leaf", value=(str, ...)), ...))


class NumberManifest(WorkflowBlockManifest):
    """Holds items with numbers."""

    type: Literal["toy/number@v1"]
    items: list[NumberItem]

    @classmethod
    def describe_outputs(cls) -> list[OutputDefinition]:
        return [OutputDefinition("out")]


class TextManifest(WorkflowBlockManifest):
    """Holds items with texts."""

    type: Literal["toy/text@v1"]
    items: list[TextItem]

    @classmethod
    def describe_outputs(cls) -> list[OutputDefinition]:
        return [OutputDefinition("out")]


def block_of(manifest: type[WorkflowBlockManifest]) -> type[WorkflowBlock]:
    class Block(WorkflowBlock):
        @classmethod
        def get_manifest(cls) -> type[WorkflowBlockManifest]:
            return manifest

        def run(self, items: Any) -> Any:
            return {"out": items}

    return Block


class TestSchemaOfRegistry:
    def test_inner_definitions_of_one_name(self) -> None:
        """Blocks of other plug-ins whose inner definitions share a name but not a content are kept
        apart, also where only a definition further inside differs.
        """
        blocks = (block_of(NumberManifest), block_of(TextManifest))
        schema = schema_of_registry(BlockRegistry([Plugin("toy", blocks=blocks)]))
        validator = Draft202012Validator(schema)

        def fits(type_id: str, value: Any) -> bool:
            step = {"type": type_id, "name": "s", "items": [{"leaf": {"value": value}}]}
            definition = {"version": "1", "inputs": [], "steps": [step], "outputs": []}
            return not places(validator, definition)

        assert fits("toy/number@v1", 3)
        assert not fits("toy/number@v1", "three")
        assert fits("toy/text@v1", "three")
        assert not fits("toy/text@v1", 3)
