from __future__ import annotations

import copy
import json
import re
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import supervision as sv

from blocks.kinds.detections.compact import compact_from_dense
from blocks.kinds.detections.rle import rles_from_compact
from execution_engine.images import WorkflowImageData
from execution_engine.kinds.codec import CodecRegistry, DecodingContext

Make = Callable[..., sv.Detections]
ROW = {
    "x": 16.0,
    "y": 22.0,
    "width": 30,
    "height": 40,
    "confidence": 0.9,
    "class": "cat",
    "class_id": 3,
    "detection_id": "d-1",
}
BOXES = "object_detection_prediction"
INSTANCES = "instance_segmentation_prediction"
RLE = "rle_instance_segmentation_prediction"
KEYPOINTS = "keypoint_detection_prediction"


def payload(*rows: dict[str, Any]) -> dict[str, Any]:
    return {"image": {"width": 100, "height": 80}, "predictions": list(rows)}


@pytest.fixture(scope="module")
def read(registry: CodecRegistry) -> Callable[[Any, str], Any]:
    def run(value: Any, kind: str = BOXES) -> Any:
        (codec,) = registry.for_kind(kind)
        return codec.deserialise("d", value, DecodingContext(None))

    return run


@pytest.fixture(scope="module")
def round_trip(registry: CodecRegistry, read: Any) -> Callable[[Any, str], Any]:
    return lambda value, kind=BOXES: registry.serialise(read(value, kind), [kind])


class TestBoxes:
    def test_columns(self, read: Any) -> None:
        """A row becomes a box in px, its class and score, and the columns blocks rely on."""
        result = read(payload(ROW))
        assert result.xyxy.tolist() == [[1, 2, 31, 42]]
        assert result.xyxy.dtype == np.float32
        assert result.confidence.tolist() == [0.9]
        assert result.class_id.tolist() == [3]
        assert result.mask is None
        assert result.tracker_id is None
        assert {key: values.tolist() for key, values in result.data.items()} == {
            "class_name": ["cat"],
            "detection_id": ["d-1"],
            "parent_id": ["d"],
            "root_parent_id": ["d"],
            "prediction_type": ["object-detection"],
            "image_dimensions": [[80, 100]],
        }

    def test_like_supervision(self, read: Any) -> None:
        """Boxes, scores and classes are those that `from_inference` reads."""
        value = payload(ROW, {**ROW, "x": 50.25, "width": 11.5, "class_id": 1})
        expected = sv.Detections.from_inference(value)
        result = read(value)
        assert np.array_equal(result.xyxy, expected.xyxy)
        assert np.array_equal(result.confidence, expected.confidence)
        assert np.array_equal(result.class_id, expected.class_id)
        assert np.array_equal(result.data["class_name"], expected.data["class_name"])

    def test_fresh_ids(self, read: Any) -> None:
        """Rows without id get different ones, given ids stay."""
        bare = {key: value for key, value in ROW.items() if key != "detection_id"}
        ids = read(payload(bare, ROW, bare)).data["detection_id"].tolist()
        assert ids[1] == "d-1"
        assert len(set(ids)) == 3
        assert len(ids[0]) == 36

    def test_no_rows(self, read: Any) -> None:
        """Zero rows have the columns and types of full ones; the image is in the metadata."""
        empty, full = read(payload()), read(payload(ROW))
        assert len(empty) == 0
        assert empty.xyxy.shape == (0, 4)
        for name in ("xyxy", "confidence", "class_id"):
            assert getattr(empty, name).dtype == getattr(full, name).dtype
        assert {
            key: (values.dtype.kind, values.shape[1:]) for key, values in empty.data.items()
        } == {key: (values.dtype.kind, values.shape[1:]) for key, values in full.data.items()}
        assert empty.metadata == {
            "image_dimensions": [80, 100],
            "parent_id": "d",
            "root_parent_id": "d",
            "prediction_type": "object-detection",
        }

    def test_unknown_image_size(self, round_trip: Any) -> None:
        """Boxes may come without the size of their image."""
        value = {"image": {"width": None, "height": None}, "predictions": []}
        assert round_trip(value) == value
        assert round_trip({"predictions": [ROW]})["image"] == {"width": None, "height": None}

    def test_input_is_not_changed(self, read: Any) -> None:
        """The given object stays as it was."""
        value = payload({**ROW, "points": [{"x": 1, "y": 1}], "keypoints": []})
        before = copy.deepcopy(value)
        read(value, INSTANCES)
        assert value == before

    def test_tracker_ids(self, read: Any, round_trip: Any) -> None:
        """Rows that are not tracked get -1 where others are."""
        value = payload({**ROW, "tracker_id": 5}, {**ROW, "tracker_id": None}, ROW)
        assert read(value).tracker_id.tolist() == [5, -1, -1]

    def test_inference_id_of_the_response(self, read: Any) -> None:
        """The id of a model's answer becomes a column."""
        result = read({**payload(ROW), "inference_id": "i-1"})
        assert result.data["inference_id"].tolist() == ["i-1"]


