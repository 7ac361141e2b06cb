from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import supervision as sv
from hypothesis import given
from hypothesis import strategies as st
from pydantic import ValidationError

from blocks.kinds.detections.root import to_root
from blocks.transformations.detection_offset.v1 import DetectionOffsetBlockV1
from blocks.transformations.dynamic_crop.background import background_bgr
from blocks.transformations.dynamic_crop.v1 import DynamicCropBlockV1, DynamicCropManifest
from execution_engine.block_api import (
    Batch,
    ImageParentMetadata,
    VideoMetadata,
    WorkflowImageData,
)
from tests.blocks.detection_sets import (
    WITH_MASKS,
    MaskForm,
    a_crop,
    an_image,
    dense_masks,
    ellipses,
    rle_masks,
    some,
)

IMAGE = an_image((60, 90))
BOXES = [[10, 5, 30, 45], [60, 20, 85, 50]]


def crop(
    image: WorkflowImageData,
    detections: sv.Detections,
    opacity: float = 0.0,
    colour: Any = (0, 0, 0),
) -> list[dict[str, Any]]:
    result: Any = DynamicCropBlockV1().run(Batch([image]), Batch([detections]), opacity, colour)
    return result[0]


class TestWindows:
    @given(
        st.lists(st.floats(-40, 130, width=32), min_size=4, max_size=4),
    )
    def test_equals_painting_the_box(self, corners: list[float]) -> None:
        """The crop is what lies between the rounded corners, found pixel by pixel."""
        box = [*np.minimum(corners[:2], corners[2:]), *np.maximum(corners[:2], corners[2:])]
        left, top, right, bottom = (round(float(side)) for side in box)
        rows = [y for y in range(60) if top <= y < bottom]
        columns = [x for x in range(90) if left <= x < right]
        found = crop(IMAGE, some([box], IMAGE))[0]
        if not rows or not columns:
            assert found == {"crops": None, "predictions": None}
        else:
            expected = IMAGE.numpy_image[np.ix_(rows, columns)]
            assert np.array_equal(found["crops"].numpy_image, expected)

    def test_halves_go_to_even(self) -> None:
        """Corners between two pixels go to the even one."""
        found = crop(IMAGE, some([[0.5, 1.5, 10.5, 11.5]], IMAGE))[0]["crops"]
        origin = found.parent_metadata.origin_coordinates
        assert (origin.left_top_x, origin.left_top_y, found.size) == (0, 2, (10, 10))

    def test_box_begins_outside(self) -> None:
        """A box that begins left of and above the image is clipped, not lost."""
        found = crop(IMAGE, some([[-12, -6, 40, 50]], IMAGE))[0]
        assert found["crops"].size == (50, 40)
        assert found["predictions"].xyxy.tolist() == [[-12, -6, 40, 50]]

    @pytest.mark.parametrize(
        "box", [[10, 10, 10, 20], [-9, 0, -1, 9], [90, 0, 99, 9], [0, 0, 0.4, 9]]
    )
    def test_nothing_left(self, box: list[float]) -> None:
        """A box without a pixel keeps its place among the crops and has none."""
        found = crop(IMAGE, some([BOXES[0], box, BOXES[1]], IMAGE))
        assert [item["crops"] is None for item in found] == [False, True, False]
        assert [item["predictions"] is None for item in found] == [False, True, False]

    def test_single_channel(self) -> None:
        """Images of one channel are cut as well."""
        image = an_image((60, 90), channels=1)
        assert crop(image, some(BOXES, image))[0]["crops"].numpy_image.shape == (40, 20)

    def test_no_rows(self) -> None:
        """Without detections there are no crops."""
        assert crop(IMAGE, some([], IMAGE)) == []


