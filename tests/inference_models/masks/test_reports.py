"""Faults that users of other libraries met with masks and run-length codes, each under its
symptom."""

from __future__ import annotations

import json

import cv2
import numpy as np
import pytest
from pycocotools import mask as coco

from inference_models.masks import (
    InstanceMasks,
    MaskError,
    decode_rle,
    encode_masks,
    largest_polygons,
    mask_iou,
    mask_polygons,
    masks_from_logits,
    masks_from_polygons,
    masks_from_prototypes,
    plan_mask_geometry,
)


class TestSegmentationsAreEmptyAfterReadingAndWriting:
    """Read COCO with masks, write COCO: every segmentation is []. Reference:
    roboflow/supervision#2285."""

    def test_polygon(self) -> None:
        """A polygon that was read and never drawn is written with the same vertices."""
        read = [[20, 10, 60, 10, 60, 50, 40, 70, 20, 50]]
        masks = masks_from_polygons([read], (100, 100))
        written = mask_polygons(masks)[0]
        assert len(written) == 1
        drawn = {tuple(point) for point in written[0].tolist()}
        assert drawn == {(20, 10), (60, 10), (60, 50), (40, 70), (20, 50)}

    def test_code(self) -> None:
        """A code that was read and never decoded to pixels is written character by character."""
        dense = np.zeros((100, 100), np.uint8)
        cv2.circle(dense, (50, 40), 30, 1, -1)
        read = coco.encode(np.asfortranarray(dense))
        entry = {"size": read["size"], "counts": read["counts"].decode()}
        assert json.loads(json.dumps(encode_masks(decode_rle([entry])))) == [entry]


class TestInnerContourFillsTheHole:
    """An inner contour given as a second polygon fills the hole. References:
    facebookresearch/detectron2#489, #1771."""

    def test_polygons_are_a_union(self) -> None:
        """Two polygons of one object are joined, so the hole is set; this is what polygons mean."""
        outer = [100, 100, 399, 100, 399, 399, 100, 399]
        inner = [200, 200, 299, 200, 299, 299, 200, 299]
        masks = masks_from_polygons([[outer, inner]], (500, 500))
        assert masks.areas.tolist() == [300 * 300]

    def test_donut_survives_in_a_code(self) -> None:
        """A donut goes to a code and back with its hole; the polygon says what it fills."""
        donut = np.zeros((1, 500, 500), np.bool_)
        donut[0, 100:400, 100:400] = True
        donut[0, 200:300, 200:300] = False
        masks = InstanceMasks.from_dense(donut)
        back = decode_rle(encode_masks(masks))
        np.testing.assert_array_equal(back.to_dense(), donut)
        assert largest_polygons(masks).filled_area().tolist() == [100 * 100]


class TestRowMajorMaskRaisesOrComesOutWrong:
    """Encoding a row-major mask raises; transposing "fixes" it and yields a wrong mask.

    References: cocodataset/cocoapi#91, #654.
    """

    @pytest.mark.parametrize("dtype", [np.bool_, np.uint8])
    @pytest.mark.parametrize("order", ["C", "F"])
    def test_same_code(self, dtype: type, order: str) -> None:
        """A 4 x 6 mask with one row set has one code, in any memory order and type."""
        mask = np.zeros((4, 6), dtype, order=order)  # type: ignore[call-overload]
        mask[2] = 1
        code = encode_masks(InstanceMasks.from_dense(mask[None]))[0]
        plain = {"size": [4, 6], "counts": [2, *[1, 3] * 5, 1, 1]}
        assert code["counts"].encode() == coco.frPyObjects(plain, 4, 6)["counts"]
        np.testing.assert_array_equal(decode_rle([code]).to_dense()[0], mask.astype(np.bool_))


