"""Pictures the recorded cases run on, drawn in code so that every machine gets the same pixels.

Only fixed seeds and drawing without anti-aliasing: `images_manifest.json` holds a digest of each
picture in use. All
pictures are uint8, (h, w, 3) BGR unless a docstring says otherwise. Running cases is not done here.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import cv2
import numpy as np

FOLDER = Path(__file__).parent
ASSETS = FOLDER / "assets"
MANIFEST = FOLDER / "images_manifest.json"

Picture = np.ndarray


def _random(seed: int) -> np.random.RandomState:
    return np.random.RandomState(seed)


def gradient(w: int = 640, h: int = 427) -> Picture:
    """Blue grows to the right, green downwards, red towards the upper left."""
    across = np.broadcast_to(np.linspace(0, 255, w)[None, :], (h, w))
    down = np.broadcast_to(np.linspace(0, 255, h)[:, None], (h, w))
    return np.stack([across, down, 255 - (across + down) / 2], axis=-1).astype(np.uint8)


def gray_gradient(w: int = 160, h: int = 120) -> Picture:
    """Single-channel (h, w) ramp."""
    return gradient(w, h)[:, :, 0].copy()


def discs(w: int = 320, h: int = 240, n: int = 12, seed: int = 3) -> Picture:
    """`n` bright discs that never touch, on a dark, slightly noisy background."""
    gray = _random(seed).randint(20, 40, (h, w, 1))
    picture = np.repeat(gray, 3, axis=2).astype(np.uint8)
    columns = 4
    rows = -(-n // columns)
    for number in range(n):
        row, column = divmod(number, columns)
        centre = (int((column + 0.5) * w / columns), int((row + 0.5) * h / rows))
        tone = 140 + (number * 29) % 110
        cv2.circle(picture, centre, 10 + (number * 7) % 18, (tone, tone - 10, tone - 25), -1)
    return picture


def checker(w: int = 160, h: int = 120, cell: int = 20) -> Picture:
    """Black and white squares, black at the origin."""
    y, x = np.indices((h, w)) // cell
    return np.repeat(((x + y) % 2 * 255).astype(np.uint8)[:, :, None], 3, axis=2)


def text_board(w: int = 400, h: int = 160) -> Picture:
    """Two lines of text on a light board."""
    picture = np.full((h, w, 3), 245, np.uint8)
    font = cv2.FONT_HERSHEY_SIMPLEX
    cv2.putText(picture, "LOT 4711-B", (20, 60), font, 1.5, (20, 20, 20), 3, cv2.LINE_8)
    cv2.putText(picture, "best before 2031", (20, 120), font, 1.0, (120, 20, 20), 2, cv2.LINE_8)
    return picture


def noise(w: int = 120, h: int = 90, seed: int = 0) -> Picture:
    """Every pixel random."""
    return _random(seed).randint(0, 256, (h, w, 3)).astype(np.uint8)


def blocks(w: int = 200, h: int = 150, seed: int = 11, cell: int = 10) -> Picture:
    """Random coloured squares: plenty of corners for feature detectors."""
    tones = _random(seed).randint(0, 256, (h // cell + 1, w // cell + 1, 3)).astype(np.uint8)
    return tones.repeat(cell, axis=0).repeat(cell, axis=1)[:h, :w].copy()


def solid(w: int = 64, h: int = 48, color: tuple[int, int, int] = (30, 90, 200)) -> Picture:
    """One colour."""
    picture = np.empty((h, w, 3), np.uint8)
    picture[:] = color
    return picture


def px1() -> Picture:
    """A single pixel."""
    return np.array([[[7, 120, 250]]], np.uint8)


def four_colors(w: int = 120, h: int = 80) -> Picture:
    """A colour a quarter, with a dark bar in the last one."""
    picture = np.zeros((h, w, 3), np.uint8)
    middle_y, middle_x = h // 2, w // 2
    picture[:middle_y, :middle_x] = (255, 0, 0)
    picture[:middle_y, middle_x:] = (0, 255, 0)
    picture[middle_y:, :middle_x] = (0, 0, 255)
    picture[middle_y:, middle_x:] = (200, 200, 200)
    picture[middle_y:, middle_x : middle_x + 10] = (10, 10, 10)
    return picture


def shapes(w: int = 240, h: int = 180) -> Picture:
    """Rectangle, disc, triangle and a frame with a hole on black."""
    picture = np.zeros((h, w, 3), np.uint8)
    triangle = np.array([[40, 160], [110, 160], [75, 100]], np.int32)
    cv2.rectangle(picture, (20, 20), (80, 70), (255, 255, 255), -1)
    cv2.circle(picture, (150, 60), 30, (200, 200, 200), -1)
    cv2.fillPoly(picture, [triangle], (180, 180, 180))
    cv2.rectangle(picture, (140, 110), (220, 165), (220, 220, 220), -1)
    cv2.rectangle(picture, (160, 125), (200, 150), (0, 0, 0), -1)
    return picture


def patch(seed: int = 5, w: int = 30, h: int = 24) -> Picture:
    """The noise patch that `patch_scene` carries copies of."""
    return _random(seed).randint(0, 256, (h, w, 3)).astype(np.uint8)


def patch_scene(
    w: int = 240,
    h: int = 160,
    at: tuple[tuple[int, int], ...] = ((30, 20), (150, 100)),
    seed: int = 5,
) -> Picture:
    """A plain background with exact copies of one patch, their upper left corners at `at` (x,
    y).
    """
    picture = np.full((h, w, 3), 90, np.uint8)
    picture[:, :, 1] += (np.arange(w) // 8).astype(np.uint8)[None]
    stamp = patch(seed)
    height, width = stamp.shape[:2]
    for x, y in at:
        picture[y : y + height, x : x + width] = stamp
    return picture


def moving_square(
    t: int = 0, w: int = 160, h: int = 120, step: int = 8, size: int = 24, present: bool = True
) -> Picture:
    """Frame `t` of a bright square that moves `step` px to the right a frame."""
    picture = np.full((h, w, 3), 60, np.uint8)
    if present:
        left = 4 + t * step
        cv2.rectangle(picture, (left, 40), (left + size, 40 + size), (240, 230, 220), -1)
    return picture


def tilted(w: int = 300, h: int = 200, angle: float = 7.0, ss: int = 4) -> Picture:
    """Dark lines turned by `angle` degrees, drawn `ss` times too large and averaged down."""
    large = np.full((h * ss, w * ss, 3), 230, np.uint8)
    radians = np.deg2rad(angle)
    along = (np.cos(radians) * 110 * ss, np.sin(radians) * 110 * ss)
    for number in range(-4, 5):
        x = (w / 2 - np.sin(radians) * number * 20) * ss
        y = (h / 2 + np.cos(radians) * number * 20) * ss
        start = (round(x - along[0]), round(y - along[1]))
        end = (round(x + along[0]), round(y + along[1]))
        cv2.line(large, start, end, (10, 10, 10), 3 * ss, cv2.LINE_8)
    return large.reshape(h, ss, w, ss, 3).mean(axis=(1, 3)).astype(np.uint8)


def panorama(part: int = 0) -> Picture:
    """The left (0) or right (1) part of one textured plane; the right one starts 100 px further."""
    plane = blocks(360, 200, seed=21, cell=12)
    random = _random(4)
    for _ in range(60):
        centre = (int(random.randint(360)), int(random.randint(200)))
        radius = int(random.randint(3, 9))
        cv2.circle(plane, centre, radius, tuple(int(v) for v in random.randint(0, 256, 3)), -1)
    return (plane[:, :240] if part == 0 else plane[:, 100:340]).copy()


def icon_rgba(size: int = 20) -> Picture:
    """(size, size, 4) BGRA: an opaque red disc on nothing."""
    picture = np.zeros((size, size, 4), np.uint8)
    cv2.circle(picture, (size // 2, size // 2), size // 2 - 2, (0, 0, 255, 255), -1)
    return picture


_DRAWINGS: Mapping[str, Callable[..., Picture]] = {
    function.__name__: function
    for function in (
        gradient, gray_gradient, discs, checker, text_board, noise, blocks, solid, px1, four_colors,
        shapes, patch, patch_scene, moving_square, tilted, panorama, icon_rgba,
    )
}  # fmt: skip


def picture_of(source: Mapping[str, Any]) -> tuple[str, Picture]:
    """The picture a case asks for, with its name in the manifest.

    Args:
        source: `{"$image": name, "args": {}}` (drawn here), `{"$skimage": name}` (from
            scikit-image) or `{"$asset": file}`.

    Raises:
        ModuleNotFoundError: a scikit-image picture is wanted and the package is not installed.
        FileNotFoundError: there is no such file.
    """
    if "$image" in source:
        arguments = source.get("args", {})
        name = source["$image"]
        return name + json.dumps(arguments, sort_keys=True), _DRAWINGS[name](**arguments)
    if "$skimage" in source:
        import skimage.data

        name = source["$skimage"]
        return f"skimage:{name}", _read(Path(skimage.data.__file__).parent / f"{name}.png")
    name = source["$asset"]
    return f"asset:{name}", _read(ASSETS / name)


def digest(picture: Picture) -> str:
    """Sixteen hex digits that change with any pixel or with the shape."""
    content = repr(picture.shape).encode() + np.ascontiguousarray(picture).tobytes()
    return hashlib.sha256(content).hexdigest()[:16]


def _read(path: Path) -> Picture:
    picture = cv2.imread(str(path), cv2.IMREAD_COLOR)
    if picture is None:
        raise FileNotFoundError(path)
    return picture