class TestLineage:
    def test_crop(self) -> None:
        """A crop is named after its detection and knows its place in parent and root."""
        part = a_crop(IMAGE, (20, 10, 80, 55), "part")
        found = crop(part, some([[5, 6, 25, 26]], part, ids=["first"]))[0]["crops"]
        parent, root = found.parent_metadata, found.workflow_root_ancestor_metadata
        assert parent.parent_id == "first"
        assert parent.origin_coordinates.to_dict() == {
            "offset_x": 5, "offset_y": 6, "width": 60, "height": 45,
        }  # fmt: skip
        assert root.parent_id == "image"
        assert root.origin_coordinates.to_dict() == {
            "offset_x": 25, "offset_y": 16, "width": 90, "height": 60,
        }  # fmt: skip

    def test_prediction_lies_in_the_crop(self) -> None:
        """A prediction names its crop as its image, so that it can be moved back to the root."""
        part = a_crop(IMAGE, (20, 10, 80, 55), "part")
        rows = some([[5, 6, 25, 26], [7, 8, 50, 40]], part, ids=["first", "second"])
        for row, item in enumerate(crop(part, rows)):
            prediction = item["predictions"]
            assert prediction.data["parent_id"].tolist() == [rows.data["detection_id"][row]]
            assert tuple(prediction.data["image_dimensions"][0]) == item["crops"].size
            in_root = to_root(prediction)
            assert np.array_equal(in_root.xyxy, rows.xyxy[row : row + 1] + np.array([20, 10] * 2))
            assert in_root.data["parent_id"].tolist() == ["image"]

    def test_video_metadata_do_not_stay(self) -> None:
        """A crop is no frame of the video of its image."""
        frame = WorkflowImageData(
            ImageParentMetadata("image"),
            numpy_image=IMAGE.numpy_image,
            video_metadata=VideoMetadata("video", frame_number=3),
        )
        found = crop(frame, some(BOXES[:1], frame))[0]["crops"]
        assert not found.has_video_metadata
        assert found.video_metadata.video_identifier == "d0"

    def test_missing_ids(self) -> None:
        """Detections must have the ids that crops are named after."""
        rows = some(BOXES, IMAGE)
        del rows.data["detection_id"]
        with pytest.raises(ValueError, match="must carry `detection_id`"):
            crop(IMAGE, rows)

    def test_images_and_detections_in_another_order(self) -> None:
        """roboflow/inference#390: detections of another image are refused, both are named."""
        images = [an_image(name=f"image.[{index}]") for index in range(2)]
        rows = [some(BOXES, image) for image in images]
        block = DynamicCropBlockV1()
        block.run(Batch(images), Batch(rows), 0.0, (0, 0, 0))
        with pytest.raises(ValueError, match=r"the image is 'image.\[0\]', .*'image.\[1\]'"):
            block.run(Batch(images), Batch(rows[::-1]), 0.0, (0, 0, 0))

    def test_detections_read_from_json(self) -> None:
        """The same holds for detections that only name their parent."""
        images = [an_image(name=f"image.[{index}]") for index in range(2)]
        rows = []
        for name in ("image.[1]", "image.[0]"):
            rows.append(some(BOXES[:1]))
            rows[-1].data["parent_id"] = np.array([name])
            rows[-1].data["root_parent_id"] = np.array(["detections"])
        with pytest.raises(ValueError, match=r"the image is 'image.\[0\]', .*'image.\[1\]'"):
            DynamicCropBlockV1().run(Batch(images), Batch(rows), 0.0, (0, 0, 0))

    def test_enlarged_detections(self) -> None:
        """Detections with a margin have detections for parents and still belong to the image."""
        enlarged: Any = DetectionOffsetBlockV1().run(Batch([some(BOXES, IMAGE)]), 10, 10, "Pixels")
        found = crop(IMAGE, enlarged[0]["predictions"])
        assert found[0]["crops"].size == (50, 30)


class TestPredictions:
    def test_everything_moves(self) -> None:
        """Keypoints, polygons and oriented boxes move with the box."""
        outline = np.empty(1, dtype=object)
        outline[0] = np.array([[10, 5], [30, 5], [30, 45]])
        corners = np.array([[[10, 5], [30, 5], [30, 45], [10, 45]]], np.float32)
        rows = some(
            BOXES[:1], IMAGE, polygon=outline, xyxyxyxy=corners, keypoints_xy=corners[:, :2]
        )
        found = crop(IMAGE, rows)[0]["predictions"]
        assert found.xyxy.tolist() == [[0, 0, 20, 40]]
        assert found.data["polygon"][0].tolist() == [[0, 0], [20, 0], [20, 40]]
        assert np.array_equal(found.data["xyxyxyxy"], corners - np.array([10, 5]))
        assert found.data["keypoints_xy"].tolist() == [[[0, 0], [20, 0]]]

    def test_columns_stay(self) -> None:
        """Class, confidence, tracker id and further columns are those of the detection."""
        rows = some(BOXES, IMAGE, names=["b", "a"], time_in_zone=np.array([1.5, 2.5]))
        rows.tracker_id = np.array([7, 9])
        found = crop(IMAGE, rows)[1]["predictions"]
        assert found.data["class_name"].tolist() == ["a"]
        assert (found.class_id[0], found.tracker_id[0]) == (0, 9)
        assert found.data["time_in_zone"].tolist() == [2.5]

    @pytest.mark.parametrize("form", WITH_MASKS)
    def test_masks(self, form: MaskForm) -> None:
        """Masks are cut to the crop and keep their form of data."""
        masks = ellipses(2, 60, 90, 4)
        rows = some(BOXES, IMAGE, masks=masks, form=form)
        for mask, (left, top, right, bottom), item in zip(
            masks, BOXES, crop(IMAGE, rows), strict=True
        ):
            prediction = item["predictions"]
            expected = mask[None, top:bottom, left:right]
            assert np.array_equal(dense_masks(prediction), expected)
            assert not isinstance(prediction.mask, np.ndarray)
            if form in ("rle", "both"):
                assert np.array_equal(rle_masks(prediction), expected)

    def test_masks_of_another_size(self) -> None:
        """Masks that do not cover the image are refused."""
        rows = some(BOXES, masks=np.ones((2, 30, 45), bool), form="compact")
        with pytest.raises(ValueError, match=r"\(30, 45\), but the image to cut has \(60, 90\)"):
            crop(IMAGE, rows)


