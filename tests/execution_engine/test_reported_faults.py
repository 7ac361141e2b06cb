"""Faults that users of other systems reported, each with its small input and what is right here."""

from __future__ import annotations

import json
from typing import Any

import numpy as np
import pytest

from execution_engine import (
    BlockRegistry,
    ExecutionEngine,
    RunReport,
    SkippedStep,
    compile_definition,
    discover_registry,
    find_problems,
)
from execution_engine.compiler.compiler import inspect_graph
from execution_engine.errors import (
    StepExecutionError,
    StepInputLineageError,
    WorkflowSyntaxError,
)
from tests.execution_engine.toy_blocks import (
    batch_input,
    block,
    parameter,
    run,
    step,
    toy_registry,
    workflow,
)

IMAGE = {"type": "WorkflowImage", "name": "image"}


@pytest.fixture(scope="module")
def core() -> BlockRegistry:
    """The blocks of this project."""
    return discover_registry({})


class TestUnknownStepTypeDumpsEveryKnownType:
    """A template uses a step type the server does not know and gets a dump of every type
    (roboflow/inference#603).
    """

    def test_one_short_problem_with_the_way_out(self, core: BlockRegistry) -> None:
        """One error: step, place, the unknown type and at most three near ones, and a code for
        machines.
        """
        definition = workflow(
            [IMAGE],
            [
                step("roboflow_core/image_blur@v1", "blur", image="$inputs.image"),
                {"type": "CSVSink", "name": "log", "rows": "$steps.blur.image"},
            ],
        )
        with pytest.raises(WorkflowSyntaxError) as caught:
            compile_definition(definition, core)
        (problem,) = caught.value.errors
        assert (problem.code, problem.where) == ("unknown_block_type", "/steps/1/type")
        assert (problem.block_id, problem.block_type) == ("log", "CSVSink")
        assert problem.message == "Step 'log' has the unknown type 'CSVSink'."
        assert problem.hint is not None
        near = problem.hint.removeprefix("nearest known types: ").split(", ")
        assert len(near) == 3
        assert all(core.spec(name) or core.known(name) for name in near)
        assert len(str(caught.value)) < 300


class TestOneMissingPluginRefusesTheWholeGraph:
    """One missing custom node makes a saved graph refuse to load (Comfy-Org/ComfyUI#5929)."""

    DEFINITION = workflow(
        [batch_input("x")],
        [
            step("add", "a", a="$inputs.x"),
            step("shiny_pack/polish@v2", "b", x="$steps.a.out"),
            step("add", "c", a="$inputs.x", b=2),
            step("shiny_pack/polish@v2", "d", x="$steps.c.out"),
        ],
        {"o": "$steps.c.out", "p": "$steps.d.out"},
    )

    def test_the_rest_is_shown(self) -> None:
        """Steps, edges and outputs that can be understood are there; every missing type names its
        steps and pack.
        """
        parsed, graph, problems = inspect_graph(self.DEFINITION, toy_registry())
        assert [item.name for item in parsed.steps] == ["a", "b", "c", "d"]
        assert [graph.nodes[i].step.name for i in graph.order] == ["a", "b", "c", "d"]
        assert graph.nodes[2].step.outputs is not None
        assert [output.name for output, _ in graph.outputs] == ["o"]
        assert [(item.block_id, item.block_type) for item in problems] == [
            ("b", "shiny_pack/polish@v2"),
            ("d", "shiny_pack/polish@v2"),
        ]
        assert all("'shiny_pack/...'" in (item.hint or "") for item in problems)

    def test_only_running_is_refused(self) -> None:
        """Listing problems does not raise, making an engine does, with both steps in one error."""
        assert len(find_problems(self.DEFINITION, toy_registry())) == 2
        with pytest.raises(WorkflowSyntaxError) as caught:
            ExecutionEngine.init(self.DEFINITION, registry=toy_registry())
        assert [item.where for item in caught.value.errors] == ["/steps/1/type", "/steps/3/type"]


