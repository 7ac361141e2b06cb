from __future__ import annotations

from collections.abc import Callable
from typing import Any

import cv2
import numpy as np
import pytest
import supervision as sv

from blocks.kinds.detections.columns import copy_of
from blocks.kinds.detections.compact import compact_from_dense
from blocks.kinds.detections.rle import compact_from_rles, rles_from_compact
from blocks.kinds.detections.root import to_root
from execution_engine.images import WorkflowImageData
from execution_engine.kinds.codec import CodecRegistry

Make = Callable[..., sv.Detections]
OFFSET = np.array([10, 20])
CROP_SIZE = (28, 40)
ROOT_SIZE = (60, 90)


def on_root(masks: np.ndarray, size: tuple[int, int] = ROOT_SIZE) -> np.ndarray:
    """Dense masks of the crop pasted on dense canvases of the root, as an oracle."""
    canvas = np.zeros((len(masks), *size), bool)
    height, width = masks.shape[1:]
    canvas[:, 20 : 20 + height, 10 : 10 + width] = masks
    return canvas


def rle_column(masks: np.ndarray) -> np.ndarray:
    rles = rles_from_compact(compact_from_dense(masks))
    return np.fromiter(rles, object, len(rles))


class TestBoxes:
    def test_shift(self, make: Make, crop_image: WorkflowImageData) -> None:
        """Boxes, keypoints, polygons and rectangles move by the place of the crop in its root."""
        polygon = np.empty(3, object)
        polygon[:] = [np.array([[1, 2], [3, 4], [5, 6]]), None, np.array([[0.5, 1.5]])]
        points = np.arange(12, dtype=np.float32).reshape(3, 2, 2)
        rect = np.arange(24, dtype=np.float32).reshape(3, 4, 2)
        detections = make(3, crop_image, keypoints_xy=points, polygon=polygon, rect=rect)
        moved = to_root(detections)
        assert np.array_equal(moved.xyxy, detections.xyxy + np.tile(OFFSET, 2))
        assert moved.xyxy.dtype == np.float32
        assert np.array_equal(moved.data["keypoints_xy"], points + OFFSET)
        assert moved.data["keypoints_xy"].dtype == np.float32
        assert moved.data["polygon"][0].tolist() == [[11, 22], [13, 24], [15, 26]]
        assert moved.data["polygon"][0].dtype.kind == "i"
        assert moved.data["polygon"][1] is None
        assert moved.data["polygon"][2].tolist() == [[10.5, 21.5]]
        assert np.array_equal(moved.data["rect"], rect + OFFSET)

    def test_lineage(
        self, registry: CodecRegistry, make: Make, crop_image: WorkflowImageData
    ) -> None:
        """Moved rows name the root as their parent and know its size; nothing else is written."""
        moved = to_root(make(2, crop_image))
        assert moved.data["parent_id"].tolist() == ["image", "image"]
        assert moved.data["image_dimensions"].tolist() == [[60, 90], [60, 90]]
        assert moved.data["parent_coordinates"].tolist() == [[0, 0], [0, 0]]
        written = registry.serialise(moved, ["*"])
        assert written["image"] == {"width": 90, "height": 60}
        assert list(written["predictions"][0])[-1] == "parent_id"
        assert to_root(moved) is moved

    def test_never_in_place(
        self, make: Make, crop_image: WorkflowImageData, ellipse_masks: Any
    ) -> None:
        """The given detections stay as they were, to the last byte."""
        masks = ellipse_masks(2, *CROP_SIZE)
        detections = make(2, crop_image, mask=masks, rle_mask=rle_column(masks))
        before = copy_of(detections)
        to_root(detections)
        assert detections == before

    @pytest.mark.parametrize("image", ["root_image", None])
    def test_nothing_to_do(
        self, make: Make, image: str | None, request: pytest.FixtureRequest
    ) -> None:
        """Detections on the root itself, or of unknown lineage, are returned as they are."""
        detections = make(2, request.getfixturevalue(image) if image else None)
        assert to_root(detections) is detections

    def test_whole_numbers_become_float32(self, make: Make, crop_image: WorkflowImageData) -> None:
        """Integer boxes of other sources come out as float32 like all boxes."""
        detections = make(1, crop_image)
        detections.xyxy = np.array([[1, 2, 3, 4]])
        assert to_root(detections).xyxy.dtype == np.float32

    def test_rows_of_different_crops(self, make: Make, crop_image: WorkflowImageData) -> None:
        """Every row moves by its own offset."""
        detections = make(2, crop_image)
        detections.data["root_parent_coordinates"] = np.array([[10, 20], [3, 4]])
        expected = detections.xyxy + np.array([[10, 20, 10, 20], [3, 4, 3, 4]])
        assert np.array_equal(to_root(detections).xyxy, expected)