class TestBackground:
    @pytest.mark.parametrize("form", WITH_MASKS)
    @pytest.mark.parametrize("opacity", [0.25, 1.0])
    def test_outside_of_the_mask(self, form: MaskForm, opacity: float) -> None:
        """What is outside the mask is blended with the colour, what is inside stays."""
        masks = ellipses(2, 60, 90, 4)
        found = crop(IMAGE, some(BOXES, IMAGE, masks=masks, form=form), opacity, (200, 100, 50))
        for mask, (left, top, right, bottom), item in zip(masks, BOXES, found, strict=True):
            pixels = IMAGE.numpy_image[top:bottom, left:right]
            blended = np.round(pixels * (1 - opacity) + np.array([50, 100, 200]) * opacity)
            inside = mask[top:bottom, left:right, None]
            assert np.array_equal(item["crops"].numpy_image, np.where(inside, pixels, blended))

    def test_single_channel(self) -> None:
        """An image of one channel gets the brightness of the colour."""
        image = an_image((60, 90), channels=1)
        masks = np.zeros((1, 60, 90), bool)
        rows = some(BOXES[:1], image, masks=masks, form="dense")
        pixels = crop(image, rows, 1.0, "#ff0000")[0]["crops"].numpy_image
        assert pixels.shape == (40, 20)
        assert (pixels == 76).all()

    def test_without_masks(self) -> None:
        """Without masks nothing is covered."""
        found = crop(IMAGE, some(BOXES, IMAGE), 1.0)[0]["crops"]
        assert np.array_equal(found.numpy_image, IMAGE.numpy_image[5:45, 10:30])

    @pytest.mark.parametrize("opacity", [-0.1, 1.5])
    def test_bad_opacity(self, opacity: float) -> None:
        """An opacity that came through a reference is checked."""
        with pytest.raises(ValueError, match="`mask_opacity` must lie in 0 to 1"):
            crop(IMAGE, some(BOXES, IMAGE), opacity)


class TestBackgroundBgr:
    @pytest.mark.parametrize(
        ("colour", "bgr"),
        [
            ("#102030", (0x30, 0x20, 0x10)),
            ("#123", (0x33, 0x22, 0x11)),
            ("(1, 2, 3)", (3, 2, 1)),
            ("1,2,3", (3, 2, 1)),
            ((1, 2, 3), (3, 2, 1)),
            ([255, 0, 0], (0, 0, 255)),
            ("white", (255, 255, 255)),
        ],
    )
    def test_forms(self, colour: Any, bgr: tuple[int, int, int]) -> None:
        """Every way to write a colour in RGB."""
        assert background_bgr(colour) == bgr

    @pytest.mark.parametrize("colour", ["(1, 2)", "(1, 2, 300)", [1, 2], [1, 2, -3], "nothing"])
    def test_no_colour(self, colour: Any) -> None:
        """Anything else is refused."""
        with pytest.raises(ValueError, match=r"colour|background_color"):
            background_bgr(colour)


class TestManifest:
    STEP = {
        "type": "Crop",
        "name": "c",
        "image": "$inputs.image",
        "detections": "$steps.d.predictions",
    }

    def test_old_names(self) -> None:
        """The older names of type and fields still work."""
        step = DynamicCropManifest.model_validate(self.STEP)
        assert (step.images, step.predictions) == ("$inputs.image", "$steps.d.predictions")
        assert (step.mask_opacity, step.background_color) == (0.0, (0, 0, 0))

    @pytest.mark.parametrize("changed", [{"mask_opacity": 2}, {"background_color": [1, 2]}])
    def test_bad_values(self, changed: dict[str, Any]) -> None:
        """Plain values outside their limits are refused."""
        with pytest.raises(ValidationError):
            DynamicCropManifest.model_validate({**self.STEP, **changed})
