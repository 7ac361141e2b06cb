"""Height maps of struck coins: figures, letters, beads and wear. Only heights; colour and light are
elsewhere."""

from __future__ import annotations

import cv2
import numpy as np


def grid_noise(rng: np.random.Generator, size: int, cells: int) -> np.ndarray:
    """(size, size) float32 smooth noise in about -1..1 with `cells` cells a side."""
    coarse = rng.standard_normal((cells, cells), dtype=np.float32) * np.float32(0.5)
    return cv2.resize(coarse, (size, size), interpolation=cv2.INTER_CUBIC)


def struck_relief(rng: np.random.Generator, size: int, unit: float) -> np.ndarray:
    """(size, size) float32 heights 0..1 of a random design for a disc in the middle.

    Args:
        rng: source of the design.
        size: side of the map, px.
        unit: px of the disc's radius.
    """
    canvas = np.zeros((size, size), dtype=np.uint8)
    middle = size / 2
    design = rng.random()
    if design < 0.4:
        _portrait(rng, canvas, middle, unit)
    elif design < 0.75:
        _figure(rng, canvas, middle, unit)
    elif design < 0.9:
        _strokes(rng, canvas, middle, unit, int(rng.integers(6, 22)))
    else:
        _numeral(rng, canvas, middle, unit)
    if rng.random() < 0.45:
        _legend(rng, canvas, middle, unit)
    if rng.random() < 0.35:
        _beads(rng, canvas, middle, unit)
    blur = max(0.6, unit * float(rng.uniform(0.015, 0.06)))
    soft = cv2.GaussianBlur(canvas, (0, 0), blur).astype(np.float32) / np.float32(255)
    broad = cv2.GaussianBlur(canvas, (0, 0), blur * 3).astype(np.float32) / np.float32(255)
    return soft * np.float32(0.6) + broad * np.float32(0.6)


def _point(x: float, y: float) -> tuple[int, int]:
    return round(x * 16), round(y * 16)


def _ellipse(
    canvas: np.ndarray,
    centre: tuple[float, float],
    axes: tuple[float, float],
    turn: float,
    grey: int,
) -> None:
    cv2.ellipse(
        canvas,
        _point(*centre),
        _point(max(axes[0], 0.5), max(axes[1], 0.5)),
        turn,
        0,
        360,
        grey,
        -1,
        cv2.LINE_AA,
        4,
    )


def _portrait(rng: np.random.Generator, canvas: np.ndarray, middle: float, unit: float) -> None:
    """A head in profile: skull, nose, chin, neck, eye and strands of hair."""
    side = 1.0 if rng.random() < 0.5 else -1.0
    scale = unit * float(rng.uniform(0.42, 0.68))
    x, y = middle + rng.uniform(-0.12, 0.12) * unit, middle + rng.uniform(-0.15, 0.05) * unit
    face = int(rng.integers(120, 200))
    _ellipse(canvas, (x, y), (scale * 0.75, scale), float(rng.uniform(-20, 20)), face)
    outline = np.array(
        [
            *([0.45, -0.5], [0.85, 0.05], [1.0, 0.2], [0.78, 0.28], [0.8, 0.5], [0.7, 0.8]),
            *([0.3, 0.9], [0.35, 1.45], [-0.5, 1.5], [-0.45, 0.7]),
        ]
    )
    outline = outline * (1 + rng.normal(0, 0.08, outline.shape)) * [side * scale, scale] + [x, y]
    cv2.fillPoly(canvas, [np.rint(outline * 16).astype(np.int32)], face, cv2.LINE_AA, 4)
    count = int(rng.integers(8, 26))
    steps = rng.normal(0, 0.2, (count, 4, 2))
    steps[:, 0] = rng.uniform([-0.9, -1.0], [0.35, 0.55], (count, 2))
    curves = np.cumsum(steps, axis=1) * [side * scale, scale] + [x, y]
    _draw_curves(rng, canvas, curves, (40, 256), (0.02 * unit, 0.09 * unit))
    _ellipse(
        canvas, (x + side * scale * 0.5, y - scale * 0.05), (scale * 0.13, scale * 0.08), 0, 40
    )
    _ellipse(canvas, (x + side * scale * 0.4, y + scale * 0.35), (scale * 0.2, scale * 0.2), 0, 230)


