"""`Workflow`: load, check, describe, list what is missing, draw."""

from __future__ import annotations

import copy
from pathlib import Path
from typing import Any

import pytest

from execution_engine.errors import BlockNotInBuildError, WorkflowSyntaxError
from workflows import Session, Workflow, default_session, run_locally


class TestLoad:
    def test_a_file_gives_the_name(self, session: Session, workflow_file: Path) -> None:
        """A workflow from a file is called like the file."""
        workflow = Workflow.load(workflow_file, session=session)
        assert workflow.origin == str(workflow_file)
        assert workflow.name == "blur.json"
        assert repr(workflow) == "<Workflow blur.json>"

    def test_an_object_is_copied(self, session: Session, blur_definition: dict[str, Any]) -> None:
        """Later changes of the object do not reach the workflow, nor those of `to_dict` back."""
        before = copy.deepcopy(blur_definition)
        workflow = Workflow.load(blur_definition, session=session)
        blur_definition["steps"].clear()
        workflow.to_dict()["steps"].clear()
        assert workflow.to_dict() == before
        assert workflow.name == "workflow"

    def test_no_object(self, session: Session) -> None:
        """Text that is no JSON is refused at once."""
        with pytest.raises(WorkflowSyntaxError):
            Workflow.load("{", session=session)


class TestCheck:
    def test_a_good_one(self, session: Session, blur_definition: dict[str, Any]) -> None:
        """No problems, an empty list."""
        assert Workflow(blur_definition, session=session).check() == []

    def test_without_a_session(self, blur_definition: dict[str, Any]) -> None:
        """The blocks of the default session are used when none is named."""
        assert Workflow(blur_definition).check() == []
        assert not default_session().closed

    def test_all_problems_at_once(
        self, session: Session, broken_definition: dict[str, Any]
    ) -> None:
        """Problems of every phase come together, each with code, place and step."""
        problems = Workflow(broken_definition, session=session).check()
        assert [(problem.code, problem.where, problem.block_id) for problem in problems] == [
            ("unknown_block_type", "/steps/1/type", "rust"),
            ("block_not_in_build", "/steps/2/type", "ask"),
            ("wrong_value", "/steps/3/image", "gray"),
        ]

    def test_an_unknown_type_names_the_nearest(
        self, session: Session, blur_definition: dict[str, Any]
    ) -> None:
        """One error with step, place, type, a code, and at most the three nearest types instead of
        a dump of all (roboflow/inference#603).
        """
        blur_definition["steps"].append({"type": "CSVSink", "name": "save"})
        (problem,) = Workflow(blur_definition, session=session).check()
        assert problem.code == "unknown_block_type"
        assert problem.where == "/steps/1/type"
        assert problem.block_id == "save"
        assert problem.block_type == "CSVSink"
        assert problem.message == "Step 'save' has the unknown type 'CSVSink'."
        assert str(problem.hint).startswith("nearest known types: roboflow_core/")
        assert str(problem.hint).count(",") == 2

    @pytest.mark.parametrize(
        ("version", "code"), [("2.0", "unsupported_version"), ("next", "invalid_version")]
    )
    def test_a_version_that_cannot_be_served(
        self, session: Session, broken_definition: dict[str, Any], version: str, code: str
    ) -> None:
        """The version is one problem among the others, not the end of the check."""
        broken_definition["version"] = version
        problems = Workflow(broken_definition, session=session).check()
        assert problems[0].code == code
        assert problems[0].where == "/version"
        assert len(problems) == 4

    def test_strict_reports_unknown_fields(
        self, session: Session, blur_definition: dict[str, Any]
    ) -> None:
        """A misspelt optional field, which a run ignores, is found in strict mode, with a hint."""
        step = blur_definition["steps"][0]
        step["kernal_size"] = step.pop("kernel_size")
        step["note/1"] = "mine"
        workflow = Workflow(blur_definition, session=session)
        assert workflow.check() == []
        first, second = workflow.check(strict=True)
        assert str(first) == (
            "/steps/0/kernal_size: Step 'blur' has the field 'kernal_size', which "
            "roboflow_core/image_blur@v1 does not know; a run ignores it. "
            "(did you mean 'kernel_size'?)"
        )
        assert second.where == "/steps/0/note~11"

    def test_strict_leaves_unknown_blocks_alone(
        self, session: Session, broken_definition: dict[str, Any]
    ) -> None:
        """Nobody knows the fields of a missing block, so none is called unknown."""
        workflow = Workflow(broken_definition, session=session)
        assert workflow.check(strict=True) == workflow.check()

    @pytest.mark.parametrize("definition", [[], "text", None, 3], ids=repr)
    def test_no_object_at_all(self, session: Session, definition: Any) -> None:
        """JSON that is no object is one problem."""
        workflow = Workflow(definition, session=session)
        (problem,) = workflow.check()
        assert problem.message.startswith("A workflow definition is a JSON object, got ")
        assert workflow.to_dict() == definition
        assert workflow.describe().startswith("workflow: 0 inputs, 0 steps, 0 outputs")
        assert workflow.draw().startswith("<svg")


