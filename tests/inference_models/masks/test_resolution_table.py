"""Every representation of masks at every resolution under every way an image reaches a network."""

from __future__ import annotations

import cv2
import numpy as np
import pytest
from pycocotools import mask as coco

from inference_models.masks import (
    InstanceMasks,
    MaskGeometry,
    encode_masks,
    mask_polygons,
    masks_from_logits,
    plan_mask_geometry,
)
from tests.inference_models.masks.test_resize import assert_pixels, full_canvas

IMAGE = (427, 640)
INPUT = (160, 160)
GRID = (40, 40)
# What the network sees of the image: pads in network px (negative: cut off), static crop.
GEOMETRIES: dict[str, dict[str, tuple[int, ...]]] = {
    "letterbox": {"pads": (0, 26, 0, 27)},
    "stretch": {},
    "centre crop": {"pads": (-240, -133, -240, -134)},
    "static crop at the origin": {"crop_offset": (0, 0), "crop_size": (213, 321)},
    "static crop at the far edge": {"crop_offset": (214, 319), "crop_size": (213, 321)},
}
FACTORS = (0.0, 0.25, 0.5, 1.0)
COUNTS = {"none": 0, "one": 1, "many": 7}


def plan(geometry: str, factor: float) -> MaskGeometry:
    return plan_mask_geometry(
        GRID, inference_size=INPUT, image_size=IMAGE, factor=factor, **GEOMETRIES[geometry]
    )


def logits(count: int) -> np.ndarray:
    """(count, 40, 40): a disc, one cell, and a bar at each border and in a corner of the grid."""
    grids = np.full((7, *GRID), -1.0, np.float32)
    cv2.circle(grids[0], (19, 21), 7, 2.0, -1)
    grids[1, 20, 20] = 0.6
    grids[2, 12:28, :2] = 1.5
    grids[3, 12:28, -2:] = 1.5
    # The letterbox pads 6.5 and 6.75 rows of the grid: these bars reach over the seam.
    grids[4, :9, 12:28] = 1.5
    grids[5, -9:, 12:28] = 1.5
    grids[6, -10:, -5:] = 1.5
    return grids[:count]


def filled(masks: InstanceMasks, index: int) -> np.ndarray:
    """The polygons of one mask drawn again: (h, w) bool."""
    canvas = np.zeros(masks.mask_size, np.uint8)
    for polygon in mask_polygons(masks, image_px=False)[index]:
        cv2.fillPoly(canvas, [np.round(polygon).astype(np.int32).reshape(-1, 1, 2)], 1)
    return canvas.astype(bool)


@pytest.mark.parametrize("count", COUNTS.values(), ids=COUNTS)
@pytest.mark.parametrize("factor", FACTORS)
@pytest.mark.parametrize("geometry", GEOMETRIES)
class TestEveryResolution:
    def test_dense(self, geometry: str, factor: float, count: int) -> None:
        """Each pixel is that of the slow interpolation over the whole canvas."""
        planned = plan(geometry, factor)
        values = logits(count)
        masks = masks_from_logits(values, planned)
        assert masks.to_dense().shape == (count, *planned.mask_size)
        assert masks.image_size == IMAGE
        if factor == 1.0:
            assert masks.mask_size == IMAGE
        assert_pixels(masks, full_canvas(values, planned))

    def test_rle(self, geometry: str, factor: float, count: int) -> None:
        """The codes name the grid of the masks, and pycocotools reads the same pixels."""
        masks = masks_from_logits(logits(count), plan(geometry, factor))
        codes = encode_masks(masks, text=False)
        assert [tuple(code["size"]) for code in codes] == [masks.mask_size] * count
        for code, dense in zip(codes, masks.to_dense(), strict=True):
            np.testing.assert_array_equal(coco.decode(code).astype(bool), dense)

    def test_polygon(self, geometry: str, factor: float, count: int) -> None:
        """Outlines drawn again are the mask (no object has a hole); in a result they are scaled to
        the image by plain factors.
        """
        masks = masks_from_logits(logits(count), plan(geometry, factor))
        on_image, on_grid = mask_polygons(masks), mask_polygons(masks, image_px=False)
        scale = np.array(IMAGE[::-1]) / masks.mask_size[::-1]
        assert len(on_image) == count
        for scaled, plain in zip(on_image, on_grid, strict=True):
            for one, other in zip(scaled, plain, strict=True):
                np.testing.assert_allclose(one, other * scale, rtol=1e-5)
        for index, dense in enumerate(masks.to_dense()):
            np.testing.assert_array_equal(filled(masks, index), dense)


@pytest.mark.parametrize("geometry", GEOMETRIES)
class TestPlaces:
    def test_boxes_of_full_masks_lie_where_the_objects_are(self, geometry: str) -> None:
        """At full resolution the disc is centred where the network's pixel (78, 86) comes from."""
        masks = masks_from_logits(logits(1), plan(geometry, 1.0))
        settings = GEOMETRIES[geometry]
        left, top, right, bottom = settings.get("pads", (0, 0, 0, 0))
        height, width = settings.get("crop_size", IMAGE)
        y, x = settings.get("crop_offset", (0, 0))
        scale_x = (INPUT[1] - left - right) / width
        scale_y = (INPUT[0] - top - bottom) / height
        box = masks.boxes[0]
        centre = (box[:2] + box[2:]) / 2
        assert centre == pytest.approx(
            [(78 - left) / scale_x + x, (86 - top) / scale_y + y], abs=2 / min(scale_x, scale_y)
        )
