"""Answers of model routes back to predictions: what is exact, and what is refused."""

from __future__ import annotations

import json
from typing import Any

import numpy as np
import pytest

from inference_models.masks import InstanceMasks, MaskError
from inference_models.predictions import (
    ClassificationPrediction,
    Detections,
    InstanceDetections,
    KeyPoints,
    MultiLabelClassificationPrediction,
    OrientedDetections,
    PredictionError,
    SemanticSegmentationResult,
)
from inference_models.predictions.from_response import prediction_from_response
from inference_models.predictions.response import ResponseOptions, model_response

SEGMENT = "instance-segmentation"
IMAGE = (97, 211)
NAMES = ("cat", "dog", "fox")


def instances(rows: int, grid: tuple[int, int] = IMAGE, seed: int = 0) -> InstanceDetections:
    """Rows with ragged masks with holes, one of them empty when there are more than two."""
    rng = np.random.default_rng(seed)
    dense = np.zeros((rows, *grid), np.bool_)
    for mask in dense:
        y, x = rng.integers(0, grid[0] - 8), rng.integers(0, grid[1] - 8)
        mask[y : y + 30, x : x + 40] = rng.random(mask[y : y + 30, x : x + 40].shape) < 0.7
    if rows > 2:
        dense[1] = False
    low = rng.uniform(0, 90, (rows, 2))
    return InstanceDetections(
        xyxy=np.concatenate([low, low + rng.uniform(1, 40, (rows, 2))], 1),
        confidence=rng.random(rows),
        class_id=np.arange(rows) % 3,
        masks=InstanceMasks.from_dense(dense, IMAGE),
        image_size=IMAGE,
        class_names=NAMES,
        data={"detection_id": np.array([f"id{row}" for row in range(rows)], np.str_)},
    )


def there_and_back(
    prediction: Any, task: str, class_names: Any = NAMES, **options: Any
) -> tuple[Any, dict[str, Any]]:
    response = model_response(prediction, task=task, options=ResponseOptions(**options))
    text = json.loads(json.dumps(response))
    return prediction_from_response(text, task=task, class_names=class_names), response


def assert_same_columns(one: Any, other: Any) -> None:
    assert one.image_size == other.image_size
    ones, others = one.columns(), other.columns()
    assert set(ones) == set(others)
    for name, value in ones.items():
        np.testing.assert_array_equal(value, others[name], err_msg=name)


class TestInstances:
    """`prediction_from_response` of instances."""

    @pytest.mark.parametrize("rows", [0, 1, 5])
    @pytest.mark.parametrize("grid", [IMAGE, (40, 60), (150, 300)])
    @pytest.mark.parametrize("opt_in", [True, False])
    def test_rle_is_exact(self, rows: int, grid: tuple[int, int], opt_in: bool) -> None:
        """Every mask pixel, box, score and id comes back; on the grid with the opt-in, on the
        image's px without it."""
        prediction = instances(rows, grid)
        found, _ = there_and_back(
            prediction, SEGMENT, response_mask_format="rle", allow_reduced_mask_resolution=opt_in
        )
        expected = prediction
        if not opt_in:
            expected = prediction.replace(masks=prediction.masks.on_image_grid())
        assert found.mask_size == expected.mask_size
        np.testing.assert_array_equal(found.masks.to_dense(), expected.masks.to_dense())
        if rows == 0:
            expected = expected.replace(data={})
        assert_same_columns(found, expected)
        assert found.class_names == NAMES

    @pytest.mark.parametrize("grid", [IMAGE, (40, 60)])
    def test_polygons_of_solid_masks(self, grid: tuple[int, int]) -> None:
        """Outlines of solid masks give them back, an empty mask among them."""
        dense = np.zeros((3, *grid), np.bool_)
        dense[0, 5:20, 8:50] = True
        dense[0, 20:30, 8:20] = True
        dense[2, 39, 59] = True
        prediction = instances(3, grid).replace(masks=InstanceMasks.from_dense(dense, IMAGE))
        found, _ = there_and_back(prediction, SEGMENT, allow_reduced_mask_resolution=True)
        assert found.mask_size == grid
        np.testing.assert_array_equal(found.masks.to_dense(), dense)
        assert_same_columns(found, prediction)

    def test_same_answer_again(self) -> None:
        """What was read is written as it came."""
        options = {"response_mask_format": "rle", "allow_reduced_mask_resolution": True}
        found, response = there_and_back(instances(4, (40, 60)), SEGMENT, **options)
        again = model_response(
            found,
            task=SEGMENT,
            options=ResponseOptions(**options),
            inference_id=response["inference_id"],
        )
        for row, other in zip(again["predictions"], response["predictions"], strict=True):
            for side in ("x", "y", "width", "height"):
                assert row.pop(side) == pytest.approx(other.pop(side), rel=1e-6)
        assert again == response

    def test_names_without_a_table(self) -> None:
        """Without a table of names each row keeps the name it came with."""
        found, _ = there_and_back(instances(4), SEGMENT, None, response_mask_format="rle")
        assert found.class_names is None
        assert found.data["class_name"].tolist() == ["cat", "dog", "fox", "cat"]
        assert found.to_supervision().data["class_name"].tolist() == ["cat", "dog", "fox", "cat"]

    def test_workflow_key(self) -> None:
        """The name workflows give codes is read as well."""
        _, response = there_and_back(instances(2), SEGMENT, response_mask_format="rle")
        for row in response["predictions"]:
            row["rle_mask"] = row.pop("rle")
        found = prediction_from_response(response, task=SEGMENT)
        np.testing.assert_array_equal(found.masks.to_dense(), instances(2).masks.to_dense())

    def test_workflow_json_with_own_grid(self) -> None:
        """Boxes in px of the image beside codes on a grid of their own, as workflows write them,
        stay what they are."""
        prediction = instances(3, (40, 60))
        _, response = there_and_back(
            prediction, SEGMENT, response_mask_format="rle", allow_reduced_mask_resolution=True
        )
        boxes = model_response(prediction.without_masks(), task="object-detection")
        for row, box in zip(response["predictions"], boxes["predictions"], strict=True):
            row.update({key: box[key] for key in ("x", "y", "width", "height")})
        del response["mask_metadata"], response["original_image"]
        response["image"] = {"width": IMAGE[1], "height": IMAGE[0]}
        found = prediction_from_response(response, task=SEGMENT, class_names=NAMES)
        assert found.mask_size == (40, 60)
        assert_same_columns(found, prediction)