class TestScale:
    def test_points(self, make: Make, crop_image: WorkflowImageData) -> None:
        """In an image enlarged twice, root = own / 2 + offset."""
        detections = make(2, crop_image, width=np.array([4.0, 6.0]))
        detections.data["scaling_relative_to_root_parent"] = np.array([2.0, 2.0])
        moved = to_root(detections)
        assert np.allclose(moved.xyxy, detections.xyxy / 2 + np.tile(OFFSET, 2))
        assert moved.data["width"].tolist() == [2.0, 3.0]
        assert moved.data["scaling_relative_to_root_parent"].tolist() == [1.0, 1.0]

    def test_masks(self, make: Make, crop_image: WorkflowImageData, ellipse_masks: Any) -> None:
        """Masks are scaled by nearest neighbour before they are placed."""
        masks = ellipse_masks(2, *CROP_SIZE)
        detections = make(2, crop_image, mask=masks)
        detections.data["scaling_relative_to_root_parent"] = np.array([2.0, 2.0])
        small = np.stack(
            [
                cv2.resize(mask.astype(np.uint8), (20, 14), interpolation=cv2.INTER_NEAREST)
                for mask in masks
            ]
        )
        assert np.array_equal(to_root(detections).mask.to_dense(), on_root(small.astype(bool)))

    def test_refused(self, make: Make, crop_image: WorkflowImageData) -> None:
        """A scale of nothing is an error."""
        detections = make(1, crop_image)
        detections.data["scaling_relative_to_root_parent"] = np.array([0.0])
        with pytest.raises(ValueError, match="must be positive"):
            to_root(detections)