class TestDetectionsAsGiven:
    def test_complete(self, make: Make, root_image: WorkflowImageData, read: Any) -> None:
        """Detections with all columns pass untouched."""
        detections = make(2, root_image)
        assert read(detections) is detections

    def test_plain(self, read: Any) -> None:
        """Detections of someone else get ids, names and the input as parent; not in place."""
        given = sv.Detections(np.array([[0, 0, 5, 5]]), class_id=np.array([4]))
        result = read(given)
        assert not given.data
        assert result.data["class_name"].tolist() == ["4"]
        assert result.data["parent_id"].tolist() == ["d"]
        assert len(result.data["detection_id"][0]) == 36

    def test_empty(self, read: Any) -> None:
        """Empty detections get the columns as well."""
        result = read(sv.Detections.empty())
        assert result.data["class_name"].shape == (0,)
        assert result.metadata["parent_id"] == "d"


class TestOrigins:
    def test_round_trip(self, read: Any, round_trip: Any) -> None:
        """Parents and their places survive, sizes as (height, width)."""
        row = {
            **ROW,
            "parent_id": "crop",
            "parent_origin": {"offset_x": 3, "offset_y": 4, "width": 120, "height": 90},
            "root_parent_id": "image",
            "root_parent_origin": {"offset_x": 7, "offset_y": 8, "width": 640, "height": 480},
        }
        data = read(payload(row)).data
        assert data["parent_coordinates"].tolist() == [[3, 4]]
        assert data["parent_dimensions"].tolist() == [[90, 120]]
        assert data["root_parent_dimensions"].tolist() == [[480, 640]]
        assert round_trip(payload(row))["predictions"] == [row]

    def test_only_some_rows(self, read: Any) -> None:
        """A row without origin lies in the image itself."""
        row = {**ROW, "root_parent_origin": {"offset_x": 7, "offset_y": 8, "width": 9, "height": 9}}
        data = read(payload(row, ROW)).data
        assert data["root_parent_coordinates"].tolist() == [[7, 8], [0, 0]]
        assert data["root_parent_dimensions"].tolist() == [[9, 9], [80, 100]]


