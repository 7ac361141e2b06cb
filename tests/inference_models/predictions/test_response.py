"""The JSON objects of model routes: every task, both mask formats, both frames."""

from __future__ import annotations

import json
from typing import Any

import numpy as np
import pytest
import supervision as sv
from pycocotools import mask as coco

from inference_models.errors import InvalidParameterError
from inference_models.masks import InstanceMasks, masks_from_logits, plan_mask_geometry
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
from inference_models.predictions.response import ResponseOptions, model_response

IMAGE = (800, 1000)
NAMES = ("cat", "dog")


def blob(grid: tuple[int, int], x0: int, y0: int, x1: int, y1: int) -> np.ndarray:
    mask = np.zeros(grid, np.bool_)
    mask[y0:y1, x0:x1] = True
    return mask


def instances(factor: float = 1.0, rows: int = 2) -> InstanceDetections:
    """Two rectangles of a 160 x 160 grid of a 1000 x 800 image, delivered at a factor."""
    logits = np.full((2, 160, 160), -5, np.float32)
    logits[0, 20:60, 30:80] = 5
    logits[1, 100:120, 100:150] = 5
    geometry = plan_mask_geometry(
        (160, 160), inference_size=(640, 640), image_size=IMAGE, factor=factor
    )
    scale = np.array([IMAGE[1] / 160, IMAGE[0] / 160] * 2)
    masks = masks_from_logits(logits, geometry, threshold=0.0)
    whole = InstanceDetections(
        xyxy=np.array([[30, 20, 80, 60], [100, 100, 150, 120]]) * scale,
        confidence=[0.75, 0.5],
        class_id=[1, 0],
        masks=masks,
        image_size=IMAGE,
        class_names=NAMES,
    )
    return whole.select(slice(0, rows))


def answer(prediction: Any, task: str = "instance-segmentation", **options: Any) -> dict[str, Any]:
    response = model_response(prediction, task=task, options=ResponseOptions(**options))
    assert json.loads(json.dumps(response)) == response
    return response


class TestFrameOfInstances:
    """`model_response` of instances: which px geometry is in."""

    def test_image_space_by_default(self) -> None:
        """Without the opt-in everything is in px of the image and nothing speaks of a grid."""
        response = answer(instances(), response_mask_format="rle")
        assert list(response) == ["inference_id", "image", "predictions"]
        assert response["image"] == {"width": 1000, "height": 800}
        row = response["predictions"][0]
        assert {key: row[key] for key in ("x", "y", "width", "height")} == {
            "x": 343.75,
            "y": 200.0,
            "width": 312.5,
            "height": 200.0,
        }
        assert row["rle"]["size"] == [800, 1000]
        assert (row["class"], row["class_id"], row["confidence"]) == ("dog", 1, 0.75)

    def test_worked_example(self) -> None:
        """A 160 x 160 grid of a 1000 x 800 image is 580 x 480 at 0.5, with these scales."""
        response = answer(
            instances(0.5), response_mask_format="rle", allow_reduced_mask_resolution=True
        )
        assert response["image"] == {"width": 580, "height": 480}
        assert response["original_image"] == {"width": 1000, "height": 800}
        metadata = response["mask_metadata"]
        assert metadata.pop("scale_x") == pytest.approx(1.72413793)
        assert metadata.pop("scale_y") == pytest.approx(1.66666667)
        assert metadata == {"coordinate_system": "mask_grid", "width": 580, "height": 480}
        row = response["predictions"][0]
        assert row["rle"]["size"] == [480, 580]
        assert row["width"] == pytest.approx(312.5 * 580 / 1000)
        assert row["y"] == pytest.approx(200.0 * 480 / 800)

    @pytest.mark.parametrize("factor", [0.0, 0.25, 0.5, 1.0])
    @pytest.mark.parametrize("mask_format", ["polygon", "rle"])
    @pytest.mark.parametrize("rows", [0, 1, 2])
    def test_one_frame_for_everything(self, factor: float, mask_format: Any, rows: int) -> None:
        """With the opt-in, boxes surround their masks and outlines on the grid that `image` names,
        and the two extra keys are there at every factor, format and number of rows."""
        prediction = instances(factor, rows)
        response = answer(
            prediction, response_mask_format=mask_format, allow_reduced_mask_resolution=True
        )
        height, width = prediction.mask_size
        assert response["image"] == {"width": width, "height": height}
        assert response["original_image"] == {"width": 1000, "height": 800}
        assert response["mask_metadata"] == {
            "coordinate_system": "mask_grid",
            "width": width,
            "height": height,
            "scale_x": 1000 / width,
            "scale_y": 800 / height,
        }
        assert len(response["predictions"]) == rows
        for row, mask in zip(response["predictions"], prediction.masks.to_dense(), strict=True):
            if mask_format == "rle":
                assert row["rle"]["size"] == [height, width]
                np.testing.assert_array_equal(coco.decode(row["rle"]), mask)
                assert "points" not in row
            else:
                assert "rle" not in row
                xs = [point["x"] for point in row["points"]]
                ys = [point["y"] for point in row["points"]]
                found = [min(xs), min(ys), max(xs) + 1, max(ys) + 1]
                columns, lines = np.flatnonzero(mask.any(0)), np.flatnonzero(mask.any(1))
                assert found == [columns[0], lines[0], columns[-1] + 1, lines[-1] + 1]
            x, y, w, h = (row[key] for key in ("x", "y", "width", "height"))
            box = np.array([x - w / 2, y - h / 2, x + w / 2, y + h / 2])
            tight = prediction.masks.boxes[response["predictions"].index(row)]
            assert np.abs(box - tight).max() <= max(1.0, 0.01 * max(height, width))

    def test_reduced_masks_without_opt_in(self) -> None:
        """Masks that are on a grid although the caller cannot read one come on the image's px."""
        response = answer(instances(0.0), response_mask_format="rle")
        assert response["predictions"][0]["rle"]["size"] == [800, 1000]
        assert response["image"] == {"width": 1000, "height": 800}
        assert "mask_metadata" not in response

    def test_readable_by_supervision(self) -> None:
        """Both formats pass through `sv.Detections.from_inference` with masks in every row."""
        prediction = instances()
        for mask_format in ("polygon", "rle"):
            found = sv.Detections.from_inference(
                answer(prediction, response_mask_format=mask_format)
            )
            np.testing.assert_allclose(found.xyxy, prediction.xyxy)
            np.testing.assert_array_equal(found.mask, prediction.masks.to_dense())

    @pytest.mark.parametrize("opt_in", [False, True])
    def test_mask_without_pixels(self, opt_in: bool) -> None:
        """An instance without mask pixels keeps its row: no points, and a code of no pixels."""
        masks = np.zeros((1, *IMAGE), np.bool_)
        prediction = instances(rows=1).replace(masks=InstanceMasks.from_dense(masks))
        row = answer(prediction, allow_reduced_mask_resolution=opt_in)["predictions"][0]
        assert row["points"] == []
        assert coco.decode(row["rle"]).sum() == 0
        assert sv.Detections.from_inference(answer(prediction)).mask is not None

    def test_thin_masks_have_three_points(self) -> None:
        """Outlines of one and two pixels repeat their last point up to three."""
        masks = np.stack([blob(IMAGE, 5, 5, 6, 6), blob(IMAGE, 5, 5, 9, 6)])
        rows = answer(instances().replace(masks=InstanceMasks.from_dense(masks)))["predictions"]
        assert [len(row["points"]) for row in rows] == [3, 3]