class TestMissingBlocks:
    def test_one_missing_block_does_not_take_the_rest_away(
        self, session: Session, broken_definition: dict[str, Any]
    ) -> None:
        """A workflow with missing blocks loads, describes and draws the rest; every missing type is
        listed with its steps and the plug-in that had it; only running is refused
        (Comfy-Org/ComfyUI#5929, ComfyUI_frontend#3816).
        """
        broken_definition["steps"][3]["image"] = "$inputs.image"
        broken_definition["steps"].append({"type": "acme/rust_detector@v2", "name": "again"})
        workflow = Workflow.load(broken_definition, session=session)
        rust, gemini = workflow.missing_blocks()
        assert (rust.type, rust.steps, rust.plugin) == (
            "acme/rust_detector@v2",
            ("rust", "again"),
            "acme",
        )
        assert (rust.known, rust.plugin_installed) == (False, False)
        assert (gemini.type, gemini.steps, gemini.known) == (
            "roboflow_core/google_gemini@v1",
            ("ask",),
            True,
        )
        text = workflow.describe()
        assert "blur: Image Blur (roboflow_core/image_blur@v1)\n" in text
        assert (
            "acme/rust_detector@v2 (steps rust, again): unknown; its plug-in 'acme' is not" in text
        )
        for format in ("svg", "dot", "mermaid"):
            picture = workflow.draw(format)  # type: ignore[arg-type]
            assert "blur" in picture
            assert "rust" in picture
        with pytest.raises((WorkflowSyntaxError, BlockNotInBuildError)) as caught:
            run_locally(workflow, {"image": None}, session=session)
        assert len(caught.value.errors) == 3

    def test_text_of_each_kind(self, session: Session) -> None:
        """The text says what is known of a missing block."""
        types = [
            "roboflow_core/image_blurr@v1",
            "acme/x@v1",
            "Zzzz",
            "roboflow_core/google_gemini@v1",
        ]
        workflow = Workflow(
            {
                "version": "1.0",
                "inputs": [],
                "steps": [{"type": name, "name": f"s{i}"} for i, name in enumerate(types)],
                "outputs": [],
            },
            session=session,
        )
        texts = [str(block) for block in workflow.missing_blocks()]
        assert texts[0].startswith(
            "roboflow_core/image_blurr@v1 (step s0): unknown; nearest: roboflow_core/image_blur@v1"
        )
        assert texts[1] == "acme/x@v1 (step s1): unknown; its plug-in 'acme' is not installed"
        assert texts[2] == "Zzzz (step s2): unknown"
        assert texts[3] == (
            "roboflow_core/google_gemini@v1 (step s3): known by name, not in this build"
        )

    def test_nothing_missing(self, session: Session, blur_definition: dict[str, Any]) -> None:
        """A step without a type misses no block: that is another problem."""
        blur_definition["steps"].append({"name": "nothing"})
        assert Workflow(blur_definition, session=session).missing_blocks() == []


