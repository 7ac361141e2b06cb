from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import supervision as sv
from pycocotools import mask as coco

from blocks.kinds.detections.compact import compact_from_dense
from blocks.kinds.detections.rle import rles_from_compact
from blocks.kinds.detections.serialise import serialise_detections
from execution_engine.errors import ExecutionEngineRuntimeError
from execution_engine.images import WorkflowImageData
from execution_engine.kinds.codec import CodecRegistry

Make = Callable[..., sv.Detections]


def with_rle(detections: sv.Detections, masks: np.ndarray) -> sv.Detections:
    rles = rles_from_compact(compact_from_dense(masks))
    detections.data["rle_mask"] = np.fromiter(rles, object, len(rles))
    return detections


class TestBoxes:
    def test_keys_and_order(self, make: Make, root_image: WorkflowImageData) -> None:
        """A plain row has these members in this order, the box as centre and size."""
        detections = make(1, root_image)
        detections.xyxy = np.array([[10, 20, 30, 60]], np.float32)
        result = serialise_detections(detections)
        assert result == {
            "image": {"width": 90, "height": 60},
            "predictions": [
                {
                    "width": 20.0,
                    "height": 40.0,
                    "x": 20.0,
                    "y": 40.0,
                    "confidence": float(detections.confidence[0]),
                    "class_id": int(detections.class_id[0]),
                    "class": "class-0",
                    "detection_id": "0-0",
                    "parent_id": "image",
                }
            ],
        }
        assert list(result["predictions"][0]) == [
            "width",
            "height",
            "x",
            "y",
            "confidence",
            "class_id",
            "class",
            "detection_id",
            "parent_id",
        ]

    def test_every_optional_member(self, make: Make, crop_image: WorkflowImageData) -> None:
        """All optional columns are written, in this order, as plain JSON."""
        polygon = np.empty(1, object)
        polygon[0] = np.array([[1, 2], [3, 4], [5, 6]])
        detections = make(
            1,
            crop_image,
            mask=np.ones((1, 28, 40), bool),
            keypoints_xy=np.array([[[1, 2], [0, 0]]], np.float32),
            keypoints_class_id=np.array([[4, 0]]),
            keypoints_class_name=np.array([["nose", ""]]),
            keypoints_confidence=np.array([[0.5, 0]], np.float32),
            path_deviation=np.array([1.5]),
            time_in_zone=np.array([2.5]),
            polygon=polygon,
            rect=np.array([[[1, 2], [3, 4], [5, 6], [7, 8]]], np.float32),
            width=np.array([11.0]),
            height=np.array([12.0]),
            angle=np.array([45.0]),
            data=np.array(["text"]),
            velocity=np.array([[1.0, 2.0]]),
            speed=np.array([3.0]),
            smoothed_velocity=np.array([[4.0, 5.0]]),
            smoothed_speed=np.array([6.0]),
            area_px=np.array([7.0]),
            area_converted=np.array([8.0]),
            nearest_target_distance=np.array([np.nan]),
        )
        detections.tracker_id = np.array([9])
        (row,) = serialise_detections(detections, "points")["predictions"]
        assert list(row)[8:] == [
            "tracker_id",
            "points",
            "keypoints",
            "path_deviation",
            "time_in_zone",
            "polygon",
            "rect",
            "angle",
            "data",
            "velocity",
            "speed",
            "smoothed_velocity",
            "smoothed_speed",
            "area_px",
            "area_converted",
            "nearest_target_distance",
            "parent_id",
            "parent_origin",
            "root_parent_id",
            "root_parent_origin",
        ]
        assert row["points"] == [{"x": 1.0, "y": 2.0}, {"x": 3.0, "y": 4.0}, {"x": 5.0, "y": 6.0}]
        assert row["keypoints"] == [
            {"class_id": 4, "class": "nose", "confidence": 0.5, "x": 1.0, "y": 2.0}
        ]
        assert (row["width"], row["height"], row["angle"]) == (11.0, 12.0, 45.0)
        assert row["polygon"] == [[1, 2], [3, 4], [5, 6]]
        assert row["nearest_target_distance"] is None
        assert row["parent_origin"] == {"offset_x": 10, "offset_y": 20, "width": 90, "height": 60}
        assert row["root_parent_origin"] == row["parent_origin"]
        assert json.loads(json.dumps(row)) == row

    def test_no_rows(self, make: Make, root_image: WorkflowImageData) -> None:
        """Without rows the image size comes from the metadata, without both it is null."""
        known = serialise_detections(make(0, root_image))
        assert known == {"image": {"width": 90, "height": 60}, "predictions": []}
        unknown = serialise_detections(sv.Detections.empty())
        assert unknown == {"image": {"width": None, "height": None}, "predictions": []}

    def test_detections_of_someone_else(self) -> None:
        """Rows without our columns get an id and a class name, what is not known is null."""
        detections = sv.Detections(np.array([[0, 0, 4, 2]]), class_id=np.array([7]))
        (row,) = serialise_detections(detections)["predictions"]
        assert len(row.pop("detection_id")) == 36
        assert row == {
            "width": 4.0,
            "height": 2.0,
            "x": 2.0,
            "y": 1.0,
            "confidence": None,
            "class_id": 7,
            "class": "7",
        }

    def test_columns_as_lists_and_objects(self, make: Make) -> None:
        """Columns may be lists or arrays of objects."""
        detections = make(2)
        detections.data["velocity"] = [np.array([1, 2], np.float32), (3.0, np.float32(4))]
        detections.data["class_name"] = np.array(["a", "b"], object)
        rows = serialise_detections(detections)["predictions"]
        assert [row["velocity"] for row in rows] == [[1.0, 2.0], [3.0, 4.0]]
        json.dumps(rows)

    def test_root_id_without_origins(self, make: Make) -> None:
        """Rows that name another root but not their place in it have only the ids."""
        detections = make(1, parent_id=np.array(["a"]), root_parent_id=np.array(["b"]))
        (row,) = serialise_detections(detections)["predictions"]
        assert row["parent_id"] == "a"
        assert row["root_parent_id"] == "b"
        assert "parent_origin" not in row


