"""Perspective Correction: what becomes of predictions and images, and the block itself."""

from __future__ import annotations

from typing import Any

import cv2
import numpy as np
import pytest
import supervision as sv

from blocks.kinds.detections.lineage import attach_lineage
from blocks.transformations.perspective_correction.predictions import (
    correct_predictions,
    warp_points,
)
from blocks.transformations.perspective_correction.quadrilateral import Rectification, rectify
from blocks.transformations.perspective_correction.v1 import (
    PerspectiveCorrectionBlockV1,
    PerspectiveCorrectionManifest,
)
from execution_engine.block_api import Batch, ImageParentMetadata, WorkflowImageData

# Bottom left, top left, top right, bottom right.
ROAD = [[20, 150], [40, 20], [200, 30], [220, 160]]
SQUARE = [[0, 99], [0, 0], [99, 0], [99, 99]]
OUTPUTS = (
    "corrected_coordinates",
    "warped_image",
    "extended_transformed_rect_width",
    "extended_transformed_rect_height",
)


def as_image(pixels: np.ndarray | None = None) -> WorkflowImageData:
    if pixels is None:
        pixels = np.zeros((180, 240, 3), np.uint8)
    return WorkflowImageData(ImageParentMetadata("image"), numpy_image=pixels)


def road(width: int = 200, height: int = 150) -> Rectification:
    return rectify(np.array(ROAD, float), width, height, np.empty((0, 2)), "x")


def boxes(*rows: tuple[float, float, float, float], **columns: Any) -> sv.Detections:
    """Detections of an image of 180 x 240 px, lineage attached."""
    count = len(rows)
    masks = columns.pop("mask", None)
    made = sv.Detections(
        xyxy=np.array(rows, np.float32).reshape(-1, 4),
        mask=masks,
        confidence=np.linspace(0.9, 0.5, count, dtype=np.float32),
        class_id=np.arange(count),
        data={"class_name": np.array([f"c{i}" for i in range(count)], dtype=str), **columns},
    )
    return attach_lineage(made, as_image(), prediction_type="object-detection")


def run(
    images: list[WorkflowImageData],
    predictions: list[sv.Detections] | None = None,
    polygons: Any = (ROAD,),
    **changed: Any,
) -> list[dict[str, Any]]:
    step = {"type": "PerspectiveCorrection", "name": "p", "images": "$inputs.image"}
    is_literal = not isinstance(polygons, Batch)
    step["perspective_polygons"] = list(polygons) if is_literal else "$inputs.zones"
    manifest = PerspectiveCorrectionManifest.model_validate({**step, **changed})
    arguments = {
        name: getattr(manifest, name)
        for name in PerspectiveCorrectionManifest.model_fields
        if name not in ("type", "name")
    }
    arguments["images"] = Batch(images)
    arguments["predictions"] = None if predictions is None else Batch(predictions)
    if not is_literal:
        arguments["perspective_polygons"] = polygons
    results = PerspectiveCorrectionBlockV1().run(**arguments)
    assert all(tuple(result) == OUTPUTS for result in results)
    return results


class TestCorrectBoxes:
    def test_bounds_of_corners(self) -> None:
        """A box becomes the bounds of its four warped corners."""
        homography = road().homography
        corrected = correct_predictions(boxes((60, 50, 120, 90), (150, 40, 151, 41)), road())
        for row, (left, top, right, bottom) in enumerate([(60, 50, 120, 90), (150, 40, 151, 41)]):
            corners = np.array([[left, top], [right, top], [right, bottom], [left, bottom]], float)
            moved = cv2.perspectiveTransform(corners[None], homography)[0]
            expected = [*moved.min(axis=0), *moved.max(axis=0)]
            assert corrected.xyxy[row] == pytest.approx(expected, abs=1e-3)
        assert corrected.xyxy.dtype == np.float32

    def test_columns_are_kept(self) -> None:
        """Scores, classes, ids and lineage stay with their rows; the input is not changed."""
        before = boxes((60, 50, 120, 90), (10, 10, 20, 20))
        copy = before.xyxy.copy()
        after = correct_predictions(before, road())
        assert np.array_equal(after.confidence, before.confidence)
        assert np.array_equal(after.class_id, before.class_id)
        assert set(after.data) == set(before.data)
        assert np.array_equal(after.data["detection_id"], before.data["detection_id"])
        assert np.array_equal(before.xyxy, copy)

    def test_zero_rows(self) -> None:
        """Zero rows stay zero rows with their columns and metadata."""
        empty = boxes()
        after = correct_predictions(empty, road())
        assert after.xyxy.shape == (0, 4)
        assert {name: column.dtype for name, column in after.data.items()} == {
            name: column.dtype for name, column in empty.data.items()
        }
        assert after.metadata == empty.metadata

    def test_horizon(self) -> None:
        """What lies beyond the horizon is left out; a box that reaches over it stays finite."""
        plane = rectify(
            np.array([[0, 100], [40, 60], [60, 60], [100, 100]], float), 100, 100,
            np.empty((0, 2)), "x",
        )  # fmt: skip
        # The sides meet at (50, 50): the horizon is y = 50.
        after = correct_predictions(
            boxes((40, 10, 60, 30), (40, 70, 60, 90), (45, 40, 55, 80)), plane
        )
        assert after.data["class_name"].tolist() == ["c1", "c2"]
        assert np.isfinite(after.xyxy).all()
        assert after.xyxy[1, 3] == pytest.approx(
            warp_points([[50, 80]], plane.homography)[0, 1], abs=0.01
        )
        assert after.xyxy[1, 1] < -1000

    def test_many(self) -> None:
        """A thousand boxes keep their order."""
        rows = [(40 + i / 10, 50, 60 + i / 10, 70) for i in range(1000)]
        after = correct_predictions(boxes(*rows), road())
        assert len(after) == 1000
        assert (np.diff(after.xyxy[:, 0]) > 0).all()