class TestOtherTasks:
    """`model_response` of the other tasks."""

    def test_object_detection(self) -> None:
        """Boxes as centre and size; ids and tracks that rows have are kept."""
        prediction = Detections(
            xyxy=[[10, 20, 30, 60]],
            confidence=[0.5],
            class_id=[0],
            image_size=(100, 200),
            class_names=NAMES,
            tracker_id=[7],
            data={"detection_id": np.array(["one"])},
        )
        response = model_response(
            prediction, task="object-detection", image_size=(100, 200), inference_id="id", time=0.25
        )
        assert response == {
            "inference_id": "id",
            "time": 0.25,
            "image": {"width": 200, "height": 100},
            "predictions": [
                {
                    "x": 20.0,
                    "y": 40.0,
                    "width": 20.0,
                    "height": 40.0,
                    "confidence": 0.5,
                    "class": "cat",
                    "class_id": 0,
                    "detection_id": "one",
                    "tracker_id": 7,
                }
            ],
        }

    def test_fresh_ids(self) -> None:
        """Calls and rows without ids get new ones, all different."""
        prediction = instances().without_masks()
        one = answer(prediction, "object-detection")
        other = answer(prediction, "object-detection")
        ids = {one["inference_id"], other["inference_id"]}
        ids |= {row["detection_id"] for part in (one, other) for row in part["predictions"]}
        assert len(ids) == 6

    def test_keypoints(self) -> None:
        """Visible points are listed with their slot; unseen ones are left out."""
        prediction = KeyPoints(
            xy=[[[1, 2], [3, 4], [0, 0]]],
            keypoint_confidence=[[0.9, 0.1, 0.0]],
            visible=[[True, False, False]],
            xyxy=[[0, 0, 10, 10]],
            confidence=[0.5],
            class_id=[0],
            image_size=(100, 200),
            class_names=("person",),
            keypoint_names=(("nose", "eye", "ear"),),
        ).replace(visible=[[False, True, False]])
        row = answer(prediction, "keypoint-detection")["predictions"][0]
        (point,) = row["keypoints"]
        assert point.pop("confidence") == pytest.approx(0.1)
        assert point == {"x": 3.0, "y": 4.0, "class_id": 1, "class": "eye"}

    def test_oriented(self) -> None:
        """Corners are points, the box is the upright one around them."""
        prediction = OrientedDetections(
            corners=[[[0, 5], [5, 0], [10, 5], [5, 10]]],
            confidence=[0.5],
            class_id=[0],
            image_size=(100, 200),
            class_names=NAMES,
        )
        row = answer(prediction, "oriented-object-detection")["predictions"][0]
        assert [(point["x"], point["y"]) for point in row["points"]] == [
            (0, 5),
            (5, 0),
            (10, 5),
            (5, 10),
        ]
        assert (row["x"], row["y"], row["width"], row["height"]) == (5, 5, 10, 10)

    def test_semantic(self) -> None:
        """One row a class with its code over the whole image and its mean score; no background."""
        classes = np.array([[0, 1, 1], [0, 2, 2]], np.int32)
        prediction = SemanticSegmentationResult(
            segmentation_map=classes,
            confidence=np.array([[0.9, 0.5, 0.7], [0.9, 0.25, 0.25]], np.float32),
            image_size=(2, 3),
            class_names=("background", "road", "sky"),
            background_id=0,
        )
        response = answer(prediction, "semantic-segmentation")
        assert response["image"] == {"width": 3, "height": 2}
        assert [row["class"] for row in response["predictions"]] == ["road", "sky"]
        assert [row["confidence"] for row in response["predictions"]] == pytest.approx([0.6, 0.25])
        for row in response["predictions"]:
            np.testing.assert_array_equal(coco.decode(row["rle"]), classes == row["class_id"])

    def test_classification(self) -> None:
        """Classes by falling score from the least one on, and the first of them on top."""
        prediction = ClassificationPrediction(
            confidence=[0.25, 0.625, 0.125], image_size=(4, 5), class_names=("a", "b", "c")
        )
        response = answer(prediction, "classification", min_confidence=0.2)
        assert response.pop("inference_id")
        assert response == {
            "image": {"width": 5, "height": 4},
            "predictions": [
                {"class": "b", "class_id": 1, "confidence": 0.625},
                {"class": "a", "class_id": 0, "confidence": 0.25},
            ],
            "top": "b",
            "confidence": 0.625,
        }
        none = answer(prediction, "classification", min_confidence=0.9)
        assert (none["predictions"], none["top"], none["confidence"]) == ([], "", 0.0)

    def test_labels(self) -> None:
        """All classes by name, and the names of those the image has."""
        prediction = MultiLabelClassificationPrediction(
            confidence=[0.75, 0.25], class_ids=[0], image_size=(4, 5), class_names=("a", "b")
        )
        response = answer(prediction, "multi-label-classification")
        assert response["predictions"] == {
            "a": {"confidence": 0.75, "class_id": 0},
            "b": {"confidence": 0.25, "class_id": 1},
        }
        assert response["predicted_classes"] == ["a"]

    def test_names_from_the_caller(self) -> None:
        """Predictions that know no names take the caller's; without any, ids are names."""
        prediction = instances().without_masks().replace(class_names=None)
        named = model_response(prediction, task="object-detection", class_names=NAMES)
        assert [row["class"] for row in named["predictions"]] == ["dog", "cat"]
        bare = model_response(prediction, task="object-detection")
        assert [row["class"] for row in bare["predictions"]] == ["1", "0"]

    def test_tensors(self) -> None:
        """Predictions of tensors are written like those of arrays."""
        pytest.importorskip("torch")
        prediction = instances().replace(data={"detection_id": np.array(["a", "b"])})
        torch = prediction.to_torch()
        one, other = (answer(each, response_mask_format="rle") for each in (prediction, torch))
        assert one["predictions"] == other["predictions"]


