"""Every version of every model block, end to end on networks that know the right answer."""

from __future__ import annotations

import json
from typing import Any

import numpy as np
import pytest

from blocks.indexing import find_blocks
from execution_engine.errors import StepExecutionError, WorkflowSyntaxError
from tests.blocks.models.colour_models import (
    CLASS_MAP,
    CLASSIFIER,
    DETECTOR,
    END_TO_END_POINTS,
    LABELLER,
    PICKY_DETECTOR,
    POINTS,
    SEGMENTER,
    model_workflow,
    nothing,
    run_to_json,
    three_rectangles,
    without_ids,
)
from tests.inference_models.colour_networks import COLOURS
from workflows import Session, run_locally

# block, a model of its task, outputs
VERSIONS: list[tuple[str, str, list[str]]] = [
    ("object_detection_model@v1", DETECTOR, ["inference_id", "predictions"]),
    ("object_detection_model@v2", DETECTOR, ["inference_id", "predictions", "model_id"]),
    ("object_detection_model@v3", DETECTOR, ["inference_id", "predictions", "model_id"]),
    ("instance_segmentation_model@v1", SEGMENTER, ["inference_id", "predictions"]),
    *(
        (f"instance_segmentation_model@{version}", SEGMENTER,
         ["inference_id", "predictions", "model_id"])
        for version in ("v2", "v3", "v4", "v5")
    ),
    ("keypoint_detection_model@v1", POINTS, ["inference_id", "predictions"]),
    ("keypoint_detection_model@v2", POINTS, ["inference_id", "predictions", "model_id"]),
    ("keypoint_detection_model@v3", POINTS, ["inference_id", "predictions", "model_id"]),
    ("semantic_segmentation_model@v1", CLASS_MAP, ["inference_id", "predictions", "model_id"]),
    ("semantic_segmentation_model@v2", CLASS_MAP, ["inference_id", "predictions", "model_id"]),
    ("classification_model@v1", CLASSIFIER, ["predictions", "inference_id"]),
    ("classification_model@v2", CLASSIFIER, ["predictions", "inference_id", "model_id"]),
    ("classification_model@v3", CLASSIFIER, ["predictions", "inference_id", "model_id"]),
    ("multi_label_classification_model@v1", LABELLER, ["predictions", "inference_id"]),
    ("multi_label_classification_model@v2", LABELLER, ["predictions", "inference_id", "model_id"]),
    ("multi_label_classification_model@v3", LABELLER, ["predictions", "inference_id", "model_id"]),
]  # fmt: skip
OF_DETECTIONS = [row for row in VERSIONS if "classification" not in row[0]]
of_every_version = pytest.mark.parametrize(
    ("block", "model_id", "outputs"), VERSIONS, ids=[row[0] for row in VERSIONS]
)
of_every_detector = pytest.mark.parametrize(
    ("block", "model_id", "outputs"), OF_DETECTIONS, ids=[row[0] for row in OF_DETECTIONS]
)


