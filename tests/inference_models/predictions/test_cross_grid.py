"""Predictions of one image whose masks live on different grids: every pixel right, or a clear
error."""

from __future__ import annotations

import cv2
import numpy as np
import pytest
import supervision as sv

from inference_models.masks import (
    InstanceMasks,
    MaskGridError,
    largest_polygons,
    mask_iou,
    masks_from_logits,
    plan_mask_geometry,
    union,
)
from inference_models.predictions import InstanceDetections, PredictionError

SIZE = (427, 640)


def logits() -> np.ndarray:
    """A disc and a 1-cell object, on a 48 x 72 grid."""
    y, x = np.mgrid[:48, :72]
    disc = 12 - np.hypot(x - 30, y - 20)
    dot = np.full((48, 72), -1.0)
    dot[40, 70] = 1
    return np.stack([disc, dot]).astype(np.float32)


def predict(factor: float) -> InstanceDetections:
    geometry = plan_mask_geometry(
        (48, 72), inference_size=(192, 288), image_size=SIZE, factor=factor
    )
    masks = masks_from_logits(logits(), geometry)
    on_image = masks.on_image_grid()
    return InstanceDetections(
        xyxy=on_image.boxes, confidence=[0.9, 0.8], class_id=[0, 1], masks=masks,
        image_size=SIZE, class_names=("disc", "dot"),
    )  # fmt: skip


def on_image(prediction: InstanceDetections) -> np.ndarray:
    return np.array(
        [
            cv2.resize(mask.astype(np.uint8), SIZE[::-1], interpolation=cv2.INTER_NEAREST)
            for mask in prediction.masks.to_dense()
        ],
        np.bool_,
    )


FACTORS = [0.0, 0.25, 0.5, 1.0]


class TestConcat:
    @pytest.mark.parametrize("one", FACTORS)
    @pytest.mark.parametrize("other", FACTORS)
    def test_pixels(self, one: float, other: float) -> None:
        """Joined predictions have the pixels each had on the image; equal grids stay as they
        are."""
        first, second = predict(one), predict(other)
        joined = InstanceDetections.concat([first, second])
        assert joined.mask_size == (first.mask_size if one == other else SIZE)
        np.testing.assert_array_equal(
            on_image(joined), np.concatenate([on_image(first), on_image(second)])
        )

    def test_empty_part_on_another_grid(self) -> None:
        """A part without rows does not force another grid on the rest."""
        full = predict(0.25)
        joined = InstanceDetections.concat([InstanceDetections.empty(SIZE), full])
        assert joined.mask_size == full.mask_size
        np.testing.assert_array_equal(joined.masks.runs, full.masks.runs)

    def test_codes_of_several_grids(self) -> None:
        """Rows with codes of different grids only, in any order, have every pixel right on the
        image."""
        first, second = predict(0.0), predict(0.5)
        parts = [first.to_supervision(), second.to_supervision()]
        order = np.array([3, 0, 2, 1])
        joined = sv.Detections(
            xyxy=np.concatenate([part.xyxy for part in parts])[order],
            data={"rle_mask": np.concatenate([part.data["rle_mask"] for part in parts])[order]},
        )
        read = InstanceDetections.from_supervision(joined, image_size=SIZE)
        expected = np.concatenate([on_image(first), on_image(second)])[order]
        np.testing.assert_array_equal(read.masks.to_dense(), expected)

    def test_other_image(self) -> None:
        """Grids of images of different sizes cannot meet."""
        other = InstanceDetections.empty((9, 9))
        with pytest.raises(PredictionError, match="different image_size"):
            InstanceDetections.concat([predict(1.0), other])


class TestIoU:
    @pytest.mark.parametrize("factor", [0.0, 0.25, 0.5])
    def test_refused_then_right(self, factor: float) -> None:
        """Unlike grids are refused; on the image's grid IoU is that of the canvases."""
        fine, coarse = predict(1.0), predict(factor)
        with pytest.raises(MaskGridError, match="masks live on different grids"):
            mask_iou(fine.masks, coarse.masks)
        iou = mask_iou(fine.masks, coarse.masks.on_image_grid())
        one, other = on_image(fine), on_image(coarse)
        shared = (one[:, None] & other[None]).sum(axis=(2, 3))
        total = (one[:, None] | other[None]).sum(axis=(2, 3))
        np.testing.assert_allclose(iou, shared / total)
        assert iou[0, 0] > 0.8

    def test_union_refused(self) -> None:
        """A union over grids has to go through a join, which refuses."""
        with pytest.raises(MaskGridError):
            union(InstanceMasks.concat([predict(0.0).masks, predict(1.0).masks]))


class TestNothingIsInferredFromSizes:
    def test_grid_larger_than_the_image(self) -> None:
        """A grid finer than the image keeps its name and comes down to the image's size."""
        geometry = plan_mask_geometry(
            (48, 72), inference_size=(192, 288), image_size=(20, 30), factor=0
        )
        masks = masks_from_logits(logits(), geometry)
        assert masks.mask_size == (48, 72)
        assert masks.on_image_grid().mask_size == (20, 30)
        for polygon in largest_polygons(masks).polygons:
            assert (polygon <= [30, 20]).all()

    def test_from_inference(self) -> None:
        """supervision reads our honest code of another grid as the mask we show on the image."""
        made = predict(0.25).to_supervision()
        payload = {
            "image": {"width": SIZE[1], "height": SIZE[0]},
            "predictions": [
                {
                    "x": float((x0 + x1) / 2), "y": float((y0 + y1) / 2),
                    "width": float(x1 - x0), "height": float(y1 - y0), "confidence": 0.5,
                    "class_id": 0, "class": "disc", "rle": code,
                }
                for (x0, y0, x1, y1), code in zip(made.xyxy, made.data["rle_mask"], strict=True)
            ],
        }  # fmt: skip
        read = sv.Detections.from_inference(payload)
        np.testing.assert_array_equal(np.asarray(read.mask), made.mask.to_dense())
