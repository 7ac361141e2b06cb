"""Raw outputs of every segmentation family for the same objects, and what their masks must be by
plain arithmetic on whole canvases. Tests nothing and uses none of our mask code."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from tests.inference_models.colour_segmenters import SEGMENTERS

FAMILIES = (*SEGMENTERS, "native", "native-one-to-many")
NETWORK = (64, 96)
GRID = (16, 24)
CLASSES = ("ant", "bee", "cat", "dog", "elk")
SCORES = np.array([0.9, 0.8, 0.7, 0.6, 0.5], np.float32)
FACTORS = (0.0, 0.25, 0.5, 1.0)

# Centre x, y and half axes of an ellipse in network px; the fourth is smaller than a cell of the
# grid, the fifth crosses the right border.
_ELLIPSES = np.array(
    [[34, 24, 17, 12], [60, 40, 15, 17], [48, 30, 9, 21], [20.5, 46.5, 2.4, 2.4], [84, 20, 13, 9]]
)
# Boxes cut a px or two of the ellipses, so that dropping what is outside of them shows.
BOXES = np.concatenate(
    [_ELLIPSES[:, :2] - _ELLIPSES[:, 2:] + 1.3, _ELLIPSES[:, :2] + _ELLIPSES[:, 2:] - 1.1], axis=1
).astype(np.float32)


@dataclass(frozen=True)
class Geometry:
    """Where an image lies in the input; every number is written by hand.

    Attributes:
        image: (h, w) px.
        resize_mode: of the package.
        static_crop: percent of the package's static crop (x_min, x_max, y_min, y_max).
        crop: (x, y, width, height) of it in px.
        resized: (h, w) of the crop in the input.
        pads: (left, top, right, bottom) of the input.
        inner: (h, w) of the grid without padding.
        trim: cells of the grid that are padding at (left, top).
        sizes: factor to (size of the resized grid, place (y, x) on the canvas, canvas).
    """

    image: tuple[int, int]
    resize_mode: str
    static_crop: tuple[int, int, int, int] | None
    crop: tuple[int, int, int, int]
    resized: tuple[int, int]
    pads: tuple[int, int, int, int]
    inner: tuple[int, int]
    trim: tuple[int, int]
    sizes: dict[float, tuple[tuple[int, int], tuple[int, int], tuple[int, int]]]

    @property
    def image_boxes(self) -> np.ndarray:
        """(n, 4) the boxes in px of the image, clipped to it."""
        x, y, width, height = self.crop
        scale = np.array([self.resized[1] / width, self.resized[0] / height])
        corners = (BOXES.reshape(-1, 2, 2) - self.pads[:2]) / scale + [x, y]
        return np.clip(corners, 0, self.image[::-1]).reshape(-1, 4)


GEOMETRIES = {
    "letterbox": Geometry(
        image=(100, 120), resize_mode="letterbox", static_crop=None, crop=(0, 0, 120, 100),
        resized=(64, 76), pads=(10, 0, 10, 0), inner=(16, 20), trim=(2, 0),
        sizes={
            0.0: ((16, 20), (0, 0), (16, 20)), 0.25: ((37, 45), (0, 0), (37, 45)),
            0.5: ((58, 70), (0, 0), (58, 70)), 1.0: ((100, 120), (0, 0), (100, 120)),
        },
    ),
    "stretch": Geometry(
        image=(75, 141), resize_mode="stretch", static_crop=None, crop=(0, 0, 141, 75),
        resized=(64, 96), pads=(0, 0, 0, 0), inner=(16, 24), trim=(0, 0),
        sizes={
            0.0: ((16, 24), (0, 0), (16, 24)), 0.25: ((31, 53), (0, 0), (31, 53)),
            0.5: ((46, 82), (0, 0), (46, 82)), 1.0: ((75, 141), (0, 0), (75, 141)),
        },
    ),
    # A crop that begins at the corner of the image and ends inside of it.
    "crop-at-origin": Geometry(
        image=(101, 143), resize_mode="letterbox", static_crop=(0, 60, 0, 70),
        crop=(0, 0, 85, 70), resized=(64, 77), pads=(9, 0, 10, 0), inner=(16, 20), trim=(2, 0),
        sizes={
            0.0: ((16, 20), (0, 0), (23, 34)), 0.25: ((30, 36), (0, 0), (43, 61)),
            0.5: ((43, 52), (0, 0), (62, 87)), 1.0: ((70, 85), (0, 0), (101, 143)),
        },
    ),
    # A crop that ends at the far corner. At factor 0 its place rounds up to 15 and the canvas down
    # to 35, so that the canvas would be a column short of the 15 + 21 it must hold.
    "crop-at-far-edge": Geometry(
        image=(94, 146), resize_mode="letterbox", static_crop=(43, 100, 33, 100),
        crop=(62, 31, 84, 63), resized=(64, 85), pads=(5, 0, 6, 0), inner=(16, 21), trim=(1, 0),
        sizes={
            0.0: ((16, 21), (8, 16), (24, 37)), 0.25: ((28, 37), (14, 27), (42, 64)),
            0.5: ((40, 52), (20, 38), (60, 90)), 1.0: ((63, 84), (31, 62), (94, 146)),
        },
    ),
}  # fmt: skip


def logits() -> np.ndarray:
    """(n, *GRID) float32: above 0 inside of the ellipses."""
    y, x = np.mgrid[: GRID[0], : GRID[1]] * 4.0 + 2.0
    grids = [3.07 * (1 - ((x - u) / a) ** 2 - ((y - v) / b) ** 2) for u, v, a, b in _ELLIPSES]
    return np.clip(np.stack(grids), -7, 7).astype(np.float32)


def raw_outputs(family: str) -> dict[str, np.ndarray]:
    """The raw outputs of a family without batch axis, in the order of its graphs."""
    protos = logits()
    weights = np.eye(len(CLASSES), dtype=np.float32)
    scores = np.diag(SCORES)
    centres = np.concatenate([(BOXES[:, :2] + BOXES[:, 2:]) / 2, BOXES[:, 2:] - BOXES[:, :2]], 1)
    final = np.concatenate([BOXES, SCORES[:, None], np.arange(5.0)[:, None], weights], 1)
    unsure = np.ones((len(CLASSES), 1), np.float32)
    rows = np.concatenate([centres, unsure, scores, weights], 1)
    sides = np.array([NETWORK[1], NETWORK[0]] * 2)
    outputs: dict[str, Any] = {
        "yolov8": {"a": np.concatenate([centres, scores, weights], 1).T, "b": protos},
        "yolov8-fused": {"a": final, "b": protos},
        "yolov5": {"a": rows, "b": protos},
        "yolov7": {"a": rows, "b": unsure, "c": unsure, "d": unsure, "e": protos},
        "yolo26": {"a": final, "b": protos},
        "native": {"a": final, "b": protos},
        "native-one-to-many": {"a": np.concatenate([BOXES, scores, weights], 1), "b": protos},
        "yolact": {
            "a": np.zeros((5, 4)), "b": np.concatenate([unsure * 0, scores], 1), "c": weights,
            "d": centres / sides, "e": protos.transpose(1, 2, 0),
        },
        "rfdetr": {
            "a": centres / sides,
            "b": np.where(np.eye(5) > 0, np.log(SCORES / (1 - SCORES)), -20.0), "c": protos,
        },
    }[family]  # fmt: skip
    return {name: np.ascontiguousarray(value, np.float32) for name, value in outputs.items()}


def rule_of(family: str) -> str:
    """How a family's masks come about: `sigmoid` or `logit`, and whether boxes cut them."""
    if family == "rfdetr":
        return "logit, whole"
    return "logit, cut" if family in ("yolov5", "yolov7", "yolo26") else "sigmoid, cut"


