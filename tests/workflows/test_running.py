"""`run_locally`, `compile_workflow` and the default session."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import cv2
import numpy as np
import pytest

from execution_engine.errors import (
    ReferenceTypeError,
    RunCancelledError,
    RunDeadlineExceededError,
    RuntimeInputError,
)
from workflows import (
    CancellationToken,
    ChromeTraceProfiler,
    RunReport,
    Session,
    Workflow,
    compile_workflow,
    default_session,
    run_locally,
)


@pytest.fixture
def fresh_default() -> Iterator[None]:
    """Closes the default session before and after, so that counters start at zero."""
    default_session().close()
    yield
    default_session().close()


class TestRunLocally:
    @pytest.mark.parametrize("form", ["object", "path", "text", "workflow"])
    def test_every_form_of_a_workflow(
        self,
        form: str,
        session: Session,
        blur_definition: dict[str, Any],
        workflow_file: Path,
        picture: np.ndarray,
    ) -> None:
        """A workflow may be an object, a path, text or a `Workflow`; OpenCV is the oracle."""
        workflow: Any = {
            "object": blur_definition,
            "path": workflow_file,
            "text": json.dumps(blur_definition),
            "workflow": Workflow(blur_definition, session=session),
        }[form]
        (result,) = run_locally(workflow, {"image": picture, "kernel": 5}, session=session)
        expected = cv2.blur(picture, (5, 5))
        np.testing.assert_array_equal(result["blurred"].numpy_image, expected)

    def test_a_path_as_image(
        self,
        session: Session,
        blur_definition: dict[str, Any],
        picture: np.ndarray,
        picture_file: Path,
    ) -> None:
        """A path with letters beyond ASCII is read, as text too."""
        for image in (picture_file, str(picture_file)):
            (result,) = run_locally(blur_definition, {"image": image}, session=session)
            np.testing.assert_array_equal(result["blurred"].numpy_image, cv2.blur(picture, (3, 3)))

    def test_a_batch(
        self, session: Session, blur_definition: dict[str, Any], picture: np.ndarray
    ) -> None:
        """A list of images gives one result each, in their order."""
        results = run_locally(blur_definition, {"image": [picture, 255 - picture]}, session=session)
        np.testing.assert_array_equal(
            results[1]["blurred"].numpy_image, cv2.blur(255 - picture, (3, 3))
        )
        assert len(results) == 2

    def test_serialised_results_are_json(
        self, session: Session, blur_definition: dict[str, Any], picture: np.ndarray
    ) -> None:
        """With `serialize` the results are what `json.dumps` takes as they stand."""
        (result,) = run_locally(
            blur_definition, {"image": picture}, session=session, serialize=True
        )
        assert json.loads(json.dumps(result)) == result
        assert result["blurred"]["type"] == "base64"

    def test_inputs_are_left_alone(
        self, session: Session, blur_definition: dict[str, Any], picture: np.ndarray
    ) -> None:
        """Neither the mapping of inputs nor the pixels are changed."""
        inputs = {"image": picture, "kernel": 5, "unknown": 1}
        before = picture.copy()
        run_locally(blur_definition, inputs, session=session)
        assert inputs["image"] is picture
        assert list(inputs) == ["image", "kernel", "unknown"]
        np.testing.assert_array_equal(picture, before)

    def test_two_branches_do_not_see_each_others_edits(self, session: Session) -> None:
        """Two branches get the same picture, one draws on it, the other measures it: the measure is
        that of the picture as given, in either order of the steps (node-red/node-red#5953).
        """
        canvas = np.full((60, 80, 3), 90, np.uint8)
        draw = {
            "type": "roboflow_core/text_display@v1",
            "name": "draw",
            "image": "$inputs.image",
            "text": "X",
        }
        measure = {
            "type": "roboflow_core/pixel_color_count@v1",
            "name": "measure",
            "image": "$inputs.image",
            "target_color": [90, 90, 90],
            "tolerance": 0,
        }
        for steps in ([draw, measure], [measure, draw]):
            definition = {
                "version": "1.0",
                "inputs": [{"type": "WorkflowImage", "name": "image"}],
                "steps": steps,
                "outputs": [
                    {
                        "type": "JsonField",
                        "name": "count",
                        "selector": "$steps.measure.matching_pixels_count",
                    },
                    {"type": "JsonField", "name": "drawn", "selector": "$steps.draw.image"},
                ],
            }
            (result,) = run_locally(definition, {"image": canvas}, session=session)
            assert result["count"] == 60 * 80
            assert (result["drawn"].numpy_image != 90).any()
        assert (canvas == 90).all()

    def test_where_branches_meet_again_the_step_runs(self, session: Session) -> None:
        """A step that joins two branches of a switch runs when one of them did, and the report
        lists the skipped one with the reason (twentyhq/twenty#24060).
        """
        definition = {
            "version": "1.0",
            "inputs": [
                {"type": "WorkflowImage", "name": "image"},
                {"type": "WorkflowParameter", "name": "mode", "kind": ["string"]},
            ],
            "steps": [
                {
                    "type": "roboflow_core/switch_case@v1",
                    "name": "switch",
                    "value": "$inputs.mode",
                    "cases": {"blur": "$steps.blur"},
                    "default_next_steps": ["$steps.gray"],
                },
                {"type": "roboflow_core/image_blur@v1", "name": "blur", "image": "$inputs.image"},
                {
                    "type": "roboflow_core/convert_grayscale@v1",
                    "name": "gray",
                    "image": "$inputs.image",
                },
                {
                    "type": "roboflow_core/first_non_empty_or_default@v1",
                    "name": "joined",
                    "data": ["$steps.blur.image", "$steps.gray.image"],
                },
            ],
            "outputs": [{"type": "JsonField", "name": "o", "selector": "$steps.joined.output"}],
        }
        image = np.zeros((8, 8, 3), np.uint8)
        for mode, skipped in (("blur", "gray"), ("other", "blur")):
            report = RunReport()
            (result,) = run_locally(
                definition, {"image": image, "mode": mode}, session=session, report=report
            )
            assert result["o"] is not None
            assert report.skipped_steps == [skipped]
            (entry,) = report.skipped
            assert (entry.reason, entry.because_of) == ("gate closed", "switch")
            assert report.calls["joined"] == 1

    def test_pictures_and_boxes_of_different_branches_are_refused(self, session: Session) -> None:
        """Values that come from different slicers do not belong together, and the compiler says so
        instead of pairing them by position (roboflow/inference#390).
        """
        definition = {
            "version": "1.0",
            "inputs": [{"type": "WorkflowImage", "name": "image"}],
            "steps": [
                {"type": "roboflow_core/image_slicer@v2", "name": "a", "image": "$inputs.image"},
                {"type": "roboflow_core/image_slicer@v2", "name": "b", "image": "$inputs.image"},
                {
                    "type": "roboflow_core/stitch_images@v1",
                    "name": "stitch",
                    "image1": "$steps.a.slices",
                    "image2": "$steps.b.slices",
                },
            ],
            "outputs": [],
        }
        problems = Workflow(definition, session=session).check()
        assert [(problem.code, problem.block_id) for problem in problems] == [
            ("unrelated_batches", "stitch")
        ]
        assert "$steps.a.slices" in problems[0].message
        assert "$steps.b.slices" in problems[0].message

    def test_a_deadline(
        self, session: Session, blur_definition: dict[str, Any], picture: np.ndarray
    ) -> None:
        """A run past its deadline stops before its next step."""
        with pytest.raises(RunDeadlineExceededError):
            run_locally(blur_definition, {"image": picture}, session=session, deadline=1e-9)

    def test_a_cancelled_run(
        self, session: Session, blur_definition: dict[str, Any], picture: np.ndarray
    ) -> None:
        """A cancelled token stops the run."""
        token = CancellationToken()
        token.cancel()
        with pytest.raises(RunCancelledError):
            run_locally(blur_definition, {"image": picture}, session=session, cancellation=token)

    def test_a_profiler(
        self, session: Session, blur_definition: dict[str, Any], picture: np.ndarray
    ) -> None:
        """A profiler sees compilation and steps."""
        profiler = ChromeTraceProfiler()
        run_locally(blur_definition, {"image": picture}, session=session, profiler=profiler)
        names = {event["name"] for event in profiler.export_trace()}
        assert {"workflow_compilation", "step_execution", "workflow_run"} <= names

    def test_concurrent_steps_change_nothing(
        self, session: Session, blur_definition: dict[str, Any], picture: np.ndarray
    ) -> None:
        """Two workers give what one gives."""
        runs = [
            run_locally(
                blur_definition, {"image": picture}, session=session, max_concurrent_steps=count
            )[0]["blurred"].numpy_image
            for count in (1, 2)
        ]
        np.testing.assert_array_equal(*runs)

    def test_a_wrong_parameter(
        self, session: Session, blur_definition: dict[str, Any], picture: np.ndarray
    ) -> None:
        """A value that a field does not take is refused by the names of both."""
        with pytest.raises(RuntimeInputError, match=r"'kernel' .* 'kernel_size' of step 'blur'"):
            run_locally(blur_definition, {"image": picture, "kernel": "big"}, session=session)

    def test_block_state_is_fresh(
        self, session: Session, remembering_definition: dict[str, Any]
    ) -> None:
        """What one call stores, the next does not find."""
        inputs = {"image": np.zeros((4, 4, 3), np.uint8), "value": 5}
        for _ in range(2):
            result = run_locally(remembering_definition, inputs, session=session)
            assert result == [{"before": False}]


@pytest.mark.usefixtures("fresh_default")
class TestDefaultSession:
    def test_a_second_call_compiles_nothing(
        self, blur_definition: dict[str, Any], picture: np.ndarray
    ) -> None:
        """Calls that name no session share one, and one plan."""
        for _ in range(3):
            run_locally(blur_definition, {"image": picture})
        plans = default_session().plans
        assert (plans.misses, plans.hits) == (1, 2)

    def test_a_closed_one_is_replaced(self) -> None:
        """After `close` the next call makes a new one."""
        first = default_session()
        assert default_session() is first
        first.close()
        assert default_session() is not first
        assert not default_session().closed


class TestCompileWorkflow:
    def test_gives_the_plan_of_the_session(
        self, session: Session, blur_definition: dict[str, Any]
    ) -> None:
        """The plan is the one a run uses."""
        plan = compile_workflow(blur_definition, session)
        assert plan is session.compile(blur_definition)
        assert [step.name for step in plan.steps] == ["blur"]

    @pytest.mark.usefixtures("fresh_default")
    def test_without_a_session(self, blur_definition: dict[str, Any]) -> None:
        """The default session keeps the plan."""
        compile_workflow(blur_definition)
        assert default_session().plans.misses == 1

    def test_a_faulty_definition(self, session: Session, blur_definition: dict[str, Any]) -> None:
        """The class of the error is that of the earliest phase with a problem."""
        blur_definition["inputs"][1]["kind"] = ["image"]
        with pytest.raises(ReferenceTypeError):
            compile_workflow(blur_definition, session)
