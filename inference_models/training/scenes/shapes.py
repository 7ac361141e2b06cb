"""Plain filled shapes on a smooth background: the small data set of the quick training tests."""

from __future__ import annotations

import cv2
import numpy as np

from inference_models.training.scenes.scene import DrawnObject, Scene, collect_scene

SHAPE_CLASSES = ("circle", "square", "rectangle", "triangle")
# The centre and up to four corners in the shape's own order.
SHAPE_KEYPOINTS = ("centre", "corner-0", "corner-1", "corner-2", "corner-3")
_MAX_BOX_IOU = 0.3
_CONTRAST = 60


class ShapeScenes:
    """Scenes of 1 to 10 circles, squares, 2:1 rectangles and triangles.

    A scene depends only on the seed and its index, so any subset can be drawn again.

    Args:
        seed: number of the data set.
        size: (height, width) in px.
        sides: range of the longer side in px at 320 px; scaled with the picture.
    """

    class_names = SHAPE_CLASSES
    keypoint_names = SHAPE_KEYPOINTS

    def __init__(
        self,
        seed: int,
        size: tuple[int, int] = (320, 320),
        sides: tuple[float, float] = (20.0, 120.0),
    ) -> None:
        self.seed = seed
        self.size = size
        self.sides = sides

    def scene(self, index: int) -> Scene:
        """Scene number `index`."""
        rng = np.random.default_rng((self.seed, index))
        height, width = self.size
        ground = rng.integers(30, 226, (2, 3))
        image = _smooth_background(rng, height, width, ground)
        instance_map = np.zeros((height, width), dtype=np.uint8)
        objects: list[DrawnObject] = []
        placed = np.zeros((0, 4))
        for _ in range(int(rng.integers(1, 11))):
            shape = _random_shape(rng, self.size, self.sides)
            if shape is None:
                continue
            class_id, outline, rotated_box, corners = shape
            low, high = outline.min(axis=0), outline.max(axis=0)
            box = np.array([*low, *high])
            if len(placed) and _iou(box, placed).max() > _MAX_BOX_IOU:
                continue
            placed = np.vstack([placed, box])
            mask = np.zeros((height, width), dtype=np.uint8)
            # 4 fractional bits keep the outline at a sixteenth of a pixel; pixel centres are whole.
            cv2.fillPoly(mask, [np.rint((outline - 0.5) * 16).astype(np.int32)], 1, shift=4)
            image[mask > 0] = _distinct_colour(rng, ground)
            instance_map[mask > 0] = len(objects) + 1
            points = np.zeros((len(SHAPE_KEYPOINTS), 2))
            present = np.zeros(len(SHAPE_KEYPOINTS), dtype=bool)
            points[0], present[0] = rotated_box[:2], True
            points[1 : 1 + len(corners)] = corners
            present[1 : 1 + len(corners)] = True
            objects.append(DrawnObject(class_id, rotated_box, points, present, int(mask.sum())))
        return collect_scene(image, instance_map, objects, len(SHAPE_KEYPOINTS), min_visible=0.3)


def _smooth_background(
    rng: np.random.Generator, height: int, width: int, ground: np.ndarray
) -> np.ndarray:
    noise = rng.random((6, 6), dtype=np.float32)
    mix = cv2.resize(noise, (width, height), interpolation=cv2.INTER_CUBIC).clip(0, 1)[..., None]
    image = ground[0] * (1 - mix) + ground[1] * mix
    grain = rng.normal(0, 4, (height, width, 1))
    return np.clip(np.rint(image + grain), 0, 255).astype(np.uint8)


def _distinct_colour(rng: np.random.Generator, ground: np.ndarray) -> np.ndarray:
    """A colour that differs by at least 60 in some channel from both colours of the background."""
    while True:
        colour = rng.integers(0, 256, 3)
        if (np.abs(ground - colour).max(axis=1) >= _CONTRAST).all():
            return colour


def _random_shape(
    rng: np.random.Generator, size: tuple[int, int], sides: tuple[float, float]
) -> tuple[int, np.ndarray, tuple[float, float, float, float, float], np.ndarray] | None:
    height, width = size
    class_id = int(rng.integers(len(SHAPE_CLASSES)))
    side = float(rng.uniform(*sides)) * min(size) / 320
    theta = float(rng.uniform(0, 2 * np.pi))
    if class_id == 0:
        angles = np.arange(32) * (2 * np.pi / 32)
        shape = np.stack([np.cos(angles), np.sin(angles)], axis=1) * side / 2
        extent = (side, side)
    elif class_id in (1, 2):
        w, h = side, side if class_id == 1 else side / 2
        shape = np.array([[-w, -h], [w, -h], [w, h], [-w, h]]) / 2
        extent = (w, h)
    else:
        w, h = side, side * np.sqrt(3) / 2
        shape = np.array([[-w / 2, h / 2], [0, -h / 2], [w / 2, h / 2]])
        extent = (w, h)
    cos, sin = np.cos(theta), np.sin(theta)
    turned = shape @ np.array([[cos, sin], [-sin, cos]])
    low, high = turned.min(axis=0), turned.max(axis=0)
    room = np.array([width, height]) - (high - low)
    if (room <= 0).any():
        return None
    centre = rng.uniform(0, 1, 2) * room - low
    outline = turned + centre
    rotated_box = (float(centre[0]), float(centre[1]), float(extent[0]), float(extent[1]), theta)
    return class_id, outline, rotated_box, outline if class_id else outline[:0]


def _iou(box: np.ndarray, others: np.ndarray) -> np.ndarray:
    inner = np.minimum(box[2:], others[:, 2:]) - np.maximum(box[:2], others[:, :2])
    overlap = inner.clip(min=0).prod(axis=1)
    areas = (others[:, 2:] - others[:, :2]).prod(axis=1)
    return overlap / ((box[2:] - box[:2]).prod() + areas - overlap)