class TestEveryVersion:
    def test_no_version_is_left_out(self) -> None:
        """The table above has every block that runs a model of one task."""
        ids = [block.get_manifest().model_fields["type"].annotation for block in find_blocks()]
        built = {names.__args__[0] for names in ids}
        prefix = "roboflow_core/roboflow_"
        assert {prefix + block for block, _, _ in VERSIONS} == {
            name for name in built if name.startswith(prefix) and "_model@" in name
        }

    @of_every_version
    def test_outputs(self, block: str, model_id: str, outputs: list[str], session: Session) -> None:
        """A step gives its outputs: the model it ran, one id a call and image, and predictions that
        carry the same id and name their image."""
        workflow = model_workflow(block, model_id, outputs)
        first, second = run_to_json(workflow, [three_rectangles(), nothing()], session)
        assert list(first) == list(second) == outputs
        assert first["inference_id"] != second["inference_id"]
        if "model_id" in outputs:
            assert first["model_id"] == second["model_id"] == model_id
        for result in (first, second):
            assert result["predictions"]["image"] == {"width": 130, "height": 90}
            assert json.loads(json.dumps(result)) == result

    @of_every_version
    def test_a_batch_is_its_images(
        self, block: str, model_id: str, outputs: list[str], session: Session
    ) -> None:
        """Images of several sizes, a grey one and one of a single pixel give in a batch what each
        gives alone, but for ids."""
        grey = three_rectangles((61, 83)).max(axis=2)
        images = [
            three_rectangles(), nothing(), three_rectangles((301, 77)), grey,
            np.full((1, 1, 3), 255, np.uint8),
        ]  # fmt: skip
        workflow = model_workflow(block, model_id, outputs)
        together = run_to_json(workflow, images, session)
        alone = [run_to_json(workflow, image, session)[0] for image in images]
        assert without_ids(together) == without_ids(alone)

    @of_every_version
    def test_a_model_of_another_task(
        self, block: str, model_id: str, outputs: list[str], session: Session
    ) -> None:
        """The error names the field, the model, its task and the task that is needed."""
        other = LABELLER if model_id != LABELLER else DETECTOR
        workflow = model_workflow(block, other, outputs)
        with pytest.raises(StepExecutionError) as caught:
            run_to_json(workflow, three_rectangles(), session)
        task = session.model_manager.describe(model_id).task.replace("-", " ")
        does = session.model_manager.describe(other).task.replace("-", " ")
        assert (
            f"Field `model_id`: model '{other}' does {does}; this block needs a model that does "
            f"{task}." in str(caught.value)
        )

    @of_every_version
    def test_a_model_that_is_not_there(
        self, block: str, model_id: str, outputs: list[str], session: Session
    ) -> None:
        """The error names the model, and the nearest id that exists."""
        workflow = model_workflow(block, model_id + "x", outputs)
        with pytest.raises(StepExecutionError, match=f'no model "{model_id}x"'):
            run_to_json(workflow, three_rectangles(), session)

    @of_every_detector
    def test_empty_results_keep_their_schema(
        self, block: str, model_id: str, outputs: list[str], session: Session
    ) -> None:
        """An image without objects has the columns and types of one with objects, and knows its
        size and parents."""
        workflow = model_workflow(block, model_id, outputs)
        images = {"image": [three_rectangles(), nothing()]}
        full, empty = (row["predictions"] for row in run_locally(workflow, images, session=session))
        assert (len(full), len(empty)) == (3, 0)
        assert list(full.data) == list(empty.data)
        for name, column in full.data.items():
            there, here = np.asarray(column), np.asarray(empty.data[name])
            assert there.dtype.kind == here.dtype.kind, name
            assert there.shape[1:] == here.shape[1:], name
        for name in ("xyxy", "confidence", "class_id"):
            assert getattr(full, name).dtype == getattr(empty, name).dtype, name
        assert (full.mask is None) == (empty.mask is None)
        if full.mask is not None:
            assert full.mask.image_shape == empty.mask.image_shape == (90, 130)
        known = {key: np.asarray(full.data[key][0]).tolist() for key in empty.metadata}
        free = {"inference_id", "parent_id", "root_parent_id"}
        assert {key: known[key] for key in known.keys() - free} == {
            key: np.asarray(value).tolist()
            for key, value in empty.metadata.items()
            if key not in free
        }
        assert set(known) >= free

    @of_every_detector
    def test_boxes_are_those_of_the_rectangles(
        self, block: str, model_id: str, outputs: list[str], session: Session
    ) -> None:
        """Boxes lie around the rectangles, in px of the image, best first, each with its class."""
        (result,) = run_to_json(
            model_workflow(block, model_id, outputs), three_rectangles(), session
        )
        rows = result["predictions"]["predictions"]
        assert [row["class"] for row in rows] == list(COLOURS)
        expected = [(6, 4, 43, 45), (65, 18, 123, 45), (32, 60, 65, 85)]
        for row, box in zip(rows, expected, strict=True):
            half = row["width"] / 2, row["height"] / 2
            got = (row["x"] - half[0], row["y"] - half[1], row["x"] + half[0], row["y"] + half[1])
            # One px of the network's 64 is two of the image.
            np.testing.assert_allclose(got, box, atol=2.5)