class TestPolygonForm:
    @pytest.mark.parametrize("compact", [True, False])
    def test_supervision_reads_it(
        self, make: Make, root_image: WorkflowImageData, compact: bool, ellipse_masks: Any
    ) -> None:
        """`sv.Detections.from_inference` gets boxes, ids and masks of the polygons back."""
        masks = ellipse_masks(5, 60, 90)
        mask = compact_from_dense(masks) if compact else masks
        detections = make(5, root_image, mask=mask)
        again = sv.Detections.from_inference(serialise_detections(detections, "points"))
        assert np.allclose(again.xyxy, detections.xyxy)
        assert np.array_equal(again.class_id, detections.class_id)
        overlap = (again.mask & masks).sum((1, 2)) / (again.mask | masks).sum((1, 2))
        assert (overlap > 0.99).all()

    def test_instance_without_pixels_keeps_its_box(
        self, make: Make, root_image: WorkflowImageData, ellipse_masks: Any
    ) -> None:
        """An empty mask costs neither its own box nor the masks of other rows."""
        masks = ellipse_masks(3, 60, 90)
        masks[1] = False
        result = serialise_detections(make(3, root_image, mask=masks), "points")
        assert [len(row["points"]) > 2 for row in result["predictions"]] == [True, False, True]
        assert result["predictions"][1]["points"] == []
        again = sv.Detections.from_inference(json.loads(json.dumps(result)))
        assert len(again) == 3
        assert again.mask is not None
        assert not again.mask[1].any()
        assert again.mask[0].any()

    def test_polygon_column_wins(self, make: Make, root_image: WorkflowImageData) -> None:
        """A polygon of more than two points is written in place of the mask's outline."""
        polygon = np.empty(2, object)
        polygon[0], polygon[1] = np.array([[1, 1], [8, 1], [8, 8]]), np.array([[1, 1]])
        masks = np.zeros((2, 60, 90), bool)
        masks[:, 20:31, 40:51] = True
        rows = serialise_detections(make(2, root_image, mask=masks, polygon=polygon), "points")
        first, second = rows["predictions"]
        assert first["points"][1] == {"x": 8.0, "y": 1.0}
        assert {"x": 40.0, "y": 20.0} in second["points"]

    def test_from_rle_alone(
        self, make: Make, root_image: WorkflowImageData, ellipse_masks: Any
    ) -> None:
        """Where only RLE is there, the polygons are made from it."""
        masks = ellipse_masks(3, 60, 90)
        expected = serialise_detections(make(3, root_image, mask=masks), "points")
        assert serialise_detections(with_rle(make(3, root_image), masks), "points") == expected

    def test_boxes_without_masks(self, make: Make) -> None:
        """Rows without masks have no points."""
        assert "points" not in serialise_detections(make(1), "points")["predictions"][0]