class TestCropsPairImagesAndBoxesOfDifferentBranches:
    """Crops pair images and boxes by position; from different branches they are nonsense
    (roboflow/inference#390).
    """

    def test_compiler_refuses_unrelated_branches(self) -> None:
        """Elements of two branches that split on their own do not belong together."""
        definition = workflow(
            [batch_input("x")],
            [
                step("split", "images", n="$inputs.x"),
                step("split", "boxes", n="$inputs.x"),
                step("batch_add", "crop", a="$steps.images.out", b="$steps.boxes.out"),
            ],
        )
        with pytest.raises(StepInputLineageError) as caught:
            compile_definition(definition, toy_registry())
        (problem,) = caught.value.errors
        assert problem.where == "/steps/2/b"
        assert "$steps.images.out" in problem.message
        assert "$steps.boxes.out" in problem.message

    def test_detections_of_another_image_raise(self, core: BlockRegistry) -> None:
        """Detections in another order than their images are refused at run time, naming images,
        step and sources.
        """
        pytest.importorskip("supervision")
        definition = workflow(
            [IMAGE, batch_input("found", kind=["object_detection_prediction"])],
            [
                step(
                    "roboflow_core/dynamic_crop@v1",
                    "crop",
                    images="$inputs.image",
                    predictions="$inputs.found",
                )
            ],
            {"crops": "$steps.crop.crops"},
        )
        images = [np.zeros((30, 40, 3), np.uint8)] * 2

        def found(parent: str) -> dict[str, Any]:
            row = {"x": 10, "y": 10, "width": 8, "height": 8, "confidence": 0.9, "class": "a",
                   "class_id": 0, "detection_id": f"of {parent}", "parent_id": parent}  # fmt: skip
            return {"image": {"width": 40, "height": 30}, "predictions": [row]}

        first, second = found("image.[0]"), found("image.[1]")
        with ExecutionEngine.init(definition, registry=core) as engine:
            rows = engine.run({"image": images, "found": [first, second]})
            assert [len(row["crops"]) for row in rows] == [1, 1]
            with pytest.raises(StepExecutionError) as caught:
                engine.run({"image": images, "found": [second, first]})
        error = caught.value
        assert error.block_id == "crop"
        assert "'image.[0]'" in str(error)
        assert "'image.[1]'" in str(error)
        assert error.__notes__ == [
            "Step 'crop' takes images from $inputs.image, predictions from $inputs.found."
        ]


class TestStepWhereBranchesMeetIsSkipped:
    """A step where two branches meet again is skipped though one ran, and the run says completed
    (twentyhq/twenty#24060).
    """

    DEFINITION = workflow(
        [parameter("take")],
        [
            step("switch", "if", value="$inputs.take", cases={"1": "$steps.a", "0": "$steps.b"}),
            step("constant", "a", value="went a"),
            step("constant", "b", value="went b"),
            step("first", "meet", data=["$steps.a.out", "$steps.b.out"]),
            step("show", "after", x="$steps.meet.out"),
        ],
        {"meet": "$steps.meet.out", "after": "$steps.after.out"},
    )

    @pytest.mark.parametrize(("take", "went", "skipped"), [(1, "a", "b"), (0, "b", "a")])
    @pytest.mark.parametrize("workers", [1, 4])
    def test_runs_when_one_branch_is_alive(
        self, take: int, went: str, skipped: str, workers: int
    ) -> None:
        """The meeting step and what follows run; the report lists the branch not taken and why."""
        report = RunReport()
        rows = run(self.DEFINITION, {"take": take}, report=report, max_concurrent_steps=workers)
        assert rows == [{"meet": f"went {went}", "after": f"'went {went}'"}]
        assert report.skipped == [SkippedStep(skipped, "gate closed", "if", None)]
        assert report.skipped_steps == [skipped]
        assert report.calls == {"if": 1, went: 1, skipped: 0, "meet": 1, "after": 1}

    def test_no_branch_alive(self) -> None:
        """With no branch taken the meeting step says so by its own means, and the report names
        both.
        """
        report = RunReport()
        rows = run(self.DEFINITION, {"take": 7}, report=report)
        assert rows == [{"meet": None, "after": None}]
        assert report.skipped_steps == ["a", "b", "after"]


class TestBranchesShareOneBuffer:
    """Two branches get the same buffer; one edits it in place and the other sees the edit
    (node-red/node-red#5953).
    """

    @pytest.mark.parametrize("order", [("draw", "measure"), ("measure", "draw")])
    @pytest.mark.parametrize("workers", [1, 4])
    def test_order_does_not_matter(self, order: tuple[str, str], workers: int) -> None:
        """Drawing in place and measuring the mean of one image give the same in any order."""

        def draw(image: Any) -> dict[str, Any]:
            image.numpy_image[:] = 255
            image.declare_numpy_image_mutated()
            return {"out": image}

        steps = {
            "draw": step("t/draw@v1", "draw", image="$inputs.image"),
            "measure": step("t/mean@v1", "measure", image="$inputs.image"),
        }
        rows = run(
            workflow(
                [IMAGE],
                [steps[name] for name in order],
                {"mean": "$steps.measure.out", "drawn": "$steps.draw.out"},
            ),
            {"image": np.full((3, 3, 3), 9, np.uint8)},
            block("t/draw@v1", draw, written=("image",)),
            block("t/mean@v1", lambda image: {"out": float(image.numpy_image.mean())}),
            max_concurrent_steps=workers,
        )
        assert (rows[0]["mean"], rows[0]["drawn"].numpy_image.min()) == (9.0, 255)


def test_reports_are_json(core: BlockRegistry) -> None:
    """Problems of a definition can be sent as they are."""
    problems = find_problems(workflow([], [step("CSV/Sink", "log")]), core)
    assert (
        json.loads(json.dumps([problem.to_dict() for problem in problems]))[0]["block_id"] == "log"
    )