class TestMasksLookSquashed:
    """Boxes are mapped back from the padded input, masks are not. Reference:
    roboflow/inference#2001."""

    @pytest.mark.parametrize("image_size", [(100, 300), (300, 100)])
    @pytest.mark.parametrize("factor", [0.0, 0.5, 1.0])
    def test_box_of_the_mask_is_the_box(self, image_size: tuple[int, int], factor: float) -> None:
        """With bars on two sides, the box around the mask equals the detection's within a pixel of
        its grid."""
        height, width = image_size
        new_height, new_width = (213, 640) if width > height else (640, 213)
        top, left = (640 - new_height) // 2, (640 - new_width) // 2
        pads = (left, top, 640 - new_width - left, 640 - new_height - top)
        geometry = plan_mask_geometry(
            (160, 160), inference_size=(640, 640), image_size=image_size, pads=pads, factor=factor
        )
        # An object that fills its box in the network's input, away from the bars.
        x0, y0 = left + new_width // 4 // 4 * 4, top + new_height // 4 // 4 * 4
        box = np.array([[x0, y0, x0 + new_width // 2 // 4 * 4, y0 + new_height // 2 // 4 * 4]])
        logits = np.full((1, 160, 160), -4, np.float32)
        cells = box[0] / 4
        rows, columns = np.mgrid[:160, :160] + 0.5
        inside = (columns > cells[0]) & (columns < cells[2]) & (rows > cells[1]) & (rows < cells[3])
        logits[0][inside] = 4
        masks = masks_from_logits(logits, geometry)
        cell = max(1.0, geometry.mask_size[0] / geometry.inner_size[0])
        limit = 1 + cell / 4
        np.testing.assert_allclose(masks.boxes, geometry.place_boxes(box), atol=limit)


class TestExportedMasksAreRagged:
    """Masks thresholded before they are enlarged are ragged and differ. Reference:
    roboflow/rf-detr#463."""

    def test_logits_are_enlarged_first(self) -> None:
        """A 28 x 28 disc enlarged to 480 x 640 and then thresholded is the disc of the image."""
        y, x = np.mgrid[:28, :28] + 0.5
        logits = (9 - np.hypot(x - 14, y - 14)).astype(np.float32)[None]
        geometry = plan_mask_geometry((28, 28), inference_size=(112, 112), image_size=(480, 640))
        masks = masks_from_logits(logits, geometry)
        rows, columns = np.mgrid[:480, :640] + 0.5
        exact = np.hypot(columns * 28 / 640 - 14, rows * 28 / 480 - 14) < 9
        ideal = InstanceMasks.from_dense(exact[None])
        assert mask_iou(masks, ideal)[0, 0] >= 0.99
        early = InstanceMasks.from_dense(logits > 0, image_size=(480, 640)).on_image_grid()
        assert mask_iou(early, ideal)[0, 0] < 0.97

    def test_equals_torch(self) -> None:
        """The path without torch has at least 0.99 IoU with torch's; in fact every pixel."""
        torch = pytest.importorskip("torch")
        logits = np.random.default_rng(0).standard_normal((2, 28, 28)).astype(np.float32)
        geometry = plan_mask_geometry((28, 28), inference_size=(112, 112), image_size=(480, 640))
        values = torch.nn.functional.interpolate(
            torch.from_numpy(logits)[None], size=(480, 640), mode="bilinear",
            antialias=True, align_corners=False,
        )[0].numpy()  # fmt: skip
        iou = mask_iou(masks_from_logits(logits, geometry), InstanceMasks.from_dense(values > 0))
        assert np.diag(iou).tolist() == [1, 1]


class TestReducedGrids:
    """Faults of reduced mask resolution that have been seen elsewhere."""

    def test_crop_at_the_far_edge(self) -> None:
        """With a static crop at the far edge, bars and a factor below 1 the canvas is not a pixel
        short."""
        for factor in np.linspace(0, 1, 41):
            geometry = plan_mask_geometry(
                (16, 16), inference_size=(64, 64), image_size=(75, 101), pads=(0, 9, 0, 10),
                crop_offset=(22, 57), crop_size=(53, 44), factor=float(factor),
            )  # fmt: skip
            masks = masks_from_logits(np.ones((1, 16, 16), np.float32), geometry)
            assert masks.areas.tolist() == [geometry.target_size[0] * geometry.target_size[1]]

    def test_crop_at_the_origin_is_not_scaled_twice(self) -> None:
        """At factor 1 a crop that begins at the origin gives polygons in px of the image."""
        geometry = plan_mask_geometry(
            (16, 16), inference_size=(64, 64), image_size=(100, 100), crop_size=(50, 50)
        )
        masks = masks_from_logits(np.ones((1, 16, 16), np.float32), geometry)
        assert masks.mask_size == masks.image_size == (100, 100)
        assert largest_polygons(masks).polygons[0].max(axis=0).tolist() == [49, 49]

    def test_code_read_at_the_size_of_the_image(self) -> None:
        """Decoding a code at another size than its own is refused, not garbage."""
        code = encode_masks(InstanceMasks.from_dense(np.ones((1, 12, 16)), image_size=(120, 160)))
        assert code[0]["size"] == [12, 16]
        with pytest.raises(MaskError, match="add up to 192, but its size"):
            decode_rle([{**code[0], "size": [120, 160]}])

    def test_max_detections_before_masks(self) -> None:
        """Only the objects asked for are worked on: others may hold anything."""
        logits = np.full((4, 8, 8), np.nan, np.float32)
        logits[2] = 1
        geometry = plan_mask_geometry((8, 8), inference_size=(32, 32), image_size=(64, 64))
        assert masks_from_logits(logits, geometry, instances=[2]).areas.tolist() == [4096]

    def test_factor_changes_every_mask_rule(self) -> None:
        """The factor reaches logits and prototypes alike."""
        logits = np.ones((1, 8, 8), np.float32)
        for factor, size in ((0.0, (8, 8)), (0.5, (36, 36)), (1.0, (64, 64))):
            geometry = plan_mask_geometry(
                (8, 8), inference_size=(32, 32), image_size=(64, 64), factor=factor
            )
            direct = masks_from_logits(logits, geometry)
            summed = masks_from_prototypes(
                np.ones((1, 1), np.float32), logits, geometry, boxes=[[0, 0, 32, 32]]
            )
            assert direct.mask_size == summed.mask_size == size
            assert direct.areas.tolist() == summed.areas.tolist() == [size[0] * size[1]]