def _figure(rng: np.random.Generator, canvas: np.ndarray, middle: float, unit: float) -> None:
    """A standing, seated or four-legged figure of limbs."""
    grey = int(rng.integers(150, 256))
    body = float(rng.uniform(0.12, 0.3)) * unit
    long = rng.random() < 0.4
    axes = (body * 1.9, body) if long else (body, body * 2)
    x, y = middle + rng.uniform(-0.1, 0.1) * unit, middle + rng.uniform(-0.1, 0.1) * unit
    _ellipse(canvas, (x, y), axes, float(rng.uniform(-25, 25)), grey)
    count = int(rng.integers(4, 9))
    steps = rng.normal(0, 0.25, (count, 3, 2)) * unit
    steps[:, 0] = np.array([x, y]) + rng.uniform(-1, 1, (count, 2)) * axes
    limbs = np.clip(np.cumsum(steps, axis=1), middle - 0.85 * unit, middle + 0.85 * unit)
    _draw_curves(rng, canvas, limbs, (grey, grey + 1), (0.04 * unit, 0.14 * unit))
    head = float(rng.uniform(0.08, 0.16)) * unit
    _ellipse(
        canvas, (x + rng.uniform(-1, 1) * axes[0], y - axes[1] - head * 0.6), (head, head), 0, 240
    )
    _strokes(rng, canvas, middle, unit, int(rng.integers(2, 10)))


def _strokes(
    rng: np.random.Generator, canvas: np.ndarray, middle: float, unit: float, count: int
) -> None:
    steps = rng.normal(0, 0.22, (count, 3, 2)) * unit
    steps[:, 0] *= 1.7
    curves = np.clip(middle + np.cumsum(steps, axis=1), middle - 0.88 * unit, middle + 0.88 * unit)
    _draw_curves(rng, canvas, curves, (0, 256), (0.02 * unit, 0.14 * unit))


def _draw_curves(
    rng: np.random.Generator,
    canvas: np.ndarray,
    curves: np.ndarray,
    greys: tuple[int, int],
    widths: tuple[float, float],
) -> None:
    fixed = np.rint(curves * 16).astype(np.int32)
    colours = rng.integers(*greys, len(fixed)).tolist()
    thickness = np.maximum(np.rint(rng.uniform(*widths, len(fixed))), 1).astype(int).tolist()
    for curve, grey, width in zip(fixed, colours, thickness, strict=True):
        cv2.polylines(canvas, [curve], False, grey, width, cv2.LINE_AA, 4)


def _numeral(rng: np.random.Generator, canvas: np.ndarray, middle: float, unit: float) -> None:
    text = "".join(rng.choice(list("0123456789"), int(rng.integers(1, 3))))
    scale = unit / 22 * float(rng.uniform(0.7, 1.2))
    width = max(1, round(unit * 0.12))
    (w, h), _ = cv2.getTextSize(text, cv2.FONT_HERSHEY_SIMPLEX, scale, width)
    origin = (round(middle - w / 2), round(middle + h / 2))
    cv2.putText(canvas, text, origin, cv2.FONT_HERSHEY_SIMPLEX, scale, 255, width, cv2.LINE_AA)


def _legend(rng: np.random.Generator, canvas: np.ndarray, middle: float, unit: float) -> None:
    """Letters along the rim, drawn as short strokes."""
    count = int(rng.integers(5, 20))
    start = float(rng.uniform(0, 2 * np.pi))
    radius = unit * float(rng.uniform(0.72, 0.84))
    letter = unit * float(rng.uniform(0.08, 0.13))
    step = 2.4 * letter / radius
    width = max(1, round(unit * 0.035))
    angles = start + np.arange(count) * step
    centres = middle + radius * np.stack([np.cos(angles), np.sin(angles)], axis=1)
    ends = centres[:, None] + rng.uniform(-1, 1, (count, 3, 2)) * letter
    cv2.polylines(canvas, list(np.rint(ends * 16).astype(np.int32)), False, 230, width, 16, 4)


def _beads(rng: np.random.Generator, canvas: np.ndarray, middle: float, unit: float) -> None:
    radius = unit * float(rng.uniform(0.84, 0.92))
    count = int(rng.integers(24, 60))
    dot = unit * float(rng.uniform(0.02, 0.04))
    angles = np.arange(count) * (2 * np.pi / count)
    centres = middle + radius * np.stack([np.cos(angles), np.sin(angles)], axis=1)
    for x, y in np.rint(centres * 16).astype(np.int32).tolist():
        cv2.circle(canvas, (x, y), round(dot * 16), 220, -1, cv2.LINE_AA, 4)
