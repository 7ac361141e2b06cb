"""Deterministic inputs of the mask benchmarks: raw outputs of two kinds of models for scenes of
ellipses.

Seeds are fixed, so any implementation can be fed the same bytes. Only numpy and OpenCV are used, no
code of ours.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import cv2
import numpy as np

# name: (width, height, objects, seed)
SCENES = {"4k": (3840, 2160, 300, 7), "1080p": (1920, 1080, 30, 8), "vga": (640, 480, 10, 9)}
CLASSES = 8


@dataclass(frozen=True)
class Scene:
    """Raw values of one image.

    Attributes:
        image_size: (h, w).
        inference_size: (h, w) of the network's input.
        pads: (left, top, right, bottom) of it.
        scale_wh: network px per image px.
        boxes: (n, 4) float32 xyxy in network px.
        coefficients: (n, 32) float32, None for models that give a grid an object.
        grids: (32, h, w) prototypes, or (q, h, w) logits of which the first n count.
        confidence: (n,) float32.
    """

    image_size: tuple[int, int]
    inference_size: tuple[int, int]
    pads: tuple[int, int, int, int]
    scale_wh: tuple[float, float]
    boxes: np.ndarray
    coefficients: np.ndarray | None
    grids: np.ndarray
    confidence: np.ndarray


def prototype_scene(name: str, side: int = 640, grid: int = 160) -> Scene:
    """A letterboxed scene of a prototype model.

    The first six prototypes are 1, x, y, x^2, y^2 and xy, so six coefficients write the ellipse
    that fills a box; the other 26 are smooth noise that makes its outline uneven.
    """
    width, height, count, seed = SCENES[name]
    rng = np.random.default_rng(seed)
    scale = min(side / width, side / height)
    new_width, new_height = int(width * scale), int(height * scale)
    left, top = int((side - new_width) / 2), int((side - new_height) / 2)
    relative = _relative_boxes(rng, count)
    centre_x, centre_y = relative[:, 0] * new_width + left, relative[:, 1] * new_height + top
    box_width, box_height = relative[:, 2] * new_width, relative[:, 3] * new_height
    x, y = _grid_axes(grid)
    basis = np.stack([np.ones_like(x), x, y, x * x, y * y, x * y])
    prototypes = np.concatenate([basis, _smooth_noise(rng, 26, grid)]).astype(np.float32)

    # 4 * (1 - ((x - u) / a)^2 - ((y - v) / b)^2), multiplied out.
    u, v = centre_x / side, centre_y / side
    a, b = box_width / 2 / side, box_height / 2 / side
    quadratic = 4 * np.stack(
        [
            1 - u**2 / a**2 - v**2 / b**2,
            2 * u / a**2,
            2 * v / b**2,
            -1 / a**2,
            -1 / b**2,
            np.zeros(count),
        ],
        1,
    )
    noise = rng.standard_normal((count, 26)) * 0.15
    coefficients = np.concatenate([quadratic, noise], 1).astype(np.float32)
    confidence = np.sort(rng.uniform(0.45, 0.98, count))[::-1].astype(np.float32)
    boxes = np.stack(
        [
            centre_x - box_width / 2,
            centre_y - box_height / 2,
            centre_x + box_width / 2,
            centre_y + box_height / 2,
        ],
        1,
    ).astype(np.float32)
    return Scene(
        image_size=(height, width),
        inference_size=(side, side),
        pads=(left, top, side - left - new_width, side - top - new_height),
        scale_wh=(scale, scale),
        boxes=boxes,
        coefficients=coefficients,
        grids=prototypes,
        confidence=confidence,
    )


def logit_scene(name: str, side: int = 768, grid: int = 192, queries: int = 300) -> Scene:
    """A stretched scene of a model that gives every object its own grid of logits."""
    width, height, count, seed = SCENES[name]
    rng = np.random.default_rng(seed + 100)
    queries = max(queries, count)
    relative = _relative_boxes(rng, queries)
    # Drawn to leave the generator where the class scores of a whole model output would.
    rng.integers(0, CLASSES, count)
    rng.uniform(0.5, 4, count)
    x, y = _grid_axes(grid)
    noise = _smooth_noise(rng, 8, grid)
    logits = np.empty((queries, grid, grid), np.float32)
    for query, (u, v, w, h) in enumerate(relative):
        ellipse = 4 * (1 - ((x - u) / (w / 2)) ** 2 - ((y - v) / (h / 2)) ** 2)
        logits[query] = np.clip(ellipse, -12, 12) + 0.3 * noise[query % 8]
    centre, half = relative[:count, :2], relative[:count, 2:] / 2
    return Scene(
        image_size=(height, width),
        inference_size=(side, side),
        pads=(0, 0, 0, 0),
        scale_wh=(side / width, side / height),
        boxes=np.concatenate([centre - half, centre + half], 1) * side,
        coefficients=None,
        grids=logits,
        confidence=np.linspace(1, 0.5, count, dtype=np.float32),
    )


def _relative_boxes(rng: np.random.Generator, count: int) -> np.ndarray:
    """(n, 4) float32 centre and size relative to the image; sides of 3 % to 15 %, some over the
    border."""
    size = rng.uniform(0.03, 0.15, (count, 2))
    centre = rng.uniform(0.02, 0.98, (count, 2))
    return np.concatenate([centre, size], 1).astype(np.float32)


def _smooth_noise(rng: np.random.Generator, count: int, side: int) -> np.ndarray:
    grids = rng.standard_normal((count, side, side)).astype(np.float32)
    smooth = np.stack([cv2.GaussianBlur(grid, (0, 0), 5.0) for grid in grids])
    return smooth / smooth.std()


def _grid_axes(side: int) -> Any:
    centres = (np.arange(side, dtype=np.float32) + 0.5) / side
    return np.meshgrid(centres, centres)
