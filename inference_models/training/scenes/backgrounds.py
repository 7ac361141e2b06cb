"""Grounds that parts lie on: procedural surfaces and cuts of photographs."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import cv2
import numpy as np

from inference_models.errors import ModelInputError

_SUFFIXES = (".png", ".jpg", ".jpeg", ".bmp")


def read_photographs(
    folder: Path, exclude: Sequence[str] = (), longest_side: int = 1280
) -> list[np.ndarray]:
    """Photographs of a folder, (H, W, 3) uint8 BGR, in the order of their names.

    Args:
        folder: where they lie; folders in it are not searched.
        exclude: names of files to leave out, such as those a model will be judged on.
        longest_side: larger pictures are shrunk to this many px.

    Raises:
        ModelInputError: the folder does not exist, or holds no picture that can be read.
    """
    if not folder.is_dir():
        raise ModelInputError(f"no folder of background photographs at {folder}")
    pictures = []
    for path in sorted(folder.iterdir()):
        if path.suffix.lower() not in _SUFFIXES or path.name in exclude or not path.is_file():
            continue
        # OpenCV opens no path that the system's code page cannot spell, but decodes any bytes.
        content = np.frombuffer(path.read_bytes(), np.uint8)
        picture = cv2.imdecode(content, cv2.IMREAD_COLOR) if len(content) else None
        if picture is None:
            continue
        scale = longest_side / max(picture.shape[:2])
        if scale < 1:
            picture = cv2.resize(picture, None, fx=scale, fy=scale, interpolation=cv2.INTER_AREA)
        pictures.append(picture)
    if not pictures:
        raise ModelInputError(
            f"{folder} holds no background photographs ({', '.join(_SUFFIXES)}) beside "
            f"{list(exclude)}"
        )
    return pictures


def photograph_ground(
    rng: np.random.Generator, size: tuple[int, int], photographs: Sequence[np.ndarray]
) -> np.ndarray:
    """(H, W, 3) float32 BGR 0..255: a random cut of a random photograph, perhaps mirrored."""
    picture = photographs[int(rng.integers(len(photographs)))]
    height, width = size
    full_height, full_width = picture.shape[:2]
    share = float(rng.uniform(0.25, 1.0)) * min(full_height / height, full_width / width)
    h, w = max(8, int(height * share)), max(8, int(width * share))
    y = int(rng.integers(0, full_height - min(h, full_height) + 1))
    x = int(rng.integers(0, full_width - min(w, full_width) + 1))
    cut = picture[y : y + h, x : x + w]
    interpolation = cv2.INTER_AREA if share > 1 else cv2.INTER_LINEAR
    cut = cv2.resize(cut, (width, height), interpolation=interpolation)
    if rng.random() < 0.5:
        cut = cut[:, ::-1]
    if rng.random() < 0.3:
        cut = cut[::-1]
    ground = cut.astype(np.float32)
    # Photographs keep their own contrast only sometimes: a desk is not a landscape.
    weight = np.float32(rng.choice([1.0, 0.6, 0.3]))
    if weight == 1:
        return ground
    mean = cv2.mean(ground)[:3]
    faded = [
        channel * weight + mean[i] * (1 - weight) for i, channel in enumerate(cv2.split(ground))
    ]
    return cv2.merge([channel.astype(np.float32) for channel in faded])


def procedural_ground(rng: np.random.Generator, size: tuple[int, int]) -> np.ndarray:
    """(H, W, 3) float32 BGR 0..255: a surface of noise, grain, weave, lines or tiles."""
    height, width = size
    base = rng.uniform(10, 235, 3).astype(np.float32)
    if rng.random() < 0.7:
        # Most work surfaces have little colour.
        base = base.mean() + (base - base.mean()) * np.float32(0.2)
    # Coarse noise is summed up on a quarter of the size: nobody sees the difference.
    coarse = np.zeros((height // 4, width // 4), dtype=np.float32)
    for cells in (3, 6, 14, 40):
        amount = float(rng.choice([0.0, 1.0])) * float(rng.exponential(7.0))
        if amount > 0.3:
            coarse += _noise(rng, coarse.shape, (cells, cells)) * np.float32(amount)
    field: np.ndarray = cv2.resize(coarse, (width, height), interpolation=cv2.INTER_LINEAR)
    if rng.random() < 0.4:
        field += _noise(rng, size, (height // 3, width // 3)) * np.float32(rng.exponential(7.0))
    style = rng.random()
    if style < 0.2:
        stretch = (4, 90) if rng.random() < 0.5 else (90, 4)
        field += _noise(rng, size, stretch) * np.float32(rng.uniform(5, 30))
    elif style < 0.3:
        period = float(rng.uniform(3, 9))
        wave_x = np.sin(np.arange(width, dtype=np.float32) * np.float32(2 * np.pi / period))
        wave_y = np.sin(np.arange(height, dtype=np.float32) * np.float32(2 * np.pi / period))
        field += np.outer(wave_y, wave_x) * np.float32(rng.uniform(4, 22))
    elif style < 0.42:
        _draw_lines(rng, field, int(rng.integers(1, 12)))
    elif style < 0.5:
        tile = float(rng.uniform(20, 90))
        rows = (np.arange(height) // tile).astype(np.int64)
        columns = (np.arange(width) // tile).astype(np.int64)
        checks = (rows[:, None] + columns[None]) % 2
        field += checks.astype(np.float32) * np.float32(rng.normal(0, 30))
    gains = rng.uniform(0.7, 1.0, 3).astype(np.float32)
    return cv2.merge([field * gains[channel] + base[channel] for channel in range(3)])


def with_clutter(rng: np.random.Generator, ground: np.ndarray, count: int) -> np.ndarray:
    """The ground with things on it that are no parts: scraps, sticks, cables, letters, crumbs.

    Args:
        rng: source of all choices.
        ground: (H, W, 3) float32 BGR.
        count: how many.
    """
    # Text can only be drawn on bytes.
    ground = np.clip(ground, 0, 255).astype(np.uint8)
    height, width = ground.shape[:2]
    for _ in range(count):
        colour = tuple(float(value) for value in rng.uniform(0, 255, 3))
        centre = rng.uniform(0, [width, height])
        reach = float(rng.uniform(6, 60))
        kind = rng.random()
        if kind < 0.3:
            corners = centre + rng.uniform(-1, 1, (int(rng.integers(3, 6)), 2)) * reach
            hull = cv2.convexHull(np.rint(corners * 16).astype(np.int32))
            cv2.fillPoly(ground, [hull], colour, cv2.LINE_8, 4)
        elif kind < 0.6:
            steps = rng.normal(0, reach * 0.6, (int(rng.integers(2, 6)), 2))
            line = centre + np.cumsum(steps, axis=0)
            thickness = int(rng.integers(1, 8))
            cv2.polylines(
                ground, [np.rint(line * 16).astype(np.int32)], False, colour, thickness, 8, 4
            )
        elif kind < 0.75:
            text = "".join(rng.choice(list("ABCDEFGHKLMNPRSTUVX0123456789 "), 7))
            place = (int(centre[0]), int(centre[1]))
            cv2.putText(ground, text, place, 0, float(rng.uniform(0.3, 1.0)), colour, 1)
        else:
            spots = rng.normal(centre, reach, (int(rng.integers(4, 20)), 2))
            for x, y in spots:
                cv2.circle(ground, (int(x), int(y)), int(rng.integers(0, 3)), colour, -1)
    return ground.astype(np.float32)


def dark_corners(rng: np.random.Generator, ground: np.ndarray) -> None:
    """Darkens what lies outside a round-cornered frame, as on old plates, in place."""
    height, width = ground.shape[:2]
    margin = rng.uniform(-0.12, 0.04, 4)
    left, top = int(margin[0] * width), int(margin[1] * height)
    right, bottom = int((1 - margin[2]) * width), int((1 - margin[3]) * height)
    radius = int(rng.uniform(0.05, 0.3) * min(height, width))
    frame = np.zeros((height, width), dtype=np.uint8)
    cv2.rectangle(frame, (left + radius, top), (right - radius, bottom), 1, -1)
    cv2.rectangle(frame, (left, top + radius), (right, bottom - radius), 1, -1)
    for x in (left + radius, right - radius):
        for y in (top + radius, bottom - radius):
            cv2.circle(frame, (x, y), radius, 1, -1)
    ground[frame == 0] = rng.uniform(0, 50) if rng.random() < 0.8 else rng.uniform(180, 255)


def _noise(rng: np.random.Generator, size: tuple[int, int], cells: tuple[int, int]) -> np.ndarray:
    coarse = rng.standard_normal(cells, dtype=np.float32)
    return cv2.resize(coarse, (size[1], size[0]), interpolation=cv2.INTER_LINEAR)


def _draw_lines(rng: np.random.Generator, field: np.ndarray, count: int) -> None:
    height, width = field.shape
    for _ in range(count):
        ends = rng.uniform(-0.2, 1.2, (2, 2)) * [width, height]
        start, stop = (tuple(int(v) for v in end) for end in ends)
        cv2.line(field, start, stop, float(rng.normal(0, 40)), int(rng.integers(1, 7)))