class TestCorrectMasks:
    @pytest.fixture
    def disc(self) -> np.ndarray:
        """(180, 240) disc with a hole."""
        canvas = np.zeros((180, 240), np.uint8)
        cv2.circle(canvas, (120, 90), 30, 1, -1)
        cv2.circle(canvas, (120, 90), 8, 0, -1)
        return canvas.astype(bool)

    def test_against_whole_canvas(self, disc: np.ndarray) -> None:
        """A mask is what warping the whole canvas gives, hole included."""
        plane = road()
        expected = cv2.warpPerspective(
            disc.astype(np.uint8), plane.homography, plane.size_wh, flags=cv2.INTER_NEAREST
        ).astype(bool)
        after = correct_predictions(boxes((90, 60, 150, 120), mask=disc[None]), plane)
        assert after.mask.shape == (1, 150, 200)
        assert (after.mask.to_dense()[0] != expected).sum() <= 2

    def test_box_is_that_of_the_mask(self, disc: np.ndarray) -> None:
        """The box becomes the bounds of the warped mask pixels, not of the warped box."""
        plane = road()
        after = correct_predictions(boxes((80, 50, 160, 130), mask=disc[None]), plane)
        ys, xs = np.nonzero(disc)
        moved = warp_points(np.stack([xs, ys], axis=1), plane.homography)
        expected = [*moved.min(axis=0), *moved.max(axis=0)]
        assert after.xyxy[0] == pytest.approx(expected, abs=1e-3)

    def test_forms_agree(self, disc: np.ndarray) -> None:
        """Dense, compact and run-length masks give the same result."""
        from pycocotools import mask as coco

        box = (90.0, 60.0, 150.0, 120.0)
        compact = sv.CompactMask.from_dense(disc[None], np.array([box]), disc.shape)
        rle = np.empty(1, dtype=object)
        rle[0] = coco.encode(np.asfortranarray(disc.astype(np.uint8)))
        dense = correct_predictions(boxes(box, mask=disc[None]), road()).mask.to_dense()
        from_compact = correct_predictions(boxes(box, mask=compact), road())
        from_rle = correct_predictions(boxes(box, rle_mask=rle), road())
        assert np.array_equal(from_compact.mask.to_dense(), dense)
        assert np.array_equal(from_rle.mask.to_dense(), dense)
        written = from_rle.data["rle_mask"][0]
        decoded = coco.decode({"size": written["size"], "counts": written["counts"].encode()})
        assert np.array_equal(decoded.astype(bool), dense[0])

    def test_single_pixel_is_enlarged(self) -> None:
        """A pixel is a square: enlarged five times it covers about 25 px."""
        mask = np.zeros((1, 180, 240), bool)
        mask[0, 50, 60] = True
        square = np.array([[0, 99], [0, 0], [99, 0], [99, 99]], float)
        plane = rectify(square, 496, 496, np.empty((0, 2)), "x")
        after = correct_predictions(boxes((60, 50, 60, 50), mask=mask), plane)
        assert after.mask.to_dense().sum() == 25

    def test_outside_and_empty(self) -> None:
        """A mask outside the rectangle is cut away, an empty one stays empty; both keep a box."""
        mask = np.zeros((2, 180, 240), bool)
        mask[0, 170:, 230:] = True
        after = correct_predictions(
            boxes((230, 170, 240, 180), (60, 50, 90, 80), mask=mask), road()
        )
        assert after.mask.to_dense().sum() == 0
        assert len(after) == 2
        assert (after.xyxy[:, 2:] > after.xyxy[:, :2]).all()

    def test_large_canvas(self, disc: np.ndarray) -> None:
        """Masks of a large rectangle stay crops: no canvas is built for each of them."""
        masks = np.repeat(disc[None], 20, axis=0)
        plane = rectify(np.array(SQUARE, float) * 2, 4000, 4000, np.empty((0, 2)), "x")
        after = correct_predictions(boxes(*[(90, 60, 150, 120)] * 20, mask=masks), plane)
        assert after.mask.shape == (20, 4000, 4000)
        scale = (3999 / 198) ** 2
        assert after.mask.area[0] == pytest.approx(disc.sum() * scale, rel=0.01)