class TestMasks:
    def test_polygons(self, read: Any) -> None:
        """Polygons become compact masks with the pixels that supervision fills."""
        square = [{"x": 10, "y": 10}, {"x": 50, "y": 10}, {"x": 50.4, "y": 40}, {"x": 10, "y": 40}]
        outside = [{"x": -20, "y": 60}, {"x": 30, "y": 120}, {"x": 140, "y": 70}]
        value = payload({**ROW, "points": square}, {**ROW, "points": outside})
        mask = read(value, INSTANCES).mask
        assert isinstance(mask, sv.CompactMask)
        assert mask.image_shape == (80, 100)
        assert np.array_equal(mask.to_dense(), sv.Detections.from_inference(value).mask)

    def test_too_few_points_keep_the_box(self, read: Any) -> None:
        """A row whose polygon is none has no pixels, and all other rows keep theirs."""
        good = {**ROW, "points": [{"x": 1, "y": 1}, {"x": 9, "y": 1}, {"x": 9, "y": 9}]}
        for bad in ({**ROW, "points": []}, {**ROW, "points": good["points"][:2]}, ROW):
            result = read(payload(bad, good), INSTANCES)
            assert len(result) == 2
            assert result.mask.area.tolist()[0] == 0
            assert result.mask.area.tolist()[1] > 0

    @pytest.mark.parametrize("key", ["rle_mask", "rle"])
    def test_rle(self, read: Any, round_trip: Any, key: str, ellipse_masks: Any) -> None:
        """RLE stays as it is, and is a compact mask beside."""
        masks = ellipse_masks(3, 80, 100)
        rles = rles_from_compact(compact_from_dense(masks))
        value = payload(*({**ROW, key: rle} for rle in rles))
        for kind in (RLE, INSTANCES, "semantic_segmentation_prediction"):
            result = read(value, kind)
            assert np.array_equal(result.mask.to_dense(), masks)
            assert list(result.data["rle_mask"]) == rles
        assert [row["rle_mask"] for row in round_trip(value, RLE)["predictions"]] == rles

    def test_coarse_rle(self, read: Any) -> None:
        """An RLE on a coarser grid keeps its grid; the mask is on the image."""
        rle = rles_from_compact(compact_from_dense(np.ones((1, 40, 50), bool)))[0]
        result = read(payload({**ROW, "rle_mask": rle}), RLE)
        assert result.mask.image_shape == (80, 100)
        assert result.mask.area.tolist() == [8000]
        assert result.data["rle_mask"][0]["size"] == [40, 50]

    def test_written_form_comes_back(
        self,
        registry: CodecRegistry,
        make: Make,
        root_image: WorkflowImageData,
        read: Any,
        ellipse_masks: Any,
    ) -> None:
        """What the polygon form writes for an empty mask is read as an empty mask, not as RLE."""
        masks = ellipse_masks(2, 60, 90)
        masks[0] = False
        written = registry.serialise(make(2, root_image, mask=masks), [INSTANCES])
        result = read(json.loads(json.dumps(written)), INSTANCES)
        assert "rle_mask" not in result.data
        assert result.mask.area.tolist()[0] == 0
        again = registry.serialise(result, [INSTANCES])
        for row in again["predictions"]:
            assert row.pop("root_parent_id") == "d"  # the root of a row that names none
        assert again == written

    def test_polygons_for_an_rle_kind(self, read: Any) -> None:
        """A kind that travels as RLE makes it from polygons."""
        points = [{"x": 1, "y": 1}, {"x": 9, "y": 1}, {"x": 9, "y": 9}]
        result = read(payload({**ROW, "points": points}), RLE)
        assert result.data["rle_mask"][0]["size"] == [80, 100]

    def test_no_rows(self, read: Any) -> None:
        """Kinds with masks have an empty mask on the image."""
        assert read(payload(), INSTANCES).mask.shape == (0, 80, 100)
        assert read(payload(), RLE).data["rle_mask"].shape == (0,)
        assert read(payload()).mask is None

    @pytest.mark.parametrize(
        ("value", "words"),
        [
            (payload({**ROW, "rle_mask": {"size": [2, 2], "counts": [3]}}), "mask 0.*cover 4 px"),
            (payload(ROW), "no row has a mask"),
            (payload({**ROW, "rle_mask": {"size": [1 << 20, 1 << 20], "counts": [1]}}), "grids"),
            ({"predictions": [{**ROW, "rle_mask": {"size": 5, "counts": [1]}}]}, "d.image.*grids"),
            ({"predictions": [{**ROW, "points": [{"x": 1, "y": 1}] * 3}]}, "must have width"),
            (payload({**ROW, "points": [{"x": 1}] * 3}), r"predictions\[0\]. has a mask.*'y'"),
        ],
    )
    def test_malformed(self, read: Any, value: Any, words: str) -> None:
        """Masks that cannot be read are an error with the row."""
        with pytest.raises(ValueError, match=words):
            read(value, RLE)


