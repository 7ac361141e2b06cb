"""`representation` as users give it: to `run_locally`, sessions and `compile_workflow`."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from blocks.kinds.tensor_predictions import forms
from execution_engine.errors import WorkflowEnvironmentConfigurationError
from tests.blocks.detection_sets import an_image, some
from workflows import Session, WeftlensSettings, compile_workflow, run_locally

ROOT = Path(__file__).parents[2]
IMAGE = {"type": "WorkflowImage", "name": "image"}
PREDICTIONS = {
    "type": "WorkflowBatchInput",
    "name": "predictions",
    "kind": ["object_detection_prediction"],
}


def output(selector: str) -> dict[str, Any]:
    """An output named like the step."""
    return {"type": "JsonField", "name": selector.split(".")[1], "selector": selector}


# offset (sibling) -> combine (none) -> two drawings (siblings) and a circle (none).
MIXED: dict[str, Any] = {
    "version": "1.0",
    "inputs": [IMAGE, PREDICTIONS],
    "steps": [
        {
            "type": "roboflow_core/detection_offset@v1",
            "name": "grown",
            "predictions": "$inputs.predictions",
            "offset_width": 6,
            "offset_height": 4,
        },
        {
            "type": "roboflow_core/detections_combine@v1",
            "name": "both",
            "prediction_one": "$steps.grown.predictions",
            "prediction_two": "$inputs.predictions",
        },
        {
            "type": "roboflow_core/bounding_box_visualization@v1",
            "name": "boxes",
            "image": "$inputs.image",
            "predictions": "$steps.both.predictions",
        },
        {
            "type": "roboflow_core/circle_visualization@v1",
            "name": "circles",
            "image": "$steps.boxes.image",
            "predictions": "$steps.grown.predictions",
        },
        {
            "type": "roboflow_core/dynamic_crop@v1",
            "name": "crops",
            "image": "$steps.circles.image",
            "predictions": "$steps.grown.predictions",
        },
    ],
    "outputs": [
        output("$steps.grown.predictions"),
        output("$steps.both.predictions"),
        output("$steps.circles.image"),
        output("$steps.crops.crops"),
    ],
}
DETECT: dict[str, Any] = {
    "version": "1.0",
    "inputs": [IMAGE],
    "steps": [
        {
            "type": "roboflow_core/roboflow_object_detection_model@v2",
            "name": "model",
            "images": "$inputs.image",
            "model_id": "any/1",
        }
    ],
    "outputs": [output("$steps.model.predictions")],
}


def inputs() -> dict[str, Any]:
    image = an_image()
    boxes = [[3, 4, 30, 20], [10, 12, 70, 55]]
    return {"image": image, "predictions": some(boxes, image, ["a", "b"])}


@pytest.fixture(scope="module")
def session() -> Iterator[Session]:
    with Session(WeftlensSettings()) as made:
        yield made


class TestMixedGraph:
    def test_same_json(self, session: Session) -> None:
        """Blocks without sibling in the middle change nothing of the results."""
        pytest.importorskip("torch")
        given = inputs()
        texts = []
        for representation in ("numpy", "tensor"):
            (row,) = run_locally(
                MIXED, given, session=session, serialize=True, representation=representation
            )
            for crop in row["crops"]:
                crop.pop("parent_id")  # fresh in each run
            text = json.dumps(row)
            for found in row["grown"]["predictions"] + row["both"]["predictions"]:
                text = text.replace(found["detection_id"], "id")
            texts.append(text[: text.index("frame_timestamp")])
        assert texts[0] == texts[1]

    def test_each_value_is_converted_once(
        self, session: Session, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        """Two blocks without sibling read one converted value; input and joined set go the other
        way once each.
        """
        pytest.importorskip("torch")
        plan = session.compile(MIXED, representation="tensor")
        named = {one.name: one.representation for one in plan.steps}
        assert named == {
            "grown": "tensor", "both": "numpy", "boxes": "tensor", "circles": "numpy",
            "crops": "tensor",
        }  # fmt: skip
        slots = {one.name: one.outputs for one in plan.steps}
        sources = [conversion.source for conversion in plan.conversions]
        assert sorted(sources) == sorted(
            [plan.inputs[1].slot, slots["grown"]["predictions"], slots["both"]["predictions"]]
        )
        made: list[int] = []
        whole = forms.to_tensor
        monkeypatch.setattr(
            forms, "to_tensor", lambda value, *more: made.append(len(value)) or whole(value, *more)
        )
        run_locally(MIXED, inputs(), session=session, representation="tensor")
        assert sorted(made) == [2, 4]

    def test_results(self, session: Session) -> None:
        """`numpy` and `auto` on a CPU give detections, `tensor` gives tensors for all steps."""
        torch = pytest.importorskip("torch")
        import supervision as sv

        for representation in ("numpy", "auto"):
            (row,) = run_locally(MIXED, inputs(), session=session, representation=representation)
            assert isinstance(row["both"], sv.Detections)
        (row,) = run_locally(MIXED, inputs(), session=session, representation="tensor")
        assert isinstance(row["grown"].xyxy, torch.Tensor)
        assert isinstance(row["both"].xyxy, torch.Tensor)
        assert row["crops"][0].tensor_image.shape[0] == 3

    def test_tensor_images_as_inputs(self, session: Session) -> None:
        """A tensor given as the image is worked on as it is; arrays are made when asked for."""
        torch = pytest.importorskip("torch")
        pixels = torch.randint(0, 256, (3, 40, 50), dtype=torch.uint8)
        crop = {
            "type": "roboflow_core/absolute_static_crop@v1", "name": "c",
            "images": "$inputs.image", "x_center": 20, "y_center": 20, "width": 10, "height": 8,
        }  # fmt: skip
        workflow = {"version": "1.0", "inputs": [IMAGE], "steps": [crop],
                    "outputs": [output("$steps.c.crops")]}  # fmt: skip
        (row,) = run_locally(workflow, {"image": pixels}, session=session, representation="tensor")
        found = row["c"]
        assert torch.equal(found.tensor_image, pixels[:, 16:24, 15:25])
        expected = pixels[:, 16:24, 15:25].numpy().transpose(1, 2, 0)[:, :, ::-1]
        assert np.array_equal(found.numpy_image, expected)


class TestAuto:
    @pytest.mark.parametrize(
        ("device", "expected"), [("cpu", "numpy"), ("cuda", "tensor"), ("cuda:1", "tensor")]
    )
    def test_by_the_device_of_the_settings(self, device: str, expected: str) -> None:
        """The session's device decides, before any model is loaded."""
        pytest.importorskip("torch")
        with Session(WeftlensSettings(device=device)) as session:
            plan = compile_workflow(DETECT, session, representation="auto")
            assert plan.steps[0].representation == expected
            assert session.compile(DETECT).steps[0].representation == "numpy"

    def test_plan_of_a_cpu_is_the_numpy_plan(self, session: Session) -> None:
        """Where it is numpy, `auto` shares the plan in the cache."""
        assert session.compile(DETECT, representation="auto") is session.compile(DETECT)
        pytest.importorskip("torch")
        tensor = session.compile(DETECT, representation="tensor")
        assert tensor is not session.compile(DETECT)
        assert tensor is session.compile(DETECT, representation="tensor")


