"""Light on parts and what a camera does to a picture: shading, uneven light, blur, grain, grey
film, sharpening, compression."""

from __future__ import annotations

from dataclasses import dataclass

import cv2
import numpy as np


@dataclass(frozen=True, slots=True)
class Light:
    """One far lamp and the light from all sides.

    Attributes:
        direction: unit vector (x, y, z) from the scene to the lamp; z towards the camera.
        ambient: share of light from all sides.
        relief: factor of all slopes; photographs of coins exaggerate them.
        shadow: darkness of cast shadows, 0..1.
        shadow_reach: px a shadow is shifted for a part of radius 1 px.
        halo: darkness of the contact shadow all round, 0..1.
    """

    direction: tuple[float, float, float]
    ambient: float
    relief: float
    shadow: float
    shadow_reach: float
    halo: float


def random_light(rng: np.random.Generator) -> Light:
    """A lamp somewhere above the scene."""
    azimuth, slope = rng.uniform(0, 2 * np.pi), rng.uniform(0.25, 1.2)
    flat = float(np.sin(slope))
    return Light(
        direction=(
            flat * float(np.cos(azimuth)),
            flat * float(np.sin(azimuth)),
            float(np.cos(slope)),
        ),
        ambient=float(rng.uniform(0.15, 0.7)),
        relief=float(rng.uniform(0.6, 2.5)),
        shadow=float(rng.choice([0.0, 0.3, 0.6])) * float(rng.uniform(0.4, 1.2)),
        shadow_reach=float(rng.uniform(0.03, 0.25)),
        halo=float(rng.choice([0.0, 0.25, 0.5])) * float(rng.uniform(0.5, 1.2)),
    )


def shade(height: np.ndarray, gloss: float, light: Light) -> tuple[np.ndarray, np.ndarray]:
    """Diffuse factor and highlight of a height map.

    Args:
        height: (h, w) float32 px.
        gloss: strength of the highlight, 0..1.
        light: the lamp.

    Returns:
        (h, w) float32 factor that is near 1 on flat ground, and (h, w) float32 highlight 0..255.
    """
    # A Sobel kernel of 3 sums to 8 times the slope.
    factor = light.relief / 8
    slope_x = cv2.Sobel(height, cv2.CV_32F, 1, 0, ksize=3, scale=factor)
    slope_y = cv2.Sobel(height, cv2.CV_32F, 0, 1, ksize=3, scale=factor)
    x, y, z = (np.float32(value) for value in light.direction)
    length = np.sqrt(slope_x * slope_x + slope_y * slope_y + np.float32(1))
    lambert = np.maximum((z - x * slope_x - y * slope_y) / length, 0)
    ambient = np.float32(light.ambient)
    diffuse = ambient + (1 - ambient) * lambert / z
    # Highlights where the surface faces half-way between lamp and camera.
    half_z = np.sqrt((1 + z) / 2)
    facing = (half_z - (x * slope_x + y * slope_y) / (2 * half_z)) / length
    highlight = np.maximum(facing, 0) ** 24 * np.float32(gloss * 120)
    return np.minimum(diffuse, np.float32(2.2)), highlight


def uneven_light(rng: np.random.Generator, size: tuple[int, int]) -> np.ndarray:
    """(H, W) float32 factor: a slope and spots of light."""
    height, width = size
    coarse = rng.standard_normal((2, 2)).astype(np.float32) * np.float32(rng.uniform(0, 0.3))
    finer = rng.standard_normal((4, 4)).astype(np.float32) * np.float32(rng.uniform(0, 0.12))
    field = cv2.resize(coarse, (width, height), interpolation=cv2.INTER_LINEAR)
    field = field + cv2.resize(finer, (width, height), interpolation=cv2.INTER_CUBIC)
    return np.clip(1 + field, 0.25, 1.8)


def take_photograph(
    rng: np.random.Generator, scene: np.ndarray, light_field: np.ndarray | None, grey: bool
) -> np.ndarray:
    """What a camera makes of a scene: (H, W, 3) uint8 BGR.

    Args:
        rng: source of all choices.
        scene: (H, W, 3) float32 BGR 0..255.
        light_field: (H, W) float32 factor of the light, even light when None.
        grey: whether it is a black-and-white photograph.
    """
    if grey:
        weights = np.array([[0.114, 0.587, 0.299]], dtype=np.float32)
        scene = cv2.transform(scene, weights)
    if light_field is not None:
        scene = scene * _like(light_field, scene)
    if rng.random() < 0.4:
        scene = cv2.GaussianBlur(scene, (0, 0), float(rng.uniform(0.3, 1.1)))
    if rng.random() < (0.55 if grey else 0.2):
        # Sharpening as scanners and darkrooms do it: bright and dark seams along edges.
        broad = cv2.GaussianBlur(scene, (0, 0), float(rng.uniform(0.8, 4.0)))
        amount = np.float32(rng.uniform(0.2, 1.3))
        scene = cv2.addWeighted(scene, 1 + float(amount), broad, -float(amount), 0)
    if rng.random() < 0.6:
        gain, offset = float(rng.uniform(0.7, 1.3)), float(rng.uniform(-30, 30))
        scene = scene * np.float32(gain) + np.float32(offset)
    sigma = float(rng.choice([0.0, 1.0, 1.0, 2.0])) * float(rng.uniform(0.5, 5.0))
    if sigma > 0.3:
        height, width = scene.shape[:2]
        grain = rng.standard_normal((height, width), dtype=np.float32)
        if rng.random() < 0.3:
            grain = cv2.GaussianBlur(grain, (0, 0), 0.8) * np.float32(2)
        scene = scene + _like(grain * np.float32(sigma), scene)
    picture = np.clip(scene, 0, 255).astype(np.uint8)
    if rng.random() < 0.2:
        gamma = float(rng.uniform(0.6, 1.6))
        table = (np.linspace(0, 1, 256) ** gamma * 255).astype(np.uint8)
        picture = cv2.LUT(picture, table)
    if rng.random() < 0.3:
        quality = [cv2.IMWRITE_JPEG_QUALITY, int(rng.integers(45, 96))]
        code = cv2.imencode(".jpg", picture, quality)[1]
        picture = cv2.imdecode(code, cv2.IMREAD_UNCHANGED)
    if grey:
        picture = cv2.cvtColor(picture, cv2.COLOR_GRAY2BGR)
    return picture


def _like(values: np.ndarray, picture: np.ndarray) -> np.ndarray:
    """(H, W) values for each channel of the picture; numpy is slow on a last axis of 3."""
    return values if picture.ndim == 2 else cv2.merge([values, values, values])
