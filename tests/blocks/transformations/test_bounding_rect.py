from __future__ import annotations

from typing import Any

import cv2
import numpy as np
import pytest
import shapely
import supervision as sv

from blocks.transformations.bounding_rect.v1 import BoundingRectBlockV1
from tests.blocks.detection_sets import (
    WITH_MASKS,
    MaskForm,
    an_image,
    dense_masks,
    ellipses,
    rle_masks,
    some,
)

IMAGE = an_image((60, 90))


def enclose(rows: sv.Detections) -> sv.Detections:
    result: Any = BoundingRectBlockV1().run(rows)
    return result["detections_with_rect"]


class TestRectangles:
    @pytest.mark.parametrize("form", WITH_MASKS)
    def test_smallest_rectangle(self, form: MaskForm) -> None:
        """The rectangle is the smallest around the mask, box and mask are those of it."""
        masks = ellipses(5, 60, 90, 7)
        rows = some([[0, 0, 9, 9]] * 5, IMAGE, masks=masks, form=form)
        result = enclose(rows)
        filled = dense_masks(result)
        for row, mask in enumerate(masks):
            points = shapely.MultiPoint(np.argwhere(mask)[:, ::-1])
            smallest = points.minimum_rotated_rectangle
            corners = result.data["rect"][row]
            assert shapely.Polygon(corners).area == pytest.approx(smallest.area, rel=1e-3, abs=1e-3)
            sides = sorted(np.hypot(*(corners[1:3] - corners[:2]).T))
            assert sorted([result.data["width"][row], result.data["height"][row]]) == pytest.approx(
                sides, abs=1e-3
            )
            assert np.allclose(
                result.xyxy[row], [*corners.min(axis=0), *corners.max(axis=0)], atol=1e-4
            )
            canvas = np.zeros((60, 90), np.uint8)
            cv2.fillPoly(canvas, [np.round(corners).astype(np.int32)], 1)
            assert np.array_equal(filled[row], canvas.astype(bool))
        if "rle_mask" in result.data:
            assert np.array_equal(rle_masks(result), filled)
        assert not isinstance(result.mask, np.ndarray)

    @pytest.mark.parametrize("turn", [0, 20, 45, 70, 90, 110, 160])
    def test_angle(self, turn: float) -> None:
        """A turned bar has its length, its breadth and the direction of its width."""
        image = an_image((100, 100))
        canvas = np.zeros((100, 100), np.uint8)
        bar = cv2.boxPoints(((50, 50), (60, 10), turn))
        cv2.fillPoly(canvas, [np.round(bar).astype(np.int32)], 1)
        rows = some([[0, 0, 9, 9]], image, masks=canvas[None].astype(bool), form="compact")
        data = enclose(rows).data
        width, height, angle = (float(data[key][0]) for key in ("width", "height", "angle"))
        assert 0 <= angle < 90
        assert sorted([width, height]) == pytest.approx([10, 60], abs=1.5)
        direction = angle if width > height else angle + 90
        assert (direction - turn + 90) % 180 - 90 == pytest.approx(0, abs=1.5)
        side = np.array([np.cos(np.radians(angle)), np.sin(np.radians(angle))])
        sides = np.roll(data["rect"][0], -1, axis=0) - data["rect"][0]
        along = sides[np.abs(sides @ side).argmax()]
        assert abs(along @ side) == pytest.approx(width, abs=1e-3)

    def test_largest_part(self) -> None:
        """Of several parts of a mask the largest counts."""
        mask = np.zeros((1, 60, 90), bool)
        mask[0, 5:25, 10:40], mask[0, 50:55, 80:85] = True, True
        result = enclose(some([[0, 0, 9, 9]], IMAGE, masks=mask, form="rle"))
        assert result.xyxy.tolist() == [[10, 5, 39, 24]]

    @pytest.mark.parametrize("shape", [(1, 1), (1, 7), (2, 1)])
    def test_thin_masks(self, shape: tuple[int, int]) -> None:
        """Masks of a pixel or a line have rectangles without extent and keep their pixels."""
        mask = np.zeros((1, 60, 90), bool)
        mask[0, 30 : 30 + shape[0], 40 : 40 + shape[1]] = True
        result = enclose(some([[0, 0, 9, 9]], IMAGE, masks=mask, form="compact"))
        assert np.array_equal(dense_masks(result), mask)
        assert min(result.data["width"][0], result.data["height"][0]) == 0

    def test_no_pixels(self) -> None:
        """A mask without pixels keeps its box, as an upright rectangle."""
        rows = some([[3, 4, 13, 9]], IMAGE, masks=np.zeros((1, 60, 90), bool), form="compact")
        result = enclose(rows)
        assert result.xyxy.tolist() == [[3, 4, 13, 9]]
        assert result.data["rect"][0].tolist() == [[3, 4], [13, 4], [13, 9], [3, 9]]
        found = [result.data[key][0] for key in ("width", "height", "angle")]
        assert found == [10, 5, 0]
        assert not dense_masks(result).any()

    @pytest.mark.parametrize("form", ["none", *WITH_MASKS])
    def test_no_rows(self, form: MaskForm) -> None:
        """No detections get the columns too."""
        result = enclose(some([], IMAGE, form=form))
        assert len(result) == 0
        assert {"rect", "width", "height", "angle"} <= result.data.keys()

    def test_no_masks(self) -> None:
        """Detections without masks are refused."""
        with pytest.raises(ValueError, match="carry neither `mask` nor `rle_mask`"):
            enclose(some([[0, 0, 9, 9]], IMAGE))

    def test_old_outline(self) -> None:
        """An outline that rows carried becomes that of the rectangle."""
        outline = np.empty(1, dtype=object)
        outline[0] = np.zeros((3, 2))
        rows = some([[3, 4, 13, 9]], IMAGE, form="compact", polygon=outline)
        result = enclose(rows)
        assert result.data["polygon"][0] is result.data["rect"][0]
