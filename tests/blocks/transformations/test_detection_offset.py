from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import supervision as sv

from blocks.transformations.detection_offset.v1 import (
    DetectionOffsetBlockV1,
    DetectionOffsetManifest,
)
from execution_engine.block_api import Batch
from tests.blocks.detection_sets import MASK_FORMS, MaskForm, an_image, some

IMAGE = an_image((60, 90))


def grow(
    detections: sv.Detections, width: int, height: int, units: Any = "Pixels"
) -> sv.Detections:
    result: Any = DetectionOffsetBlockV1().run(Batch([detections]), width, height, units)
    return result[0]["predictions"]


class TestBoxes:
    @pytest.mark.parametrize(
        ("width", "height", "units", "box"),
        [
            (10, 6, "Pixels", [25, 17, 55, 43]),
            (5, 1, "Pixels", [28, 20, 52, 40]),
            (0, 0, "Pixels", [30, 20, 50, 40]),
            (-5, -4, "Pixels", [33, 22, 47, 38]),
            (50, 25, "Percent (%)", [25, 18, 55, 42]),
            (19, 9, "Percent (%)", [29, 20, 51, 40]),
            (-50, -50, "Percent (%)", [35, 25, 45, 35]),
        ],
    )
    def test_half_on_each_side(self, width: int, height: int, units: str, box: list) -> None:
        """Sides move by half of the offset: rounded down in px, cut to whole px in percent."""
        assert grow(some([[30, 20, 50, 40]], IMAGE), width, height, units).xyxy.tolist() == [box]

    def test_clipped(self) -> None:
        """Boxes end where the image does."""
        result = grow(some([[1, 2, 88, 59]], IMAGE), 20, 20)
        assert result.xyxy.tolist() == [[0, 0, 90, 60]]

    def test_image_not_known(self) -> None:
        """Without the size of the image boxes only end at its left and upper edge."""
        assert grow(some([[1, 2, 88, 59]]), 20, 20).xyxy.tolist() == [[0, 0, 98, 69]]

    def test_shrunk_to_nothing(self) -> None:
        """A box is not turned inside out: it ends in its middle."""
        assert grow(some([[30, 20, 50, 40]], IMAGE), -99, 0).xyxy.tolist() == [[40, 20, 40, 40]]

    def test_unknown_units(self) -> None:
        """Units are checked."""
        with pytest.raises(ValueError, match=r"`units` must be .* got 'mm'"):
            grow(some([[30, 20, 50, 40]], IMAGE), 1, 1, "mm")


class TestIds:
    def test_parent_link(self) -> None:
        """The old id is the parent, the new ids are fresh and different."""
        rows = some([[30, 20, 50, 40]] * 2, IMAGE)
        result = grow(rows, 2, 2)
        assert result.data["parent_id"].tolist() == ["d0", "d1"]
        assert len({*result.data["detection_id"], "d0", "d1"}) == 4
        assert rows.data["detection_id"].tolist() == ["d0", "d1"]

    def test_missing_ids(self) -> None:
        """Detections without ids cannot be parents."""
        rows = some([[30, 20, 50, 40]])
        del rows.data["detection_id"]
        with pytest.raises(ValueError, match="must carry `detection_id`"):
            grow(rows, 2, 2)

    @pytest.mark.parametrize("form", MASK_FORMS)
    def test_the_rest_stays(self, form: MaskForm) -> None:
        """Masks and further columns are not touched."""
        rows = some([[30, 20, 50, 40]], IMAGE, form=form, keypoints_xy=np.ones((1, 2, 2)))
        result = grow(rows, 2, 2)
        assert result.mask is rows.mask
        assert np.array_equal(result.data["keypoints_xy"], rows.data["keypoints_xy"])

    def test_no_rows(self) -> None:
        """No detections pass through."""
        empty = some([], IMAGE)
        assert grow(empty, 2, 2) is empty


class TestManifest:
    def test_old_names(self) -> None:
        """The older names of the fields still work."""
        step = DetectionOffsetManifest.model_validate(
            {"type": "DetectionOffset", "name": "o", "predictions": "$steps.m.predictions",
             "offset_x": 3, "offset_y": 4}
        )  # fmt: skip
        assert (step.offset_width, step.offset_height, step.units) == (3, 4, "Pixels")