class TestCorrectPoints:
    def test_point_columns(self) -> None:
        """Keypoints, oriented boxes and polygons are moved point by point; None stays None."""
        keypoints = np.array([[[60, 50], [70, 60], [0, 0]]], np.float32)
        corners = np.array([[[60, 50], [90, 40], [100, 70], [70, 80]]], np.float32)
        polygon = np.empty(2, dtype=object)
        polygon[0] = [[60, 50], [90, 50], [90, 80]]
        before = boxes((60, 50, 120, 90), keypoints_xy=keypoints, xyxyxyxy=corners)
        after = correct_predictions(before, road())
        homography = road().homography
        for name, points in (("keypoints_xy", keypoints), ("xyxyxyxy", corners)):
            expected = cv2.perspectiveTransform(points.astype(float), homography)
            assert after.data[name] == pytest.approx(expected, abs=1e-3)
            assert after.data[name].dtype == np.float32
        moved = after.data["xyxyxyxy"][0]
        assert after.xyxy[0] == pytest.approx([*moved.min(axis=0), *moved.max(axis=0)], abs=1e-3)
        outlined = boxes((60, 50, 90, 80), (0, 0, 9, 9), polygon=polygon)
        result = correct_predictions(outlined, road()).data["polygon"]
        assert result[0] == pytest.approx(warp_points(polygon[0], homography))
        assert result[1] is None

    def test_rotated_rectangle_is_dropped(self) -> None:
        """Measures of a rotated rectangle are false after the correction and left out."""
        measured = boxes(
            (60, 50, 120, 90), width=np.array([5.0]), height=np.array([4.0]),
            angle=np.array([0.0]), rect=np.zeros((1, 4, 2)),
        )  # fmt: skip
        data = correct_predictions(measured, road()).data
        assert not {"width", "height", "angle", "rect"} & set(data)