class TestInterface:
    def test_kinds_of_inputs_and_outputs(
        self, session: Session, blur_definition: dict[str, Any]
    ) -> None:
        """Every input and output with its kinds, and each kind's JSON form."""
        blur_definition["outputs"] += [
            {"type": "JsonField", "name": "kernel", "selector": "$inputs.kernel"},
            {"type": "JsonField", "name": "all", "selector": "$steps.blur.*"},
        ]
        interface = Workflow(blur_definition, session=session).interface()
        assert [item.name for item in interface.image_inputs] == ["image"]
        assert interface.inputs[1].default == 3
        assert interface.to_dict() == {
            "inputs": {"image": ["image"], "kernel": ["integer"]},
            "outputs": {"blurred": ["image"], "kernel": ["integer"], "all": {"image": ["image"]}},
            "typing_hints": {"image": "object", "integer": "integer"},
            "kinds_schemas": {"image": {"type": "object"}, "integer": {"type": "integer"}},
        }

    def test_what_cannot_be_known_is_anything(
        self, session: Session, broken_definition: dict[str, Any]
    ) -> None:
        """Outputs of missing blocks, missing steps, missing outputs and no references hold `*`."""
        for name, selector in (
            ("all", "$steps.rust.*"),
            ("step", "$steps.blur"),
            ("gone", "$steps.nothing.x"),
            ("misspelt", "$steps.blur.imge"),
            ("input", "$inputs.nothing"),
            ("text", "hello"),
        ):
            broken_definition["outputs"].append(
                {"type": "JsonField", "name": name, "selector": selector}
            )
        outputs = Workflow(broken_definition, session=session).interface().to_dict()["outputs"]
        assert outputs == {
            "rust": ["*"],
            "blurred": ["image"],
            "all": ["*"],
            "step": ["*"],
            "gone": ["*"],
            "misspelt": ["*"],
            "input": ["*"],
            "text": ["*"],
        }

    def test_unknown_kinds_have_no_hint(self, session: Session) -> None:
        """A kind nobody declares keeps its name and gets no schema."""
        workflow = Workflow(
            {
                "version": "1.0",
                "inputs": [
                    {"type": "WorkflowParameter", "name": "x", "kind": ["acme_kind", "string"]}
                ],
                "steps": [],
                "outputs": [],
            },
            session=session,
        )
        answer = workflow.interface().to_dict()
        assert answer["inputs"] == {"x": ["acme_kind", "string"]}
        assert answer["kinds_schemas"] == {"string": {"type": "string"}}


