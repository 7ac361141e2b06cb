"""The parts of an industrial scene as height, alpha and colour in their own upright frame. Placing
them in a picture and lighting them is the composer's work."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field

import cv2
import numpy as np

from inference_models.training.scenes.relief import grid_noise, struck_relief

PART_KEYPOINTS = ("centre", "tip", "tail")
# A part's radius is 1; the frame reaches a little further so that no outline is cut.
FRAME = 1.1
# BGR.
_METALS = np.array(
    [
        *([175, 178, 180], [150, 152, 155], [120, 125, 130], [95, 140, 175], [70, 110, 160]),
        *([60, 85, 125], [85, 170, 205], [100, 105, 95], [70, 72, 75], [190, 195, 198]),
    ],
    dtype=np.float32,
)


@dataclass(frozen=True, slots=True)
class Part:
    """One part in its own frame, s px a side, centre of the part in the middle.

    Attributes:
        alpha: (s, s) uint8 coverage.
        height: (s, s) float32 in units of the radius.
        tone: (s, s) float32 factor of the colour.
        colour: (3,) float32 BGR 0..255, or (s, s, 3) for printed parts.
        gloss: strength of the highlight, 0..1.
        extent: half width and half height of the upright box round it, in units of the radius.
        keypoints: (K, 2) in units of the radius.
        has_keypoint: (K,) bool.
    """

    alpha: np.ndarray
    height: np.ndarray
    tone: np.ndarray
    colour: np.ndarray
    gloss: float
    extent: tuple[float, float] = (1.0, 1.0)
    keypoints: np.ndarray = field(default_factory=lambda: np.zeros((len(PART_KEYPOINTS), 2)))
    has_keypoint: np.ndarray = field(default_factory=lambda: np.array([True, False, False]))


class _Frame:
    """Pixels and polar coordinates of a part's frame."""

    def __init__(self, size: int) -> None:
        self.size = size
        self.unit = size / 2 / FRAME
        axis = ((np.arange(size, dtype=np.float32) + 0.5) / size * 2 - 1) * np.float32(FRAME)
        self.x, self.y = axis[None, :], axis[:, None]
        self.radius = np.sqrt(self.x * self.x + self.y * self.y)

    def px(self, points: np.ndarray) -> np.ndarray:
        """Fixed-point px (4 fractional bits) of points in units of the radius."""
        return np.rint(((points + FRAME) * self.unit - 0.5) * 16).astype(np.int32)

    def fill(self, *outlines: np.ndarray) -> np.ndarray:
        """(s, s) uint8 antialiased union of polygons."""
        canvas = np.zeros((self.size, self.size), dtype=np.uint8)
        for outline in outlines:
            cv2.fillPoly(canvas, [self.px(outline)], 255, cv2.LINE_AA, 4)
        return canvas

    def disc(self, radius: float) -> np.ndarray:
        """(s, s) float32 coverage 0..1 of a disc in the middle."""
        return np.clip((radius - self.radius) * self.unit + np.float32(0.5), 0, 1)

    def from_edge(self, alpha: np.ndarray) -> np.ndarray:
        """(s, s) float32 distance to the outline, in units of the radius."""
        inner = cv2.distanceTransform((alpha > 127).view(np.uint8), cv2.DIST_L2, 3)
        return inner / np.float32(self.unit)


def _metal(rng: np.random.Generator) -> np.ndarray:
    colour = _METALS[int(rng.integers(len(_METALS)))] * np.float32(rng.uniform(0.6, 1.3))
    return np.clip(colour + rng.normal(0, 6, 3), 20, 250).astype(np.float32)


def _paint(rng: np.random.Generator) -> np.ndarray:
    return rng.uniform(15, 245, 3).astype(np.float32)


