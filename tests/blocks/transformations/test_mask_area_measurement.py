from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import supervision as sv

from blocks.transformations.mask_area_measurement.v1 import MaskAreaMeasurementBlockV1
from tests.blocks.detection_sets import WITH_MASKS, MaskForm, an_image, ellipses, some

IMAGE = an_image((60, 90))


def measure(rows: sv.Detections, pixels: float = 1.0) -> sv.Detections:
    result: Any = MaskAreaMeasurementBlockV1().run(rows, pixels)
    return result["predictions"]


class TestAreas:
    @pytest.mark.parametrize("form", WITH_MASKS)
    def test_masks(self, form: MaskForm) -> None:
        """The area of a mask is the number of its pixels, without holes."""
        masks = ellipses(3, 60, 90)
        masks[0, 20:30, 40:50] = False
        rows = some([[0, 0, 9, 9]] * 3, IMAGE, masks=masks, form=form)
        expected = masks.sum(axis=(1, 2)).astype(float)
        assert measure(rows).data["area_px"].tolist() == expected.tolist()

    def test_boxes(self) -> None:
        """Without masks it is the area of the box."""
        result = measure(some([[0, 0, 9.5, 4], [3, 3, 3, 9]], IMAGE))
        assert result.data["area_px"].tolist() == [38, 0]

    def test_units(self) -> None:
        """Pixels of a unit of length count squared."""
        result = measure(some([[0, 0, 10, 10]], IMAGE), 5)
        assert result.data["area_converted"].tolist() == [4]
        assert result.data["area_px"].tolist() == [100]

    def test_no_rows(self) -> None:
        """No detections get the columns too."""
        result = measure(some([], IMAGE))
        for key in ("area_px", "area_converted"):
            assert (result.data[key].shape, result.data[key].dtype) == ((0,), np.float64)

    @pytest.mark.parametrize("pixels", [0, -1, float("nan"), 1e308, float("inf")])
    def test_bad_scale(self, pixels: float) -> None:
        """A scale that came through a reference is checked."""
        with pytest.raises(ValueError, match="`pixels_per_unit` must be positive"):
            measure(some([], IMAGE), pixels)
