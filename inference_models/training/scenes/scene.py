"""What a generator gives: a picture and the exact annotation of every object in it. No drawing
happens here."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import cv2
import numpy as np

from inference_models.masks import InstanceMasks
from inference_models.masks.rle import encode_masks


@dataclass(frozen=True, slots=True)
class Scene:
    """One generated picture and its objects, n of them, in drawing order (later ones lie on top).

    Attributes:
        image: (H, W, 3) uint8 BGR.
        class_ids: (n,) int64 index into the generator's class names.
        boxes: (n, 4) float32 xyxy px round the visible pixels; right and bottom edges exclusive.
        instance_map: (H, W) uint8, 0 for background, i + 1 where object i is the topmost one.
        rotated_boxes: (n, 5) float32 (cx, cy, w, h, radians) round the whole object.
        keypoints: (n, K, 2) float32 xy px; the generator says what each of the K points means.
        keypoint_visibility: (n, K) int64: 0 the object has no such point, 1 covered or outside the
            picture, 2 visible.
    """

    image: np.ndarray
    class_ids: np.ndarray
    boxes: np.ndarray
    instance_map: np.ndarray
    rotated_boxes: np.ndarray
    keypoints: np.ndarray
    keypoint_visibility: np.ndarray

    def __len__(self) -> int:
        return len(self.class_ids)

    @property
    def masks(self) -> np.ndarray:
        """(n, H, W) bool masks of the visible pixels."""
        numbers = np.arange(1, len(self) + 1, dtype=np.uint8)
        return self.instance_map[None] == numbers[:, None, None]

    def to_coco(self, image_id: int, first_annotation_id: int) -> list[dict[str, Any]]:
        """COCO annotations with masks as run lengths; category ids start at 1."""
        annotations = []
        carrier = InstanceMasks.from_dense(self.masks)
        areas = carrier.areas
        for index, code in enumerate(encode_masks(carrier)):
            x0, y0, x1, y1 = (float(value) for value in self.boxes[index])
            points = np.concatenate(
                [self.keypoints[index], self.keypoint_visibility[index][:, None]], axis=1
            )
            annotations.append(
                {
                    "id": first_annotation_id + index,
                    "image_id": image_id,
                    "category_id": int(self.class_ids[index]) + 1,
                    "bbox": [x0, y0, x1 - x0, y1 - y0],
                    "area": float(areas[index]),
                    "segmentation": code,
                    "rotated_box": [float(value) for value in self.rotated_boxes[index]],
                    "keypoints": [float(value) for value in points.ravel()],
                    "iscrowd": 0,
                }
            )
        return annotations


@dataclass(frozen=True, slots=True)
class DrawnObject:
    """One object as drawn, before it is known what later objects hide.

    Attributes:
        class_id: index into the class names.
        rotated_box: (cx, cy, w, h, radians) round the whole object.
        keypoints: (K, 2) float xy px.
        has_keypoint: (K,) bool.
        pixels: count of its pixels inside the picture, nothing hidden.
    """

    class_id: int
    rotated_box: tuple[float, float, float, float, float]
    keypoints: np.ndarray
    has_keypoint: np.ndarray
    pixels: int


def collect_scene(
    image: np.ndarray,
    instance_map: np.ndarray,
    objects: list[DrawnObject],
    keypoint_count: int,
    min_visible: float,
    min_pixels: int = 24,
) -> Scene:
    """The scene of what is still visible after all objects were drawn.

    Objects of which less than the fraction `min_visible` or fewer than `min_pixels` can be seen get
    no annotation: they become part of the background.

    Args:
        image: (H, W, 3) uint8 BGR.
        instance_map: (H, W) uint8, i + 1 where objects[i] is on top.
        objects: what was drawn.
        keypoint_count: K.
        min_visible: lowest visible fraction, 0..1.
        min_pixels: lowest count of visible pixels.
    """
    counts = np.bincount(instance_map.ravel(), minlength=len(objects) + 1)[1:]
    kept = [
        index
        for index, item in enumerate(objects)
        if counts[index] >= max(min_pixels, min_visible * item.pixels)
    ]
    renumber = np.zeros(len(objects) + 1, dtype=np.uint8)
    renumber[np.asarray(kept, dtype=np.int64) + 1] = np.arange(1, len(kept) + 1, dtype=np.uint8)
    instance_map = renumber[instance_map]
    n = len(kept)
    boxes = np.zeros((n, 4), dtype=np.float32)
    for row in range(n):
        x, y, w, h = cv2.boundingRect((instance_map == row + 1).view(np.uint8))
        boxes[row] = (x, y, x + w, y + h)
    keypoints = np.zeros((n, keypoint_count, 2), dtype=np.float32)
    visibility = np.zeros((n, keypoint_count), dtype=np.int64)
    height, width = instance_map.shape
    for row, index in enumerate(kept):
        item = objects[index]
        keypoints[row] = item.keypoints
        for k in np.flatnonzero(item.has_keypoint):
            column, line = (int(np.floor(value)) for value in item.keypoints[k])
            inside = 0 <= column < width and 0 <= line < height
            # A point may lie in a hole of its object; only another object on top hides it.
            on_top = inside and instance_map[line, column] in (0, row + 1)
            visibility[row, k] = 2 if on_top else 1
    return Scene(
        image=image,
        class_ids=np.array([objects[i].class_id for i in kept], dtype=np.int64),
        boxes=boxes,
        instance_map=instance_map,
        rotated_boxes=np.array([objects[i].rotated_box for i in kept], dtype=np.float32).reshape(
            n, 5
        ),
        keypoints=keypoints,
        keypoint_visibility=visibility,
    )
