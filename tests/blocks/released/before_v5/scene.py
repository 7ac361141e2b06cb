"""The picture that the old workflow files were run on, and the form their results are kept in. Runs
nothing: the results were recorded with the code before version 5.

    recorded at 27c9268..058f4c3^: for each file, family and scene,
    `shortened(run_locally(file, {"image": scene, "model": family}, serialize=True))`
"""

from __future__ import annotations

import hashlib
from typing import Any

import cv2
import numpy as np

MASKED = ("inference_id", "detection_id", "parent_id", "root_parent_id")


def shapes(size: tuple[int, int]) -> np.ndarray:
    """(h, w, 3) BGR: a red ellipse, a green ring and a blue star with a hard edge on black."""
    height, width = size
    image = np.zeros((height, width, 3), np.uint8)
    unit = min(size)
    cv2.ellipse(
        image, (width // 4, height // 3), (unit // 5, unit // 7), 25, 0, 360, (0, 0, 255), -1
    )
    cv2.circle(image, (width * 7 // 10, height // 3), unit // 5, (0, 255, 0), unit // 12)
    turns = np.arange(10) * np.pi / 5
    reach = np.where(np.arange(10) % 2, 0.11, 0.24) * unit
    star = np.stack([np.sin(turns), -np.cos(turns)], 1) * reach[:, None]
    star += [width * 0.45, height * 0.72]
    cv2.fillPoly(image, [np.rint(star).astype(np.int32)], (255, 0, 0))
    return image


SCENES = {
    "shapes": shapes((301, 411)),
    "thin": shapes((64, 400)),
    "nothing": np.zeros((90, 130, 3), np.uint8),
}


def shortened(value: Any) -> Any:
    """The JSON with ids masked, numbers at six digits, outlines as number of points and hash."""
    if isinstance(value, dict):
        return {
            key: "*" if key in MASKED else _outline(item) if key == "points" else shortened(item)
            for key, item in value.items()
        }
    if isinstance(value, list):
        return [shortened(item) for item in value]
    return round(value, 6) if isinstance(value, float) else value


def _outline(points: list[dict[str, float]]) -> dict[str, Any]:
    text = ";".join(f"{point['x']:g},{point['y']:g}" for point in points)
    return {"count": len(points), "sha1": hashlib.sha1(text.encode()).hexdigest()}
