"""Scenes of industrial parts and coins: how many of what lie where, and the drawing of each."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import cv2
import numpy as np

from inference_models.training.scenes.backgrounds import (
    dark_corners,
    photograph_ground,
    procedural_ground,
    with_clutter,
)
from inference_models.training.scenes.parts import FRAME, PART_KEYPOINTS, PART_MAKERS, Part
from inference_models.training.scenes.photometry import (
    Light,
    random_light,
    shade,
    take_photograph,
    uneven_light,
)
from inference_models.training.scenes.scene import DrawnObject, Scene, collect_scene

PART_CLASSES = tuple(PART_MAKERS)
_COIN = PART_CLASSES.index("coin")
_FRAME_PX = (24, 200)


@dataclass(frozen=True, slots=True)
class SceneStyle:
    """How often what happens in part scenes.

    Attributes:
        tray: share of scenes with coins laid out in rows.
        grey: share of black-and-white photographs.
        photograph: share of photographs as ground, where there are any.
        empty: share of scenes without any part.
        radius: range of part radii in px at 320 px.
        max_parts: most parts of a scattered scene.
        min_visible: parts of which less than this fraction can be seen get no annotation.
    """

    tray: float = 0.3
    grey: float = 0.45
    photograph: float = 0.35
    empty: float = 0.03
    radius: tuple[float, float] = (9.0, 62.0)
    max_parts: int = 14
    min_visible: float = 0.3


@dataclass(frozen=True, slots=True)
class _Placement:
    class_id: int
    x: float
    y: float
    radius: float


class PartScenes:
    """Scenes of coins, washers, nuts, bolts, gears, plates and caps.

    A scene depends only on the seed, its index, the size, the style and the photographs, so any
    subset can be drawn again.

    Args:
        seed: number of the data set.
        size: (height, width) in px.
        photographs: (H, W, 3) uint8 BGR pictures to cut grounds from; procedural ones only when
            there are none.
        style: how often what happens.
    """

    class_names = PART_CLASSES
    keypoint_names = PART_KEYPOINTS

    def __init__(
        self,
        seed: int,
        size: tuple[int, int] = (320, 320),
        photographs: Sequence[np.ndarray] = (),
        style: SceneStyle | None = None,
    ) -> None:
        self.seed = seed
        self.size = size
        self.photographs = photographs
        self.style = style or SceneStyle()

    def scene(self, index: int) -> Scene:
        """Scene number `index`."""
        rng = np.random.default_rng((self.seed, index))
        style = self.style
        tray = rng.random() < style.tray
        grey = bool(rng.random() < style.grey)
        light = random_light(rng)
        canvas = self._ground(rng, tray)
        if rng.random() < style.empty:
            placements: list[_Placement] = []
        elif tray:
            placements = _rows(rng, self.size)
        else:
            placements = _scattered(rng, self.size, style)
        instance_map = np.zeros(self.size, dtype=np.uint8)
        family = _Family.draw(rng) if tray else None
        objects: list[DrawnObject] = []
        for placement in placements:
            part = _make_part(rng, placement)
            if family is not None:
                part = family.adapt(rng, part)
            number = len(objects) + 1
            objects.append(_draw_part(rng, canvas, instance_map, part, placement, light, number))
        field = uneven_light(rng, self.size) if rng.random() < 0.85 else None
        image = take_photograph(rng, canvas, field, grey)
        return collect_scene(image, instance_map, objects, len(PART_KEYPOINTS), style.min_visible)

    def _ground(self, rng: np.random.Generator, tray: bool) -> np.ndarray:
        style = self.style
        if len(self.photographs) and rng.random() < style.photograph * (0.3 if tray else 1):
            ground = photograph_ground(rng, self.size, self.photographs)
        else:
            ground = procedural_ground(rng, self.size)
            if tray and rng.random() < 0.6:
                # Coins are mostly laid on dark cloth.
                ground *= np.float32(rng.uniform(0.2, 0.9))
        if rng.random() < 0.4:
            ground = with_clutter(rng, ground, int(rng.integers(1, 9)))
        if rng.random() < 0.15:
            dark_corners(rng, ground)
        return ground


@dataclass(frozen=True, slots=True)
class _Family:
    """What the coins of one tray have in common."""

    colour: np.ndarray
    spread: float

    @classmethod
    def draw(cls, rng: np.random.Generator) -> _Family:
        grey = rng.uniform(60, 220)
        tint = rng.normal(0, 12, 3) if rng.random() < 0.6 else np.array([-50.0, -5, 30])
        return cls(np.clip(grey + tint, 25, 250).astype(np.float32), float(rng.uniform(0.02, 0.25)))

    def adapt(self, rng: np.random.Generator, part: Part) -> Part:
        factor = np.float32(1 + rng.normal() * self.spread)
        colour = np.clip(self.colour * factor, 20, 250)
        return Part(
            part.alpha, part.height, part.tone, colour, part.gloss, part.extent, part.keypoints,
            part.has_keypoint,
        )  # fmt: skip


def _rows(rng: np.random.Generator, size: tuple[int, int]) -> list[_Placement]:
    """Coins in rows and columns, hardly touching."""
    height, width = size
    columns = int(rng.integers(3, 8))
    rows = max(2, min(7, round(columns * height / width * float(rng.uniform(0.6, 1.2)))))
    cell = min(height / rows, width / columns)
    mean = cell * float(rng.uniform(0.26, 0.44))
    spread = float(rng.uniform(0.0, 0.22))
    jitter = cell * float(rng.uniform(0.0, 0.14))
    missing = float(rng.choice([0.0, 0.0, 0.1, 0.35]))
    placements: list[_Placement] = []
    mixed = rng.random() < 0.12
    for row in range(rows):
        shift = rng.uniform(-0.1, 0.1) * cell
        for column in range(columns):
            if rng.random() < missing:
                continue
            radius = mean * float(np.clip(1 + rng.normal() * spread, 0.6, 1.6))
            x = (column + 0.5) * width / columns + shift + rng.normal() * jitter
            y = (row + 0.5) * height / rows + rng.normal() * jitter
            near = (np.hypot(p.x - x, p.y - y) < 0.97 * (p.radius + radius) for p in placements)
            if any(near):
                continue
            class_id = int(rng.integers(len(PART_CLASSES))) if mixed else _COIN
            placements.append(_Placement(class_id, float(x), float(y), radius))
    return placements


def _scattered(
    rng: np.random.Generator, size: tuple[int, int], style: SceneStyle
) -> list[_Placement]:
    """Parts of all classes anywhere, overlapping within bounds."""
    height, width = size
    scale = min(size) / 320
    low, high = (value * scale for value in style.radius)
    top = float(np.exp(rng.uniform(np.log(low * 2), np.log(high))))
    count = int(rng.integers(1, style.max_parts + 1))
    overlap = float(rng.choice([1.0, 0.85, 0.65]))
    coins = rng.random() < 0.25
    placements: list[_Placement] = []
    for _ in range(count):
        radius = float(np.exp(rng.uniform(np.log(max(low, top * 0.35)), np.log(top))))
        class_id = int(rng.integers(len(PART_CLASSES)))
        if coins and rng.random() < 0.6:
            class_id = _COIN
        elif PART_CLASSES[class_id] in ("bolt", "plate"):
            # Their radius is half their length; equal areas look more alike than equal lengths.
            radius = min(radius * 1.4, high)
        for _ in range(6):
            x, y = rng.uniform(0.02, 0.98) * width, rng.uniform(0.02, 0.98) * height
            free = all(
                np.hypot(p.x - x, p.y - y) >= overlap * (p.radius + radius) for p in placements
            )
            if free:
                placements.append(_Placement(class_id, float(x), float(y), radius))
                break
    return placements


def _make_part(rng: np.random.Generator, placement: _Placement) -> Part:
    size = int(np.clip(round(2.2 * FRAME * placement.radius), *_FRAME_PX))
    return PART_MAKERS[PART_CLASSES[placement.class_id]](rng, size)


def _draw_part(
    rng: np.random.Generator,
    canvas: np.ndarray,
    instance_map: np.ndarray,
    part: Part,
    placement: _Placement,
    light: Light,
    number: int,
) -> DrawnObject:
    """Draws one part with its shadow on the canvas and notes its pixels."""
    height, width = instance_map.shape
    radius = placement.radius
    theta = float(rng.uniform(0, 2 * np.pi))
    stretch = float(rng.uniform(0.9, 1.0)) if rng.random() < 0.3 else 1.0
    cos, sin = np.cos(theta), np.sin(theta)
    turn = np.array([[cos, -sin * stretch], [sin, cos * stretch]])
    # The patch of the picture that the part and its shadow can touch.
    reach = radius * (FRAME + 0.3)
    left, top = max(0, int(placement.x - reach)), max(0, int(placement.y - reach))
    right = min(width, int(placement.x + reach) + 2)
    bottom = min(height, int(placement.y + reach) + 2)
    size = (max(right - left, 1), max(bottom - top, 1))
    frame_px = part.alpha.shape[0]
    to_scene = turn * (2 * FRAME * radius / frame_px)
    middle = np.array([(frame_px - 1) / 2] * 2)
    offset = np.array([placement.x - left - 0.5, placement.y - top - 0.5]) - to_scene @ middle
    matrix = np.column_stack([to_scene, offset])

    def place(values: np.ndarray) -> np.ndarray:
        return cv2.warpAffine(values, matrix, size, flags=cv2.INTER_LINEAR)

    alpha = place(part.alpha).astype(np.float32) / np.float32(255)
    relief = place(part.height) * np.float32(radius)
    tone = place(part.tone)
    colour = place(part.colour) if part.colour.ndim == 3 else part.colour
    diffuse, highlight = shade(relief, part.gloss, light)
    patch = canvas[top : top + size[1], left : left + size[0]]
    _cast_shadow(patch, alpha, radius, light)
    brightness = tone * diffuse
    channels = cv2.split(colour) if colour.ndim == 3 else colour
    lit = cv2.merge([channel * brightness + highlight for channel in channels])
    patch += (lit - patch) * cv2.merge([alpha, alpha, alpha])
    covered = alpha > 0.5
    instance_map[top : top + size[1], left : left + size[0]][covered] = number
    linear = turn * radius
    keypoints = part.keypoints @ linear.T + [placement.x, placement.y]
    half_width, half_height = part.extent
    rotated_box = (
        placement.x,
        placement.y,
        2 * half_width * radius,
        2 * half_height * radius * stretch,
        theta,
    )
    pixels = int(covered.sum())
    return DrawnObject(placement.class_id, rotated_box, keypoints, part.has_keypoint, pixels)


def _cast_shadow(patch: np.ndarray, alpha: np.ndarray, radius: float, light: Light) -> None:
    darkness = None
    if light.shadow > 0:
        shift = radius * light.shadow_reach
        x, y = -light.direction[0] * shift, -light.direction[1] * shift
        moved = cv2.warpAffine(
            alpha, np.array([[1, 0, x], [0, 1, y]]), (alpha.shape[1], alpha.shape[0])
        )
        blur = max(0.5, shift * 0.5)
        darkness = cv2.GaussianBlur(moved, (0, 0), blur) * np.float32(light.shadow)
    if light.halo > 0:
        near = cv2.GaussianBlur(alpha, (0, 0), max(0.8, radius * 0.12)) * np.float32(light.halo)
        darkness = near if darkness is None else np.maximum(darkness, near)
    if darkness is not None:
        left = 1 - np.minimum(darkness, np.float32(0.95))
        patch *= cv2.merge([left, left, left])