class TestWithoutTorch:
    def test_error_names_the_extra(self, monkeypatch: pytest.MonkeyPatch) -> None:
        """Asking for tensors without torch says what to install; numpy runs as before."""
        monkeypatch.setitem(sys.modules, "torch", None)
        with Session(WeftlensSettings()) as session:
            with pytest.raises(WorkflowEnvironmentConfigurationError) as caught:
                run_locally(MIXED, inputs(), session=session, representation="tensor")
            assert "pip install 'weftlens[torch]'" in str(caught.value)
            assert run_locally(MIXED, inputs(), session=session)

    def test_numpy_runs_never_import_it(self) -> None:
        """A run of blocks that have siblings, with masks, drawings and crops, leaves torch out."""
        program = (
            "import sys; from tests.workflows.test_representation import MIXED, inputs; "
            "from workflows import run_locally; "
            "before = 'torch' in sys.modules; "
            "run_locally(MIXED, inputs(), serialize=True); "
            "run_locally(MIXED, inputs(), representation='auto'); "
            "print(before, 'torch' in sys.modules)"
        )
        finished = subprocess.run(
            [sys.executable, "-c", program], cwd=ROOT, capture_output=True, text=True, check=False
        )
        assert finished.stdout.split() == ["False", "False"], finished.stderr

    def test_unknown_name(self, session: Session) -> None:
        """Another word is refused with those there are."""
        with pytest.raises(
            WorkflowEnvironmentConfigurationError, match="one of numpy, tensor, auto, got 'torch'"
        ):
            session.compile(MIXED, representation="torch")  # type: ignore[arg-type]