def expected_masks(rule: str, geometry: Geometry, factor: float) -> tuple[np.ndarray, np.ndarray]:
    """(n, *canvas) bool masks, and where a value is so near to the threshold that either is right.

    On the raw grid: activation, then zeros outside of the box; without padding; enlarged as
    bilinear sampling with half-pixel centres; cut at the threshold; laid on the canvas.
    """
    values = logits().astype(np.float64)
    threshold = 0.0
    if rule.startswith("sigmoid"):
        values, threshold = 1 / (1 + np.exp(-values)), 0.5
    if rule.endswith("cut"):
        windows = np.rint(BOXES * 0.25)
        y, x = np.mgrid[: GRID[0], : GRID[1]]
        for grid, (x0, y0, x1, y1) in zip(values, windows, strict=True):
            grid[~((x0 <= x) & (x < x1) & (y0 <= y) & (y < y1))] = 0
    (left, top), (rows, columns) = geometry.trim, geometry.inner
    values = values[:, top : top + rows, left : left + columns]
    size, (oy, ox), canvas = geometry.sizes[factor]
    enlarged = _enlarged(values, size, 0.0)
    inside = enlarged > threshold
    # What is outside of a box is exactly 0 in any arithmetic, unless a sample lies on a cell's
    # centre and rounding moves it.
    unsure = (np.abs(enlarged - threshold) < 1e-5) & (enlarged != 0)
    for shift in (-1e-6, 1e-6):
        unsure |= (_enlarged(values, size, shift) > threshold) != inside
    masks = np.zeros((len(values), *canvas), bool)
    near = np.zeros_like(masks)
    region = (slice(None), slice(oy, oy + size[0]), slice(ox, ox + size[1]))
    masks[region], near[region] = inside, unsure
    return masks, near


def _enlarged(values: np.ndarray, size: tuple[int, int], shift: float) -> np.ndarray:
    rows, columns = (
        _weights(source, target, shift)
        for source, target in zip(values.shape[1:], size, strict=True)
    )
    enlarged: np.ndarray = rows @ values @ columns.T
    return enlarged


def _weights(source: int, target: int, shift: float) -> np.ndarray:
    """(target, source) weights of bilinear enlargement, sampled `shift` cells to the right."""
    centres = (np.arange(target) + 0.5) * source / target - 0.5 + shift
    centres = np.clip(centres, 0, source - 1)
    low = np.minimum(np.floor(centres).astype(int), source - 1)
    share = centres - low
    weights = np.zeros((target, source))
    weights[np.arange(target), low] += 1 - share
    weights[np.arange(target), np.minimum(low + 1, source - 1)] += share
    return weights