class TestRefusals:
    """What `model_response` and `ResponseOptions` refuse."""

    def test_other_task(self) -> None:
        """A prediction of another task than the route's."""
        with pytest.raises(PredictionError, match="must be Detections, got InstanceDetections"):
            model_response(instances(), task="object-detection")

    def test_unknown_task(self) -> None:
        """A name that is no task, with the nearest one."""
        with pytest.raises(InvalidParameterError, match='did you mean "object-detection"'):
            model_response(instances(), task="object_detection")

    def test_other_image(self) -> None:
        """A prediction on an image of another size than the one answered for."""
        with pytest.raises(
            PredictionError, match=r"\(800, 1000\) is no answer for one of \(8, 9\)"
        ):
            model_response(instances(), task="instance-segmentation", image_size=(8, 9))

    @pytest.mark.parametrize(
        ("options", "text"),
        [
            (
                {"response_mask_format": "polygons"},
                "response_mask_format must be one of polygon, rle, got 'polygons'",
            ),
            ({"allow_reduced_mask_resolution": "yes"}, "must be true or false, got 'yes'"),
            ({"min_confidence": 2}, "must be in .0.0, 1.0., got 2"),
            ({"min_confidence": True}, "got True"),
        ],
    )
    def test_options(self, options: dict[str, Any], text: str) -> None:
        """Options that mean nothing, with those that would."""
        with pytest.raises(InvalidParameterError, match=text):
            ResponseOptions(**options)