class TestOptionalMembers:
    def test_round_trip(self, round_trip: Any) -> None:
        """All optional members survive reading and writing."""
        row = {
            **ROW,
            "tracker_id": 4,
            "path_deviation": 1.5,
            "time_in_zone": 2.5,
            "polygon": [[1, 2], [3, 4], [5, 6]],
            "data": "text",
            "velocity": [1.0, 2.0],
            "speed": 3.0,
            "smoothed_velocity": [4.0, 5.0],
            "smoothed_speed": 6.0,
            "area_px": 7.0,
            "area_converted": 8.0,
            "nearest_target_distance": None,
            "parent_id": "d",
        }
        assert round_trip(payload(row)) == payload(row)

    def test_turned_rectangle(self, read: Any, round_trip: Any) -> None:
        """Width, height and angle of a turned rectangle are columns."""
        corners = [[1.0, 2.0], [3.0, 4.0], [5.0, 6.0], [7.0, 8.0]]
        row = {**ROW, "rect": corners, "angle": 30.0, "parent_id": "d"}
        assert read(payload(row)).data["width"].tolist() == [30.0]
        assert round_trip(payload(row)) == payload(row)
        assert "width" not in read(payload(ROW)).data

    def test_partial_members(self, read: Any) -> None:
        """A member that some rows lack is NaN or None there."""
        data = read(payload({**ROW, "time_in_zone": 1.5, "data": "a", "speed": None}, ROW)).data
        assert data["time_in_zone"][0] == 1.5
        assert np.isnan(data["time_in_zone"][1])
        assert data["data"].tolist() == ["a", None]
        assert np.isnan(data["speed"]).all()

    def test_keypoints(self, read: Any, round_trip: Any) -> None:
        """Keypoints are padded to the longest row, and padding is dropped again."""
        nose = {"class_id": 0, "class": "nose", "confidence": 0.5, "x": 5.0, "y": 6.0}
        eye = {"class_id": 1, "class": "eye", "confidence": 0.25, "x": 15.0, "y": 16.0}
        rows = [{**ROW, "keypoints": keypoints} for keypoints in ([nose, eye], [nose], [])]
        data = read(payload(*rows), KEYPOINTS).data
        assert data["keypoints_xy"].shape == (3, 2, 2)
        assert data["keypoints_class_name"].tolist() == [["nose", "eye"], ["nose", ""], ["", ""]]
        result = round_trip(payload(*rows), KEYPOINTS)
        assert [row["keypoints"] for row in result["predictions"]] == [[nose, eye], [nose], []]


class TestRefused:
    @pytest.mark.parametrize(
        ("value", "message"),
        [
            (5, '`d` must be an object with "image" and "predictions", got int'),
            ({"boxes": []}, "got ['boxes']"),
            ({"predictions": {}}, "`d.predictions` must be a list of objects, got dict"),
            (payload(5), "`d.predictions[0]` must be an object, got int"),
            ({"image": 5, "predictions": []}, "`d.image` must be an object, got int"),
            ({"image": {"width": 0, "height": 5}, "predictions": []}, "positive width and height"),
            (
                payload(ROW, {key: value for key, value in ROW.items() if key != "width"}),
                "`d.predictions[1]` lacks `width`",
            ),
            (
                payload(ROW, {**ROW, "x": "5"}),
                "`d.predictions[1].x` must be a finite number, got str '5'",
            ),
            (payload({**ROW, "y": float("nan")}), "`d.predictions[0].y` must be a finite number"),
            (payload({**ROW, "x": None}), "`d.predictions[0].x` must be a finite number"),
            (payload({**ROW, "class": 5}), "`d.predictions[0].class` must be a string, got int"),
            (payload({**ROW, "class_id": 1.5}), "`d.predictions[0].class_id` must be a whole"),
            (payload({**ROW, "tracker_id": "a"}), "`d.predictions[0].tracker_id` must be a whole"),
            (payload({**ROW, "velocity": [1]}), "`d.predictions[0].velocity` must be a pair"),
            (payload({**ROW, "speed": "fast"}), "`d.predictions[0].speed` must be a number"),
            (payload({**ROW, "polygon": [1, 2, 3]}), "`d.predictions[0].polygon` must be pairs"),
            (payload({**ROW, "keypoints": [{"x": 1}]}), "`d.predictions[0].keypoints[0]` must"),
            (
                payload({**ROW, "parent_origin": {"offset_x": 1}}),
                "`d.predictions[0].parent_origin` must be an object with whole numbers offset_x",
            ),
        ],
    )
    def test_message(self, read: Any, value: Any, message: str) -> None:
        """A refusal names row and member, what was expected and what was given."""
        with pytest.raises(ValueError, match=re.escape(message)):
            read(value)

    def test_huge_image(self, read: Any) -> None:
        """A claimed image too large for masks is refused before a canvas is made."""
        points = [{"x": 0, "y": 0}, {"x": 99999, "y": 0}, {"x": 99999, "y": 99999}]
        value = {
            "image": {"width": 100_000, "height": 100_000},
            "predictions": [{**ROW, "points": points}],
        }
        with pytest.raises(ValueError, match=r"`d\.image`: masks are read on grids"):
            read(value, INSTANCES)