def _surface(rng: np.random.Generator, frame: _Frame, amount: float) -> np.ndarray:
    """Tone with stains and fine speckles round 1."""
    tone = 1 + np.float32(amount) * grid_noise(rng, frame.size, int(rng.integers(3, 8)))
    cells = max(8, frame.size // 2)
    return tone + np.float32(amount * 0.5) * grid_noise(rng, frame.size, cells)


def round_outline(rng: np.random.Generator, roughness: float, points: int = 72) -> np.ndarray:
    """(points, 2) outline of a hand-struck disc; its radius stays near 1 and below 1.05.

    Args:
        rng: source of the shape.
        roughness: share of the radius by which the outline wavers.
        points: corners.
    """
    angles = np.arange(points) * (2 * np.pi / points)
    orders = np.arange(2, 8)[:, None]
    swings = roughness * rng.standard_normal((6, 1)) / orders**0.7
    radius = 1 + (swings * np.cos(orders * angles + rng.uniform(0, 2 * np.pi, (6, 1)))).sum(0)
    if rng.random() < 0.35 and roughness > 0.015:
        # A chord that was cut off or broken away.
        direction = rng.uniform(0, 2 * np.pi)
        facing = np.cos(angles - direction)
        limit = rng.uniform(0.82, 0.97) / np.maximum(facing, 0.05)
        radius = np.minimum(radius, limit)
    radius += rng.normal(0, roughness * 0.12, points)
    radius /= max(1.0, radius.max() / 1.05)
    return np.stack([np.cos(angles), np.sin(angles)], axis=1) * radius[:, None]


def coin(rng: np.random.Generator, size: int) -> Part:
    """A coin: struck relief, perhaps a rim, worn; now and then almost blank."""
    frame = _Frame(size)
    roughness = float(rng.choice([0.0, 0.01, 0.02, 0.035])) * float(rng.uniform(0.5, 1.5))
    outline = round_outline(rng, roughness)
    extent = np.abs(outline).max(axis=0)
    alpha = frame.fill(outline)
    edge = frame.from_edge(alpha)
    relief = struck_relief(rng, size, frame.unit)
    strength = float(rng.choice([0.015, 0.05, 0.1, 0.16])) * float(rng.uniform(0.6, 1.5))
    bevel = float(rng.uniform(0.03, 0.22))
    height = np.sqrt(np.clip(edge / bevel, 0, 1)) * np.float32(rng.uniform(0.02, 0.14))
    if rng.random() < 0.45:
        middle, width = float(rng.uniform(0.05, 0.14)), float(rng.uniform(0.03, 0.06))
        rim = np.exp(-(((edge - middle) / width) ** 2))
        height += rim * np.float32(rng.uniform(0.02, 0.08))
    height += relief * np.float32(strength)
    height += grid_noise(rng, size, max(6, size // 4)) * np.float32(rng.uniform(0, 0.02))
    height += grid_noise(rng, size, 5) * np.float32(rng.uniform(0, 0.06))
    tone = _surface(rng, frame, float(rng.uniform(0.02, 0.18)))
    # Dirt stays in the hollows, hands polish what stands out.
    tone += (relief - np.float32(0.35)) * np.float32(rng.uniform(-0.1, 0.5))
    if rng.random() < 0.5:
        border = np.exp(-((edge / np.float32(rng.uniform(0.03, 0.08))) ** 2))
        tone += border * np.float32(rng.uniform(-0.25, 0.5))
    reach = (float(extent[0]), float(extent[1]))
    return Part(alpha, height, tone, _metal(rng), float(rng.uniform(0, 0.5)), reach)


def washer(rng: np.random.Generator, size: int) -> Part:
    """A flat ring."""
    frame = _Frame(size)
    inner = float(rng.uniform(0.38, 0.72))
    alpha = (frame.disc(1.0) - frame.disc(inner)) * 255
    band = np.clip(np.minimum(1 - frame.radius, frame.radius - inner) / 0.08, 0, 1)
    height = band * np.float32(rng.uniform(0.02, 0.06))
    rings = np.float32(rng.uniform(0, 0.01)) * np.sin(frame.radius * np.float32(frame.unit * 1.5))
    tone = _surface(rng, frame, float(rng.uniform(0.02, 0.1)))
    colour = _metal(rng) if rng.random() < 0.85 else _paint(rng)
    return Part(alpha.astype(np.uint8), height + rings, tone, colour, float(rng.uniform(0.1, 0.8)))


def nut(rng: np.random.Generator, size: int) -> Part:
    """A hexagonal nut seen from above."""
    frame = _Frame(size)
    angles = np.arange(6) * (np.pi / 3)
    outline = np.stack([np.cos(angles), np.sin(angles)], axis=1)
    inner = float(rng.uniform(0.42, 0.58))
    alpha = frame.fill(outline).astype(np.float32) * (1 - frame.disc(inner))
    chamfer = np.clip((np.float32(0.9) - frame.radius) * 5 + 0.5, 0, 1)
    bore = np.clip((frame.radius - inner) / 0.1, 0, 1)
    height = chamfer * np.float32(rng.uniform(0.04, 0.12)) + bore * np.float32(0.06)
    tone = _surface(rng, frame, float(rng.uniform(0.02, 0.12)))
    tone -= (1 - chamfer) * np.float32(rng.uniform(0.05, 0.25))
    extent = (1.0, float(np.sqrt(3) / 2))
    gloss = float(rng.uniform(0.1, 0.8))
    return Part(alpha.astype(np.uint8), height, tone, _metal(rng), gloss, extent)


def gear(rng: np.random.Generator, size: int) -> Part:
    """A spur gear with a bore, perhaps with a hub or holes."""
    frame = _Frame(size)
    teeth = int(rng.integers(8, 25))
    root, top = float(rng.uniform(0.76, 0.86)), 1.0
    share = float(rng.uniform(0.2, 0.3))
    step = 2 * np.pi / teeth
    angles = (np.arange(teeth) * step)[:, None] + step * np.array([0, share, 0.5, 0.5 + share])
    radii = np.tile([root, top, top, root], (teeth, 1))
    angles[:, 1] -= step * 0.05
    angles[:, 3] -= step * 0.02
    outline = np.stack([np.cos(angles) * radii, np.sin(angles) * radii], axis=2).reshape(-1, 2)
    inner = float(rng.uniform(0.12, 0.35))
    cover = frame.fill(outline).astype(np.float32) / 255 * (1 - frame.disc(inner))
    height = np.clip((1 - frame.radius) / 0.06, 0, 1) * np.float32(0.03)
    style = rng.random()
    if style < 0.4:
        hub = frame.disc(min(inner + float(rng.uniform(0.15, 0.25)), 0.6))
        height = height + cv2.blur(hub, (3, 3)) * np.float32(rng.uniform(0.05, 0.12))
    elif style < 0.7:
        count, orbit = int(rng.integers(3, 7)), (inner + root) / 2
        hole = (root - inner) * float(rng.uniform(0.22, 0.32))
        for angle in np.arange(count) * (2 * np.pi / count):
            x, y = np.float32(orbit * np.cos(angle)), np.float32(orbit * np.sin(angle))
            away = np.sqrt((frame.x - x) ** 2 + (frame.y - y) ** 2)
            cover = cover * np.clip((away - np.float32(hole)) * frame.unit + 0.5, 0, 1)
    tone = _surface(rng, frame, float(rng.uniform(0.02, 0.12)))
    colour = _metal(rng) if rng.random() < 0.75 else _paint(rng)
    gloss = float(rng.uniform(0.05, 0.7))
    return Part((cover * 255).astype(np.uint8), height, tone, colour, gloss)


def bolt(rng: np.random.Generator, size: int) -> Part:
    """A bolt lying on its side: head left, threaded shank to the right."""
    frame = _Frame(size)
    thick = float(rng.uniform(0.1, 0.2))
    head_length, head_half = (
        thick * float(rng.uniform(1.0, 1.6)),
        thick * float(rng.uniform(1.6, 2)),
    )
    start = -1 + head_length
    shank = np.array([[start, -thick], [0.97, -thick], [1, -thick * 0.7]])
    shank = np.concatenate([shank, shank[::-1] * [1, -1]])
    head = np.array([[-1, -head_half * 0.8], [-1 + head_length * 0.25, -head_half]])
    head = np.concatenate([head, [[start, -head_half]]])
    head = np.concatenate([head, head[::-1] * [1, -1]])
    alpha = frame.fill(head, shank)
    across = frame.y / np.where(frame.x < start, head_half, thick)
    height = np.sqrt(np.clip(1 - across**2, 0, 1)) * np.where(frame.x < start, head_half, thick)
    pitch = max(thick * float(rng.uniform(0.3, 0.5)), 2.6 / frame.unit)
    from_x = start + (1 - start) * float(rng.choice([0.0, 0.0, 0.3, 0.5]))
    thread = np.sin((frame.x + frame.y * np.float32(0.25)) * np.float32(2 * np.pi / pitch))
    threaded = (frame.x > from_x) & (frame.x > start)
    height = height + threaded * thread * np.float32(pitch * 0.14)
    tone = _surface(rng, frame, float(rng.uniform(0.02, 0.12)))
    tone = tone + threaded * thread * np.float32(rng.uniform(0.05, 0.3))
    if rng.random() < 0.7:
        facets = np.abs(np.abs(frame.y) - head_half * 0.5) < 1.2 / frame.unit
        tone = tone - ((frame.x < start) & facets) * np.float32(0.25)
    points = np.array([[0.0, 0.0], [1.0, 0.0], [-1.0, 0.0]])
    gloss = float(rng.uniform(0.1, 0.7))
    return Part(
        alpha, height.astype(np.float32), tone, _metal(rng), gloss, (1.0, head_half), points,
        np.array([True, True, True]),
    )  # fmt: skip


def plate(rng: np.random.Generator, size: int) -> Part:
    """A flat plate with round corners and drilled holes."""
    frame = _Frame(size)
    half_height = float(rng.uniform(0.3, 0.7))
    half_width = float(np.sqrt(1 - half_height**2))
    corner = float(rng.uniform(0.02, 0.8)) * half_height
    turn = np.arange(0, 7) * (np.pi / 12)
    arc = np.stack([np.cos(turn), np.sin(turn)], axis=1) * corner
    arc = arc + np.array([half_width - corner, half_height - corner])
    quarter = np.concatenate([arc, arc[::-1] * [-1, 1]])
    outline = np.concatenate([quarter, quarter[::-1] * [1, -1]])
    cover = frame.fill(outline).astype(np.float32) / 255
    hole = float(rng.uniform(0.08, 0.4)) * half_height
    inset_x, inset_y = half_width - hole * 1.6, half_height - hole * 1.6
    choice = rng.random()
    places: list[tuple[float, float]] = []
    if choice < 0.35:
        places = [(inset_x * a, inset_y * b) for a in (-1, 1) for b in (-1, 1)]
    elif choice < 0.65:
        places = [(inset_x, 0), (-inset_x, 0)]
    elif choice < 0.85:
        places = [(0, 0)]
    for x, y in places:
        away = np.sqrt((frame.x - np.float32(x)) ** 2 + (frame.y - np.float32(y)) ** 2)
        cover = cover * np.clip((away - np.float32(hole)) * frame.unit + 0.5, 0, 1)
    alpha = (cover * 255).astype(np.uint8)
    height = np.clip(frame.from_edge(alpha) / np.float32(0.07), 0, 1) * np.float32(0.04)
    tone = _surface(rng, frame, float(rng.uniform(0.02, 0.12)))
    if rng.random() < 0.5:
        brushed = rng.standard_normal((size, 1), dtype=np.float32) * np.float32(0.05)
        tone = tone + brushed
    colour = _metal(rng) if rng.random() < 0.6 else _paint(rng)
    gloss = float(rng.uniform(0.05, 0.6))
    return Part(alpha, height, tone, colour, gloss, (half_width, half_height))


def cap(rng: np.random.Generator, size: int) -> Part:
    """A crown cap of a bottle: crimped skirt and a printed, slightly domed top."""
    frame = _Frame(size)
    angle = np.arctan2(frame.y, frame.x)
    wave = np.cos(angle * 21)
    alpha = np.clip((0.97 + 0.03 * wave - frame.radius) * frame.unit + 0.5, 0, 1) * 255
    skirt = np.clip((frame.radius - np.float32(0.72)) / np.float32(0.28), 0, 1)
    height = (1 - skirt**2) * np.float32(0.22) + wave * skirt * np.float32(0.05)
    height = height - np.clip(frame.radius, 0, 0.72) ** 2 * np.float32(0.04)
    base, ink = _paint(rng), _paint(rng)
    print_area = np.zeros((size, size), dtype=np.uint8)
    style = rng.random()
    unit = frame.unit
    middle = round(size / 2)
    if style < 0.35:
        text = "".join(rng.choice(list("ABCDEFGHKLMNOPRSTUVX"), int(rng.integers(1, 4))))
        scale = unit / 26 / max(1.0, len(text) * 0.55)
        width = max(1, round(unit * 0.1))
        (w, h), _ = cv2.getTextSize(text, cv2.FONT_HERSHEY_SIMPLEX, scale, width)
        cv2.putText(print_area, text, (middle - w // 2, middle + h // 2), 0, scale, 255, width, 16)
    elif style < 0.6:
        star = np.arange(10) * (np.pi / 5)
        reach = np.where(np.arange(10) % 2 == 0, 0.6, 0.26)
        corners = np.stack([np.sin(star) * reach, -np.cos(star) * reach], axis=1)
        cv2.fillPoly(print_area, [frame.px(corners)], 255, cv2.LINE_AA, 4)
    elif style < 0.85:
        cv2.circle(print_area, (middle, middle), round(unit * rng.uniform(0.3, 0.6)), 255,
                   round(unit * rng.uniform(0.06, 0.2)) or -1, cv2.LINE_AA)  # fmt: skip
    weight = (print_area.astype(np.float32) / 255)[..., None]
    colour = base * (1 - weight) + ink * weight
    tone = _surface(rng, frame, float(rng.uniform(0.01, 0.08))) - skirt * np.float32(0.1)
    gloss = float(rng.uniform(0.2, 0.9))
    return Part(alpha.astype(np.uint8), height, tone, colour, gloss)


PART_MAKERS: Mapping[str, Callable[[np.random.Generator, int], Part]] = {
    "coin": coin,
    "washer": washer,
    "nut": nut,
    "bolt": bolt,
    "gear": gear,
    "plate": plate,
    "cap": cap,
}