class TestRleForm:
    def test_pycocotools_and_supervision_read_it(
        self, make: Make, root_image: WorkflowImageData, ellipse_masks: Any
    ) -> None:
        """The RLE is COCO's: pycocotools and supervision decode the exact pixels."""
        masks = ellipse_masks(4, 60, 90)
        masks[2] = False
        result = serialise_detections(with_rle(make(4, root_image), masks), "rle_only")
        result = json.loads(json.dumps(result))
        for row, mask in zip(result["predictions"], masks, strict=True):
            assert "points" not in row
            assert np.array_equal(coco.decode(row["rle_mask"]).astype(bool), mask)
        assert np.array_equal(sv.Detections.from_inference(result).mask, masks)

    def test_bytes_become_text(self, make: Make) -> None:
        """Counts given as bytes are written as text."""
        rles = np.empty(1, object)
        rles[0] = coco.encode(np.asfortranarray(np.eye(4, dtype=np.uint8)))
        (row,) = serialise_detections(make(1, rle_mask=rles), "rle_only")["predictions"]
        assert isinstance(row["rle_mask"]["counts"], str)

    def test_made_from_masks(
        self, make: Make, root_image: WorkflowImageData, ellipse_masks: Any
    ) -> None:
        """The form `rle` encodes masks when no RLE is there, dense and compact ones alike."""
        masks = ellipse_masks(3, 60, 90)
        expected = serialise_detections(with_rle(make(3, root_image), masks), "rle")
        for mask in (masks, compact_from_dense(masks)):
            assert serialise_detections(make(3, root_image, mask=mask), "rle") == expected

    def test_kind_order_decides(
        self, registry: CodecRegistry, make: Make, root_image: WorkflowImageData, ellipse_masks: Any
    ) -> None:
        """RLE first: RLE is written when it is there, polygons otherwise."""
        masks = ellipse_masks(2, 60, 90)
        kinds = ["rle_instance_segmentation_prediction", "instance_segmentation_prediction"]
        plain, both = (make(2, root_image, mask=masks) for _ in range(2))
        with_rle(both, masks)
        assert "points" in registry.serialise(plain, kinds)["predictions"][0]
        assert "rle_mask" in registry.serialise(both, kinds)["predictions"][0]
        assert "points" in registry.serialise(both, kinds[::-1])["predictions"][0]
        with pytest.raises(ExecutionEngineRuntimeError, match="carry no rle_mask"):
            registry.serialise(plain, kinds[:1])


class TestThroughTheRegistry:
    def test_inside_containers(
        self, registry: CodecRegistry, make: Make, root_image: WorkflowImageData
    ) -> None:
        """The kind `*` finds detections in lists and dicts and writes them as objects."""
        detections = make(2, root_image)
        result: Any = registry.serialise({"a": [detections]}, ["*"])
        assert result["a"][0] == registry.serialise(detections, ["object_detection_prediction"])

    def test_not_detections(self, registry: CodecRegistry) -> None:
        """Other values are refused by kinds of detections."""
        with pytest.raises(ExecutionEngineRuntimeError, match="detections were expected, got dict"):
            registry.serialise({}, ["object_detection_prediction"])