class TestOtherTasks:
    """`prediction_from_response` of the other tasks."""

    def test_detections(self) -> None:
        """Boxes, scores, classes, tracks and ids are equal to the last bit."""
        prediction = instances(5).without_masks().replace(tracker_id=np.arange(5))
        found, _ = there_and_back(prediction, "object-detection")
        assert isinstance(found, Detections)
        assert_same_columns(found, prediction)

    def test_oriented(self) -> None:
        """Corners are exact."""
        corners = np.random.default_rng(1).uniform(0, 90, (4, 4, 2)).astype(np.float32)
        prediction = OrientedDetections(
            corners=corners,
            confidence=[0.5] * 4,
            class_id=[0, 1, 2, 0],
            image_size=IMAGE,
            class_names=NAMES,
        )
        found, _ = there_and_back(prediction, "oriented-object-detection")
        np.testing.assert_array_equal(found.corners, corners)

    def test_keypoints(self) -> None:
        """Visible points keep slot, name, place and score; the others are missing."""
        prediction = KeyPoints(
            xy=[[[1, 2], [3, 4], [5, 6]], [[7, 8], [9, 10], [11, 12]]],
            keypoint_confidence=[[0.9, 0.5, 0.25], [0.75, 0.1, 0.2]],
            visible=[[True, False, True], [False, True, False]],
            xyxy=[[0, 0, 10, 10], [5, 5, 20, 20]],
            confidence=[0.5, 0.25],
            class_id=[0, 2],
            image_size=IMAGE,
            class_names=NAMES,
            keypoint_names=(("a", "b", "c"), (), ("d", "e", "f")),
        )
        found, _ = there_and_back(prediction, "keypoint-detection")
        np.testing.assert_array_equal(found.visible, prediction.visible)
        np.testing.assert_array_equal(found.xy, prediction.xy * prediction.visible[..., None])
        np.testing.assert_array_equal(
            found.keypoint_confidence, prediction.keypoint_confidence * prediction.visible
        )
        np.testing.assert_array_equal(found.xyxy, prediction.xyxy)
        assert found.point_names().tolist() == [["a", "", "c"], ["", "e", ""]]

    def test_no_keypoints(self) -> None:
        """No objects, and objects without points, are read."""
        empty, _ = there_and_back(KeyPoints.empty(IMAGE, 3, NAMES), "keypoint-detection")
        assert (len(empty), empty.xy.shape) == (0, (0, 0, 2))

    def test_semantic(self) -> None:
        """The map is exact; background is -1, scores are the mean of their class."""
        classes = np.random.default_rng(2).integers(0, 3, IMAGE).astype(np.int32)
        prediction = SemanticSegmentationResult(
            segmentation_map=classes,
            confidence=np.full(IMAGE, 0.5, np.float32),
            image_size=IMAGE,
            class_names=NAMES,
            background_id=0,
        )
        found, _ = there_and_back(prediction, "semantic-segmentation")
        np.testing.assert_array_equal(found.segmentation_map, np.where(classes == 0, -1, classes))
        np.testing.assert_array_equal(found.confidence, np.where(classes == 0, 0, 0.5))
        named, _ = there_and_back(prediction, "semantic-segmentation", None)
        assert named.to_instances().class_name.tolist() == ["dog", "fox"]

    def test_classification(self) -> None:
        """Scores by class, whatever their order in the answer; classes left out score 0."""
        prediction = ClassificationPrediction(
            confidence=[0.25, 0.625, 0.125], image_size=IMAGE, class_names=NAMES
        )
        found, _ = there_and_back(prediction, "classification")
        np.testing.assert_array_equal(found.confidence, prediction.confidence)
        assert (found.class_names, found.class_id) == (NAMES, 1)
        cut, _ = there_and_back(prediction, "classification", min_confidence=0.5)
        np.testing.assert_array_equal(cut.confidence, np.array([0, 0.625, 0], np.float32))
        bare, _ = there_and_back(prediction, "classification", None, min_confidence=0.5)
        assert bare.class_names == ("0", "dog")

    def test_labels(self) -> None:
        """Scores and chosen classes, none of them too."""
        for chosen in ([], [0, 2]):
            prediction = MultiLabelClassificationPrediction(
                confidence=[0.75, 0.25, 0.5], class_ids=chosen, image_size=IMAGE, class_names=NAMES
            )
            for names in (NAMES, None):
                found, _ = there_and_back(prediction, "multi-label-classification", names)
                np.testing.assert_array_equal(found.confidence, prediction.confidence)
                assert found.class_ids.tolist() == chosen
                assert found.class_names == NAMES