class TestConfidence:
    """Which results are reported."""

    @pytest.mark.parametrize("version", ["v1", "v2"])
    @pytest.mark.parametrize(
        ("confidence", "found"), [(0.65, 3), (0.75, 2), (0.85, 1), (0.95, 0), (None, 3)]
    )
    @pytest.mark.parametrize(
        ("block", "model_id"),
        [
            ("object_detection_model", DETECTOR),
            ("instance_segmentation_model", SEGMENTER),
            ("keypoint_detection_model", POINTS),
        ],
    )
    def test_a_number(
        self, block: str, model_id: str, version: str, confidence: float | None, found: int,
        session: Session,
    ) -> None:  # fmt: skip
        """Scores are 0.9, 0.8 and 0.7; those above the threshold are reported."""
        fields = {} if confidence is None else {"confidence": confidence}
        workflow = model_workflow(f"{block}@{version}", model_id, ["predictions"], **fields)
        (result,) = run_to_json(workflow, three_rectangles(), session)
        assert len(result["predictions"]["predictions"]) == found

    @pytest.mark.parametrize(
        ("fields", "found"),
        [
            ({}, ["red", "green", "blue"]),
            ({"confidence_mode": "best"}, ["red", "green", "blue"]),
            ({"confidence_mode": "default"}, ["red", "green", "blue"]),
            ({"confidence_mode": "custom", "custom_confidence": 0.85}, ["red"]),
            ({"custom_confidence": 0.85}, ["red", "green", "blue"]),
        ],
    )
    def test_modes(self, fields: dict[str, Any], found: list[str], session: Session) -> None:
        """`best` takes the package's thresholds class by class, `custom` the field's, which no
        other mode looks at."""
        workflow = model_workflow(
            "object_detection_model@v3", PICKY_DETECTOR, ["predictions"], **fields
        )
        (result,) = run_to_json(workflow, three_rectangles(), session)
        assert [row["class"] for row in result["predictions"]["predictions"]] == found

    def test_best_takes_the_packages_threshold(self, session: Session) -> None:
        """The package recommends 0.75, and 0.6 for blue; the same boxes by `custom` lack blue."""
        for mode, found in (("best", ["red", "green", "blue"]), ("custom", ["red", "green"])):
            workflow = model_workflow(
                "object_detection_model@v3", PICKY_DETECTOR, ["predictions"],
                confidence_mode=mode, custom_confidence=0.75,
            )  # fmt: skip
            (result,) = run_to_json(workflow, three_rectangles(), session)
            assert [row["class"] for row in result["predictions"]["predictions"]] == found

    @pytest.mark.parametrize("block", ["keypoint_detection_model@v3", "classification_model@v3"])
    def test_modes_without_best(self, block: str, session: Session) -> None:
        """Blocks whose packages recommend nothing have no mode `best`."""
        model_id = POINTS if block.startswith("keypoint") else CLASSIFIER
        workflow = model_workflow(block, model_id, ["predictions"], confidence_mode="best")
        with pytest.raises(WorkflowSyntaxError, match="must be one of 'default' or 'custom'"):
            run_to_json(workflow, three_rectangles(), session)

    def test_custom_needs_a_number(self, session: Session) -> None:
        """Mode `custom` without a threshold is refused before anything runs."""
        workflow = model_workflow(
            "object_detection_model@v3", DETECTOR, ["predictions"],
            confidence_mode="custom", custom_confidence=None,
        )  # fmt: skip
        with pytest.raises(WorkflowSyntaxError, match="`custom_confidence` is needed"):
            run_to_json(workflow, three_rectangles(), session)


class TestKeypoints:
    """Points beside the boxes."""

    def points(self, session: Session, model_id: str = POINTS, **fields: Any) -> list[Any]:
        workflow = model_workflow(
            "keypoint_detection_model@v1", model_id, ["predictions"], **fields
        )
        (result,) = run_to_json(workflow, three_rectangles(), session)
        return [row["keypoints"] for row in result["predictions"]["predictions"]]

    @pytest.mark.parametrize("model_id", [POINTS, END_TO_END_POINTS])
    def test_slots_that_a_class_does_not_use_are_dropped(
        self, model_id: str, session: Session
    ) -> None:
        """The network has three slots; each class shows the points its package names."""
        named = [[point["class"] for point in row] for row in self.points(session, model_id)]
        assert named == [
            ["corner", "far corner", "centre"], ["corner", "far corner"], ["corner"],
        ]  # fmt: skip

    def test_json_of_a_point(self, session: Session) -> None:
        """A point has the id of its slot, a name, a score of its own and px of the image."""
        corner, _, centre = self.points(session)[0]
        assert list(corner) == ["class_id", "class", "confidence", "x", "y"]
        assert (corner["class_id"], corner["class"]) == (0, "corner")
        assert (centre["class_id"], centre["class"]) == (2, "centre")
        assert corner["confidence"] == pytest.approx(0.9)
        np.testing.assert_allclose([corner["x"], corner["y"]], [6, 4], atol=2.5)
        np.testing.assert_allclose([centre["x"], centre["y"]], [24.5, 24.5], atol=2.5)

    @pytest.mark.parametrize(
        ("lowest", "counts"),
        [(0.0, [3, 2, 1]), (0.3, [2, 2, 1]), (0.6, [1, 1, 1]), (0.9, [0, 0, 0])],
    )
    def test_their_own_threshold(self, lowest: float, counts: list[int], session: Session) -> None:
        """Points score 0.9, 0.6 and 0.3; those above the threshold are reported, boxes stay."""
        found = self.points(session, keypoint_confidence=lowest)
        assert [len(row) for row in found] == counts

    def test_a_point_below_the_threshold_keeps_its_position(self, session: Session) -> None:
        """Inside a workflow the position is not overwritten, only its name is gone
        (ultralytics/ultralytics#11799)."""
        workflow = model_workflow(
            "keypoint_detection_model@v1", POINTS, ["predictions"], keypoint_confidence=0.7
        )
        (result,) = run_locally(workflow, {"image": three_rectangles()}, session=session)
        data = result["predictions"].data
        assert data["keypoints_class_name"][0].tolist() == ["corner", "", ""]
        np.testing.assert_allclose(data["keypoints_xy"][0, 1], [43, 45], atol=2.5)