class TestMasks:
    @pytest.mark.parametrize("compact", [True, False])
    def test_pixels(
        self, make: Make, crop_image: WorkflowImageData, compact: bool, ellipse_masks: Any
    ) -> None:
        """Masks lie in the root where pasting puts them, held as crops, RLE on the root's grid."""
        masks = ellipse_masks(4, *CROP_SIZE)
        masks[2] = False
        mask = compact_from_dense(masks) if compact else masks
        moved = to_root(make(4, crop_image, mask=mask, rle_mask=rle_column(masks)))
        assert isinstance(moved.mask, sv.CompactMask)
        assert np.array_equal(moved.mask.to_dense(), on_root(masks))
        assert [rle["size"] for rle in moved.data["rle_mask"]] == [[60, 90]] * 4
        decoded = compact_from_rles(list(moved.data["rle_mask"]), ROOT_SIZE)
        assert np.array_equal(decoded.to_dense(), on_root(masks))

    def test_parts_outside_are_cut(
        self, make: Make, crop_image: WorkflowImageData, ellipse_masks: Any
    ) -> None:
        """What reaches beyond the root is not part of the moved mask."""
        masks = ellipse_masks(3, *CROP_SIZE)
        detections = make(3, crop_image, mask=masks, rle_mask=rle_column(masks))
        detections.data["root_parent_dimensions"] = np.array([[30, 35]] * 3)
        moved = to_root(detections)
        expected = on_root(masks)[:, :30, :35]
        assert np.array_equal(moved.mask.to_dense(), expected)
        decoded = compact_from_rles(list(moved.data["rle_mask"]), (30, 35))
        assert np.array_equal(decoded.to_dense(), expected)

    def test_coarse_rle(self, make: Make, crop_image: WorkflowImageData) -> None:
        """RLE on a coarser grid than its image covers the same part of the root afterwards."""
        masks = np.zeros((1, 14, 20), bool)
        masks[0, 2:10, 4:12] = True
        (rle,) = to_root(make(1, crop_image, rle_mask=rle_column(masks))).data["rle_mask"]
        fine = on_root(masks.repeat(2, axis=1).repeat(2, axis=2))
        assert np.array_equal(compact_from_rles([rle], ROOT_SIZE).to_dense(), fine)

    def test_rows_of_different_crops(
        self, make: Make, crop_image: WorkflowImageData, ellipse_masks: Any
    ) -> None:
        """Masks of every row move by the row's offset and keep their order."""
        masks = ellipse_masks(4, *CROP_SIZE)
        detections = make(4, crop_image, mask=masks, rle_mask=rle_column(masks))
        offsets = [(10, 20), (0, 3), (10, 20), (5, 0)]
        detections.data["root_parent_coordinates"] = np.array(offsets)
        moved = to_root(detections)
        expected = np.zeros((4, *ROOT_SIZE), bool)
        for canvas, mask, (x, y) in zip(expected, masks, offsets, strict=True):
            canvas[y : y + CROP_SIZE[0], x : x + CROP_SIZE[1]] = mask
        assert np.array_equal(moved.mask.to_dense(), expected)
        decoded = compact_from_rles(list(moved.data["rle_mask"]), ROOT_SIZE)
        assert np.array_equal(decoded.to_dense(), expected)

    def test_different_roots(self, make: Make, crop_image: WorkflowImageData) -> None:
        """Masks of roots of different sizes have no common canvas."""
        detections = make(2, crop_image, mask=np.ones((2, *CROP_SIZE), bool))
        detections.data["root_parent_dimensions"] = np.array([[60, 90], [70, 90]])
        with pytest.raises(ValueError, match=r"one root image.*\[\[60, 90\], \[70, 90\]\]"):
            to_root(detections)

    def test_large_frame_stays_small(self, make: Make) -> None:
        """Masks of a 4K crop move to an 8K root without a canvas of either."""
        import tracemalloc

        from execution_engine.images import ImageParentMetadata, OriginCoordinatesSystem

        crops = [np.full((50, 50), True)] * 50
        mask = sv.CompactMask(
            [np.array([0, crop.size], np.int32) for crop in crops],
            np.full((50, 2), 50, np.int32),
            np.full((50, 2), 100, np.int32),
            (2160, 3840),
        )
        image = WorkflowImageData(
            ImageParentMetadata("crop", OriginCoordinatesSystem(10, 20, 7680, 4320)),
            ImageParentMetadata("root", OriginCoordinatesSystem(10, 20, 7680, 4320)),
            numpy_image=np.zeros((2160, 3840), np.uint8),
        )
        detections = make(50, image, mask=mask)
        tracemalloc.start()
        moved = to_root(detections)
        peak = tracemalloc.get_traced_memory()[1]
        tracemalloc.stop()
        assert moved.mask.offsets.tolist() == [[110, 120]] * 50
        assert moved.mask.image_shape == (4320, 7680)
        assert peak < 1_000_000


class TestNoRows:
    def test_metadata(
        self, registry: CodecRegistry, make: Make, crop_image: WorkflowImageData
    ) -> None:
        """Zero rows report the size of the root and keep their columns."""
        detections = make(0, crop_image)
        assert registry.serialise(detections, ["*"])["image"] == {"width": 40, "height": 28}
        moved = to_root(detections)
        assert registry.serialise(moved, ["*"]) == {
            "image": {"width": 90, "height": 60},
            "predictions": [],
        }
        assert moved.metadata["parent_id"] == "image"
        assert moved.data.keys() == detections.data.keys()
        assert detections.metadata["parent_id"] == "crop"

    def test_masks(self, make: Make, crop_image: WorkflowImageData) -> None:
        """An empty mask gets the shape of the root."""
        for mask in (np.zeros((0, *CROP_SIZE), bool), compact_from_dense(np.zeros((0, 28, 40)))):
            moved = to_root(make(0, crop_image, mask=mask))
            assert moved.mask.shape == (0, *ROOT_SIZE)

    def test_unknown_lineage(self) -> None:
        """Empty detections that know nothing are returned as they are."""
        detections = sv.Detections.empty()
        assert to_root(detections) is detections
