"""Recorded cases of the mask pipeline: geometry, boxes and every pixel, as dense masks and as
run-length codes."""

from __future__ import annotations

import hashlib
import json
from pathlib import Path
from typing import Any

import cv2
import numpy as np
import pytest
from pycocotools import mask as coco

from inference_models.masks import (
    InstanceMasks,
    MaskGeometry,
    encode_masks,
    masks_from_logits,
    masks_from_prototypes,
    plan_mask_geometry,
)

CASES = json.loads((Path(__file__).parent / "golden" / "masks.json").read_text())


def describe(case: dict[str, Any]) -> str:
    crop = "" if case["crop"] is None else "-crop"
    return f"{case['seed']}-{case['mode']}{crop}-t{case['t']}"


def draw_inputs(case: dict[str, Any], count: int = 5) -> tuple[np.ndarray, np.ndarray]:
    """Network boxes (n, 4) and smooth random logits (n, hm, wm), both from the case's seed."""
    rng = np.random.default_rng(case["seed"])
    noise = rng.standard_normal((count, case["hm"], case["wm"])).astype(np.float32)
    logits = np.stack([cv2.GaussianBlur(grid, (0, 0), 2.5) for grid in noise]) * 4
    corners = np.sort(rng.uniform(0, 1, (count, 2, 2)), axis=1)
    boxes = (corners * [case["Wn"], case["Hn"]]).reshape(count, 4).astype(np.float32)
    return boxes, logits.astype(np.float32)


def plan(case: dict[str, Any]) -> MaskGeometry:
    return plan_mask_geometry(
        (case["hm"], case["wm"]),
        inference_size=(case["Hn"], case["Wn"]),
        image_size=(case["H"], case["W"]),
        pads=tuple(case["pad"]),
        scale_wh=tuple(case["scale"]),
        crop_offset=tuple(case["offset"][::-1]),
        crop_size=tuple(case["size_after"]),
        factor=case["t"],
    )


def digest(dense: np.ndarray) -> str:
    return hashlib.sha1(np.packbits(dense).tobytes()).hexdigest()


@pytest.mark.parametrize("case", CASES, ids=describe)
class TestGoldenCase:
    def test_dense(self, case: dict[str, Any]) -> None:
        """Every pixel of every mask is the recorded one."""
        _, logits = draw_inputs(case)
        masks = masks_from_logits(logits, plan(case))
        dense = masks.to_dense()
        assert dense.shape == (5, *case["mask_size"])
        assert masks.areas.tolist() == case["pixels"]
        assert digest(dense) == case["sha1"]

    def test_rle(self, case: dict[str, Any]) -> None:
        """The codes name the masks' grid, and pycocotools reads the recorded pixels from them."""
        _, logits = draw_inputs(case)
        codes = encode_masks(masks_from_logits(logits, plan(case)), text=False)
        assert all(code["size"] == case["mask_size"] for code in codes)
        dense = np.moveaxis(coco.decode(codes), -1, 0)
        assert digest(dense.astype(np.bool_)) == case["sha1"]

    def test_prototypes(self, case: dict[str, Any]) -> None:
        """Logits taken as prototypes with unit weights give the same masks."""
        _, logits = draw_inputs(case)
        masks = masks_from_prototypes(np.eye(5, dtype=np.float32), logits, plan(case))
        assert digest(masks.to_dense()) == case["sha1"]

    def test_boxes(self, case: dict[str, Any]) -> None:
        """Boxes come out on the same grid as the masks, whole numbers only where it is the
        image's."""
        boxes, _ = draw_inputs(case)
        placed = plan(case).place_boxes(boxes)
        assert f"torch.{placed.dtype}" == case["box_dtype"]
        np.testing.assert_allclose(placed, case["boxes"], atol=1.01e-4)

    def test_empty(self, case: dict[str, Any]) -> None:
        """Without objects the grid is that of a populated result."""
        geometry = plan(case)
        none = masks_from_logits(np.zeros((0, *geometry.grid_size), np.float32), geometry)
        assert none.to_dense().shape == tuple(case["empty_shape"])
        same = InstanceMasks.empty(geometry.mask_size, geometry.image_size)
        assert (none.mask_size, none.image_size) == (same.mask_size, same.image_size)