class TestPerspectiveCorrectionBlockV1:
    def test_recorded(self) -> None:
        """Sizes and boxes agree with those of Roboflow Workflows, up to its rounding."""
        masks = np.zeros((3, 180, 240), np.uint8)
        outlines = (
            [[20, 20], [80, 20], [80, 70], [20, 70]],
            [[40, 160], [110, 160], [75, 100]],
            [[140, 110], [220, 120], [210, 165], [135, 150]],
        )
        for mask, outline in zip(masks, outlines, strict=True):
            cv2.fillPoly(mask, [np.array(outline, np.int32)], 1)
        detections = boxes(
            (20, 20, 80, 70), (40, 100, 110, 160), (135, 110, 220, 165), mask=masks.astype(bool)
        )
        (result,) = run(
            [as_image()], [detections],
            transformed_rect_width=200, transformed_rect_height=150,
            extend_perspective_polygon_by_detections_anchor="BOTTOM_CENTER",
        )  # fmt: skip
        assert result["extended_transformed_rect_width"] == 200
        assert result["extended_transformed_rect_height"] == 158
        corrected = result["corrected_coordinates"]
        expected = [[-24, -4, 53, 67], [21, 98, 89, 159], [114, 104, 206, 156]]
        assert corrected.xyxy == pytest.approx(np.array(expected), abs=1.5)
        assert corrected.mask.shape == (3, 158, 200)

    def test_warped_image(self) -> None:
        """The image is moved to the rectangle; its lineage stays."""
        pixels = np.zeros((180, 240, 3), np.uint8)
        cv2.fillConvexPoly(pixels, np.array(ROAD, np.int32), (10, 200, 30))
        (result,) = run([as_image(pixels)], warp_image=True,
                        transformed_rect_width=80, transformed_rect_height=60)  # fmt: skip
        warped = result["warped_image"]
        assert warped.numpy_image.shape == (60, 80, 3)
        assert (warped.numpy_image[3:-3, 3:-3] == [10, 200, 30]).all()
        assert warped.parent_metadata.parent_id == "image"

    @pytest.mark.parametrize("shape", [(180, 240), (180, 240, 3), (1, 1)])
    def test_gray(self, shape: tuple[int, ...]) -> None:
        """Gray images stay gray."""
        (result,) = run([as_image(np.zeros(shape, np.uint8))], warp_image=True)
        assert result["warped_image"].numpy_image.shape == (1000, 1000, *shape[2:])

    def test_image_alone(self) -> None:
        """Without predictions and warping the image passes through."""
        image = as_image()
        (result,) = run([image])
        assert result["warped_image"] is image
        assert result["corrected_coordinates"] is None
        assert result["extended_transformed_rect_width"] == 1000

    @pytest.mark.parametrize("anchor", ["CENTER", "TOP_LEFT", "ALL"])
    def test_anchors_end_up_inside(self, anchor: str) -> None:
        """The area is extended until it holds the chosen point of every box."""
        detections = boxes((-30, 10, 30, 60), (200, 140, 260, 190))
        (result,) = run(
            [as_image()], [detections], extend_perspective_polygon_by_detections_anchor=anchor
        )
        width = result["extended_transformed_rect_width"]
        height = result["extended_transformed_rect_height"]
        assert width > 1000
        if anchor == "ALL":
            inside = result["corrected_coordinates"].xyxy
            assert (inside[:, :2] > -2).all()
            assert (inside[:, 2:] < [width + 1, height + 1]).all()

    def test_extension_without_rows(self) -> None:
        """Zero detections extend nothing."""
        (result,) = run(
            [as_image()], [boxes()], extend_perspective_polygon_by_detections_anchor="ALL"
        )
        assert result["extended_transformed_rect_width"] == 1000
        assert len(result["corrected_coordinates"]) == 0

    def test_no_state(self) -> None:
        """Polygons of a later call count, not those of the first."""
        block = PerspectiveCorrectionBlockV1()

        def corrected(polygon: list[list[int]]) -> np.ndarray:
            (result,) = block.run(
                Batch([as_image()]), Batch([boxes((60, 50, 90, 80))]), polygon, 100, 100, "", False
            )  # fmt: skip
            return result["corrected_coordinates"].xyxy

        assert corrected(SQUARE) == pytest.approx(np.array([[60, 50, 90, 80]]), abs=1e-3)
        assert not np.allclose(corrected(ROAD), corrected(SQUARE))

    @pytest.mark.parametrize(
        "polygons",
        [
            ROAD, [ROAD], [ROAD, ROAD], [[ROAD], [SQUARE, ROAD]],
            Batch([ROAD, ROAD]), Batch([[ROAD], [ROAD]]), Batch([np.array(ROAD)]),
        ],
    )  # fmt: skip
    def test_forms_of_polygons(self, polygons: Any) -> None:
        """One polygon for all images or one entry for each, plain or as lists."""
        results = run([as_image(), as_image()], [boxes((60, 50, 90, 80))] * 2, polygons)
        first, second = (result["corrected_coordinates"].xyxy for result in results)
        assert np.array_equal(first, second)

    def test_sizes_by_image(self) -> None:
        """Sizes may come as a batch."""
        block = PerspectiveCorrectionBlockV1()
        results = block.run(
            Batch([as_image(), as_image()]), None, ROAD, Batch([20, 30]), 10, "", True
        )
        assert [result["warped_image"].size for result in results] == [(10, 20), (10, 30)]

    def test_image_without_zone(self) -> None:
        """An image whose list of polygons is empty gives None, the others are served."""
        results = run([as_image(), as_image()], None, Batch([[], [ROAD]]))
        assert results[0] == dict.fromkeys(OUTPUTS)
        assert results[1]["extended_transformed_rect_width"] == 1000

    @pytest.mark.parametrize(
        ("changed", "text"),
        [
            ({"polygons": []}, "`perspective_polygons` must hold at least one polygon"),
            ({"polygons": [ROAD] * 3}, "one entry for all images or one for each of the 2"),
            ({"polygons": [ROAD[:3]]}, "of image 0 must hold a polygon of four points"),
            ({"transformed_rect_width": 1}, "`transformed_rect_width` must be a whole number"),
            ({"transformed_rect_width": 2**31}, "`transformed_rect_width` must be a whole number"),
            (
                {"extend_perspective_polygon_by_detections_anchor": "MIDDLE"},
                "detections_anchor` must be empty, ALL or one of CENTER",
            ),
        ],
    )  # fmt: skip
    def test_bad_values(self, changed: dict[str, Any], text: str) -> None:
        """Bad values are refused by field."""
        with pytest.raises(ValueError, match=text):
            run([as_image(), as_image()], [boxes((1, 1, 2, 2))] * 2, **changed)
