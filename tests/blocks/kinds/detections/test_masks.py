from __future__ import annotations

from typing import Any

import cv2
import numpy as np
import pytest
import supervision as sv
from pycocotools import mask as coco

from blocks.kinds.detections.masks import (
    has_masks,
    instance_masks,
    mask_fields,
    rle_column,
    tight_boxes,
)
from inference_models.masks import InstanceMasks
from tests.blocks.detection_sets import WITH_MASKS, MaskForm, an_image, some

SIZE = (20, 30)


def rle(mask: np.ndarray) -> dict[str, Any]:
    code = coco.encode(np.asfortranarray(mask, np.uint8))
    return {"size": list(code["size"]), "counts": code["counts"].decode("ascii")}


def with_rles(*rles: Any, image_size: tuple[int, int] | None = None) -> sv.Detections:
    column = np.empty(len(rles), dtype=object)
    column[:] = rles
    data: dict[str, Any] = {"rle_mask": column}
    if image_size is not None:
        data["image_dimensions"] = np.tile(np.array(image_size), (len(rles), 1))
    return sv.Detections(xyxy=np.zeros((len(rles), 4), np.float32), data=data)


class TestInstanceMasks:
    @pytest.mark.parametrize("form", WITH_MASKS)
    def test_every_form(self, form: MaskForm, ellipse_masks: Any) -> None:
        """Dense, compact and RLE masks give the same pixels."""
        masks = ellipse_masks(4, *SIZE)
        detections = some([[0, 0, 5, 5]] * 4, an_image(SIZE), masks=masks, form=form)
        found = instance_masks(detections)
        assert found is not None
        assert found.mask_size == SIZE
        assert np.array_equal(found.to_dense(), masks)

    def test_none(self) -> None:
        """Detections without masks have none."""
        detections = some([[0, 0, 5, 5]], an_image(SIZE))
        assert instance_masks(detections) is None
        assert not has_masks(detections)

    def test_coarse_grid(self, ellipse_masks: Any) -> None:
        """RLE on a coarser grid is brought to the image by nearest neighbour."""
        small = ellipse_masks(3, 10, 12)
        found = instance_masks(with_rles(*map(rle, small), image_size=(20, 30)))
        assert found is not None
        for row, mask in enumerate(small):
            large = cv2.resize(mask.astype(np.uint8), (30, 20), interpolation=cv2.INTER_NEAREST)
            assert np.array_equal(found.to_dense()[row], large.astype(bool))

    def test_several_grids(self, ellipse_masks: Any) -> None:
        """Rows on different grids keep their order and land on the image."""
        fine, coarse = ellipse_masks(2, 20, 30), ellipse_masks(1, 10, 15, 4)
        rows = [rle(fine[0]), rle(coarse[0]), rle(fine[1])]
        found = instance_masks(with_rles(*rows, image_size=(20, 30)))
        assert found is not None
        large = cv2.resize(coarse[0].astype(np.uint8), (30, 20), interpolation=cv2.INTER_NEAREST)
        assert np.array_equal(found.to_dense(), [fine[0], large.astype(bool), fine[1]])

    def test_several_grids_and_no_size(self, ellipse_masks: Any) -> None:
        """Without the size of the image masks on different grids are refused."""
        rows = [rle(ellipse_masks(1, 20, 30)[0]), rle(ellipse_masks(1, 10, 15)[0])]
        with pytest.raises(ValueError, match=r"\[\(10, 15\), \(20, 30\)\].*image_dimensions"):
            instance_masks(with_rles(*rows))

    def test_given_size(self, ellipse_masks: Any) -> None:
        """A size given beside counts for detections that know none."""
        found = instance_masks(with_rles(rle(ellipse_masks(1, 10, 15)[0])), (20, 30))
        assert found is not None
        assert found.mask_size == (20, 30)

    def test_not_an_rle(self) -> None:
        """A row that holds something else is named."""
        with pytest.raises(ValueError, match="row 1 must have an RLE mask"):
            instance_masks(with_rles(rle(np.ones((2, 2))), None))

    @pytest.mark.parametrize("form", WITH_MASKS)
    def test_no_rows(self, form: MaskForm) -> None:
        """Without rows the masks are empty and lie in the image."""
        image = an_image(SIZE)
        full = some([[0, 0, 5, 5]], image, form=form)
        empty = full[np.zeros(1, bool)]
        empty.metadata["image_dimensions"] = list(SIZE)
        found = instance_masks(empty)
        assert found is not None
        assert (len(found), found.mask_size) == (0, SIZE)


class TestMaskFields:
    def test_round_trip(self, ellipse_masks: Any) -> None:
        """Mask and RLE hold the same pixels."""
        masks = ellipse_masks(3, *SIZE)
        mask, columns = mask_fields(InstanceMasks.from_dense(masks), with_rle=True)
        assert np.array_equal(np.asarray(mask), masks)
        for item, expected in zip(columns["rle_mask"], masks, strict=True):
            assert item == rle(expected)

    def test_without_rle(self) -> None:
        """RLE is written only when asked for."""
        assert mask_fields(InstanceMasks.empty(SIZE), with_rle=False)[1] == {}


class TestRleColumn:
    def test_one_row(self) -> None:
        """One dict is one entry, not spread over its members."""
        column = rle_column(InstanceMasks.from_dense(np.ones((1, 2, 3))))
        assert column.shape == (1,)
        assert column[0]["size"] == [2, 3]


class TestTightBoxes:
    def test_first_to_last_pixel(self) -> None:
        """Boxes reach from the first to the last pixel; empty masks keep another box."""
        masks = np.zeros((2, *SIZE), bool)
        masks[0, 4:9, 7:8] = True
        boxes = tight_boxes(InstanceMasks.from_dense(masks), np.array([[0] * 4, [1, 2, 3, 4]]))
        assert boxes.tolist() == [[7, 4, 7, 8], [1, 2, 3, 4]]