def changed(**changes: Any) -> dict[str, Any]:
    _, response = there_and_back(instances(2), SEGMENT, response_mask_format="rle")
    row = response["predictions"][1]
    for key, value in changes.items():
        target = response if key in ("image", "predictions", "mask_metadata") else row
        if value is ...:
            del target[key]
        else:
            target[key] = value
    return response


class TestRefusals:
    """What `prediction_from_response` refuses, with the place named."""

    @pytest.mark.parametrize(
        ("changes", "text"),
        [
            ({"image": ...}, 'an answer must have "image", an object, got None'),
            ({"image": {"width": None, "height": 5}}, '"image" must have a whole width and height'),
            ({"predictions": {}}, 'an answer must have "predictions", a list'),
            ({"predictions": ["x"]}, "prediction 0 must be a JSON object, got str"),
            ({"x": "12"}, "prediction 1: \"x\" must be a number, got '12'"),
            ({"confidence": ...}, 'prediction 1: "confidence" must be a number, got None'),
            (
                {"class": "fox"},
                'prediction 1 is of class 1 "fox", by the class names given 1 is "d',
            ),
            ({"class_id": 9}, 'prediction 1 is of class 9 "dog", .* is "no class"'),
            ({"rle": ...}, 'prediction 1 has neither "rle" nor "points"'),
            ({"mask_metadata": {}}, 'must have "original_image"'),
        ],
    )
    def test_instances(self, changes: dict[str, Any], text: str) -> None:
        """A part that is missing, of another type, or against the table of names."""
        with pytest.raises(PredictionError, match=text):
            prediction_from_response(changed(**changes), task=SEGMENT, class_names=NAMES)

    @pytest.mark.parametrize("counts", ["", "5", [3, 4], "\x00"])
    def test_broken_code(self, counts: Any) -> None:
        """A code that does not cover its size."""
        with pytest.raises(MaskError):
            prediction_from_response(
                changed(rle={"size": [97, 211], "counts": counts}), task=SEGMENT
            )

    def test_not_an_object(self) -> None:
        """A batch of answers is not an answer."""
        with pytest.raises(PredictionError, match="must be a JSON object, got list"):
            prediction_from_response([], task=SEGMENT)  # type: ignore[arg-type]

    def test_keypoints(self) -> None:
        """Two points in one slot, or points without a place."""
        row = {"x": 1, "y": 1, "width": 1, "height": 1, "confidence": 1, "class_id": 0}
        response = {"image": {"width": 5, "height": 5}, "predictions": [row]}
        point = {"x": 1, "y": 1, "confidence": 1, "class_id": 0}
        for points, text in (
            (None, 'prediction 0 has no "keypoints"'),
            ([point, point], "keypoint 1 must be an object whose class_id no other has"),
            ([{"x": 1, "class_id": 3}], "keypoint 0 must have numbers"),
        ):
            row["keypoints"] = points
            with pytest.raises(PredictionError, match=text):
                prediction_from_response(response, task="keypoint-detection")

    def test_labels(self) -> None:
        """A predicted class that is not among the predictions."""
        response = {
            "image": {"width": 5, "height": 5},
            "predictions": {"a": {"confidence": 1, "class_id": 0}},
            "predicted_classes": ["b"],
        }
        with pytest.raises(PredictionError, match="predicted_classes names 'b'"):
            prediction_from_response(response, task="multi-label-classification")
