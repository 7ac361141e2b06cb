"""What classifiers give, and what a workflow makes of it."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from tests.blocks.models.colour_models import (
    CLASSIFIER,
    DETECTOR,
    LABELLER,
    SHADES,
    model_workflow,
    nothing,
    run_to_json,
    three_rectangles,
)
from tests.inference_models.colour_networks import COLOURS, rectangles
from workflows import Session


def form(value: Any) -> Any:
    """The keys and the types of a JSON value; of a list those of its first item."""
    if isinstance(value, dict):
        return {key: form(item) for key, item in value.items()}
    if isinstance(value, list):
        return [form(item) for item in value[:1]]
    return type(value).__name__


class TestSingleLabelClassification:
    """The class of an image."""

    def classify(self, session: Session, image: Any = None, **fields: Any) -> Any:
        image = rectangles((40, 50), green=(0, 0, 50, 40)) if image is None else image
        version = "v3" if "confidence_mode" in fields else "v1"
        workflow = model_workflow(
            f"classification_model@{version}", CLASSIFIER, ["predictions"], **fields
        )
        return run_to_json(workflow, image, session)[0]["predictions"]

    def test_json(self, session: Session) -> None:
        """Classes by falling score, the first of them again, and where the image comes from."""
        found = self.classify(session, confidence=0.0)
        assert list(found) == [
            "image", "predictions", "top", "confidence", "parent_id", "root_parent_id",
            "prediction_type", "inference_id",
        ]  # fmt: skip
        assert found["image"] == {"width": 50, "height": 40}
        assert [row["class"] for row in found["predictions"]] == ["lime", "crimson", "navy"]
        assert [row["class_id"] for row in found["predictions"]] == [1, 0, 2]
        high, low = np.exp(4) / (np.exp(4) + 2), 1 / (np.exp(4) + 2)
        scores = [row["confidence"] for row in found["predictions"]]
        np.testing.assert_allclose(scores, [high, low, low], rtol=1e-5)
        assert (found["top"], found["confidence"]) == ("lime", scores[0])
        assert found["parent_id"] == found["root_parent_id"]
        assert found["prediction_type"] == "classification"

    @pytest.mark.parametrize(
        ("fields", "classes"),
        [
            ({}, 1),
            ({"confidence": 0.01}, 3),
            ({"confidence": 0.5}, 1),
            ({"confidence_mode": "default"}, 3),
            ({"confidence_mode": "default", "custom_confidence": 0.5}, 3),
            ({"confidence_mode": "custom", "custom_confidence": 0.5}, 1),
        ],
    )
    def test_classes_below_the_threshold_are_left_out(
        self, fields: dict[str, Any], classes: int, session: Session
    ) -> None:
        """The top class is the same; `default` keeps the scores of all classes."""
        found = self.classify(session, **fields)
        assert len(found["predictions"]) == classes
        assert found["top"] == "lime"

    def test_no_class_reaches_the_threshold(self, session: Session) -> None:
        """Without a class the top one is an empty text of confidence 0."""
        found = self.classify(session, image=nothing(), confidence=0.4)
        assert (found["top"], found["confidence"], found["predictions"]) == ("", 0.0, [])


class TestMultiLabelClassification:
    """All classes of an image."""

    def classify(self, session: Session, image: Any, **fields: Any) -> Any:
        version = "v3" if "confidence_mode" in fields else "v1"
        workflow = model_workflow(
            f"multi_label_classification_model@{version}", LABELLER, ["predictions"], **fields
        )
        return run_to_json(workflow, image, session)[0]["predictions"]

    def test_json(self, session: Session) -> None:
        """Score and id of every class by name, and the names of those that reach the threshold."""
        found = self.classify(session, three_rectangles())
        assert list(found) == [
            "image", "predictions", "predicted_classes", "parent_id", "root_parent_id",
            "prediction_type", "inference_id",
        ]  # fmt: skip
        assert list(found["predictions"]) == list(COLOURS)
        assert [row["class_id"] for row in found["predictions"].values()] == [0, 1, 2]
        assert found["predicted_classes"] == ["red", "green"]
        assert found["prediction_type"] == "classification"

    @pytest.mark.parametrize(
        ("fields", "classes"),
        [
            ({"confidence": 0.0}, ["red", "green", "blue"]),
            ({"confidence": 0.99}, []),
            ({"confidence_mode": "default"}, ["red", "green"]),
            ({"confidence_mode": "best"}, ["red", "green"]),
            ({"confidence_mode": "custom", "custom_confidence": 0.3}, ["red", "green", "blue"]),
        ],
    )
    def test_the_threshold(
        self, fields: dict[str, Any], classes: list[str], session: Session
    ) -> None:
        """It decides which classes are predicted, all of them keep their scores."""
        found = self.classify(session, three_rectangles(), **fields)
        assert found["predicted_classes"] == classes
        assert list(found["predictions"]) == list(COLOURS)

    def test_nothing_predicted(self, session: Session) -> None:
        """Without a predicted class the form is the same."""
        found = self.classify(session, nothing())
        full = self.classify(session, three_rectangles())
        assert found["predicted_classes"] == []
        assert form({**found, "predicted_classes": [""]}) == form(full)


class TestTwoStages:
    """A classifier on the crops of a detector."""

    def workflow(self, block: str, model_id: str) -> dict[str, Any]:
        steps = [
            {
                "type": "roboflow_core/roboflow_object_detection_model@v3", "name": "find",
                "images": "$inputs.image", "model_id": DETECTOR,
            },
            {
                "type": "roboflow_core/dynamic_crop@v1", "name": "crop",
                "images": "$inputs.image", "predictions": "$steps.find.predictions",
            },
            {
                "type": f"roboflow_core/roboflow_{block}", "name": "name",
                "images": "$steps.crop.crops", "model_id": model_id,
            },
            {
                "type": "roboflow_core/detections_classes_replacement@v1", "name": "replace",
                "object_detection_predictions": "$steps.find.predictions",
                "classification_predictions": "$steps.name.predictions",
            },
        ]  # fmt: skip
        return {
            "version": "1.0",
            "inputs": [{"type": "WorkflowImage", "name": "image"}],
            "steps": steps,
            "outputs": [
                {"type": "JsonField", "name": "found", "selector": "$steps.replace.predictions"},
                {"type": "JsonField", "name": "before", "selector": "$steps.find.predictions"},
                {"type": "JsonField", "name": "crops", "selector": "$steps.name.predictions"},
            ],
        }

    @pytest.mark.parametrize(
        ("block", "model_id", "names"),
        [
            ("classification_model@v1", CLASSIFIER, list(SHADES)),
            ("classification_model@v3", CLASSIFIER, list(SHADES)),
            ("multi_label_classification_model@v3", LABELLER, list(COLOURS)),
        ],
    )
    def test_detections_get_the_classes_of_their_crops(
        self, block: str, model_id: str, names: list[str], session: Session
    ) -> None:
        """Every detection gets the class its own crop shows, also when an image of the batch has
        none and one has them in another order."""
        other = rectangles((80, 80), blue=(0, 0, 30, 30), red=(40, 40, 80, 80))
        images = [three_rectangles(), nothing(), other]
        results = run_to_json(self.workflow(block, model_id), images, session)
        found = [[row["class"] for row in one["found"]["predictions"]] for one in results]
        assert found == [names, [], [names[0], names[2]]]
        for one in results:
            boxes = [
                [(row["x"], row["y"], row["width"], row["height"]) for row in part["predictions"]]
                for part in (one["before"], one["found"])
            ]
            assert boxes[0] == boxes[1]
        crops = results[0]["crops"]
        ids = [row["detection_id"] for row in results[0]["before"]["predictions"]]
        assert [crop["parent_id"] for crop in crops] == ids
        assert len({crop["root_parent_id"] for crop in crops}) == 1

    def test_crops_that_show_no_class_are_left_out(self, session: Session) -> None:
        """A detection whose crop reaches no class has no answer and is dropped."""
        workflow = self.workflow("classification_model@v1", CLASSIFIER)
        workflow["steps"][2]["confidence"] = 0.999
        (result,) = run_to_json(workflow, three_rectangles(), session)
        assert result["found"]["predictions"] == []
        assert [crop["top"] for crop in result["crops"]] == ["", "", ""]