class TestDescribe:
    def test_full_text_of_a_good_one(
        self, session: Session, blur_definition: dict[str, Any]
    ) -> None:
        """Inputs, steps with fields and how they run, outputs."""
        blur_definition["inputs"].append(
            {"type": "WorkflowBatchInput", "name": "boxes", "dimensionality": 2}
        )
        blur_definition["steps"].append(
            {
                "type": "roboflow_core/image_slicer@v2",
                "name": "tiles",
                "image": "$steps.blur.image",
            }
        )
        blur_definition["steps"].append(
            {
                "type": "roboflow_core/convert_grayscale@v1",
                "name": "gray",
                "image": "$steps.tiles.slices",
            }
        )
        blur_definition["outputs"].append(
            {"type": "JsonField", "name": "all", "selector": "$steps.gray.*"}
        )
        assert Workflow(blur_definition, session=session).describe() == (
            "workflow: 3 inputs, 3 steps, 2 outputs; engine 1.0\n"
            "\n"
            "Inputs\n"
            "  image: WorkflowImage, image\n"
            "  kernel: WorkflowParameter, integer, default 3\n"
            "  boxes: WorkflowBatchInput, *, nested 2 deep\n"
            "\n"
            "Steps\n"
            "   1. blur: Image Blur (roboflow_core/image_blur@v1)\n"
            "       image <- $inputs.image\n"
            '       blur_type = "average"\n'
            "       kernel_size <- $inputs.kernel\n"
            "       gives image\n"
            "       runs for each element\n"
            "   2. tiles: Image Slicer (roboflow_core/image_slicer@v2)\n"
            "       image <- $steps.blur.image\n"
            "       gives slices\n"
            "       runs for each element\n"
            "   3. gray: Image Convert Grayscale (roboflow_core/convert_grayscale@v1)\n"
            "       image <- $steps.tiles.slices\n"
            "       gives image\n"
            "       runs for each element at depth 2\n"
            "\n"
            "Outputs\n"
            "  blurred: $steps.blur.image, image\n"
            "  all: $steps.gray.*, object of image: image"
        )

    def test_full_text_of_a_broken_one(
        self, session: Session, broken_definition: dict[str, Any]
    ) -> None:
        """What is missing is marked where it stands and listed at the end with all problems."""
        text = Workflow(broken_definition, session=session).describe()
        assert text.startswith("workflow: 1 input, 4 steps, 2 outputs; engine 1.0\n")
        assert "rust: acme/rust_detector@v2  [unknown block]\n" in text
        assert '       tuning <- $steps.gray.image in {"areas": ["$steps.gray.image"]}\n' in text
        assert "ask: Google Gemini (roboflow_core/google_gemini@v1)  [not in this build]\n" in text
        assert (
            "gray: Image Convert Grayscale (roboflow_core/convert_grayscale@v1)  [has problems]\n"
            "       image = 7\n" in text
        )
        missing, problems = text.split("Missing blocks\n")[1].split("\n\nProblems\n")
        assert len(missing.splitlines()) == 2
        assert [line[:5] for line in problems.splitlines()] == ["  1. ", "  2. ", "  3. "]

    def test_gates_circles_and_long_values(self, session: Session) -> None:
        """Gates are named, steps in a circle come last, long literals are cut."""
        blur = "roboflow_core/image_blur@v1"
        steps: list[dict[str, Any]] = [
            {"type": blur, "name": "x", "image": "$steps.y.image"},
            {"type": blur, "name": "y", "image": "$steps.x.image", "note": "n" * 100},
            {
                "type": "roboflow_core/switch_case@v1",
                "name": "switch",
                "value": "$inputs.mode",
                "cases": {"a": "$steps.z"},
                "default_next_steps": [],
            },
            {"type": blur, "name": "z", "image": "$inputs.image"},
        ]
        definition = {
            "version": "1.0",
            "inputs": [
                {"type": "WorkflowImage", "name": "image"},
                {"type": "WorkflowParameter", "name": "mode"},
            ],
            "steps": steps,
            "outputs": [],
        }
        text = Workflow(definition, session=session).describe()
        assert text.index("1. switch") < text.index("2. z") < text.index("3. x")
        assert f'note = "{"n" * 56}...\n' in text
        definition["steps"] = steps[2:]
        text = Workflow(definition, session=session).describe()
        assert "runs for each element, gated by switch" in text
        assert "runs once\n" in text

    def test_a_step_without_type(self, session: Session) -> None:
        """A step without a type is shown as such."""
        workflow = Workflow(
            {"version": "1.0", "inputs": [], "steps": [{"name": "x"}], "outputs": []},
            session=session,
        )
        assert "1. x: no type  [unknown block]" in workflow.describe()


class TestDraw:
    def test_an_unknown_format(self, session: Session, blur_definition: dict[str, Any]) -> None:
        """The formats are named when another is asked for."""
        with pytest.raises(ValueError, match="drawn as svg, dot, mermaid, got 'png'"):
            Workflow(blur_definition, session=session).draw("png")  # type: ignore[arg-type]
