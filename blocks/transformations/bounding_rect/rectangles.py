"""The smallest turned rectangle around each mask. Knows no manifest."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import cv2
import numpy as np
from numpy.typing import NDArray

from blocks.kinds.detections import keys
from blocks.kinds.detections.columns import with_columns
from blocks.kinds.detections.masks import instance_masks, mask_fields
from execution_engine.errors import InvalidFieldValueError
from inference_models.masks import InstanceMasks, largest_polygons, masks_from_polygons

if TYPE_CHECKING:
    import supervision as sv

Rectangle = tuple[NDArray[np.float32], float, float, float]
"""Corners (4, 2) x, y px, width and height px, angle in degrees."""


def with_rectangles(detections: sv.Detections) -> sv.Detections:
    """The detections with the smallest turned rectangle around the largest part of their masks.

    Adds the columns `rect` (4, 2) corners x, y px, `width`, `height` px and `angle`, the degrees
    from the x axis (clockwise on the screen, 0 <= angle < 90) to the side that is the width. Box
    and mask become those of the rectangle. A mask without pixels stays as it is and has its box as
    rectangle.

    Args:
        detections: n rows; not changed.

    Raises:
        ValueError: there are rows but no masks.
    """
    masks = instance_masks(detections)
    if masks is None:
        if len(detections):
            raise InvalidFieldValueError(
                "a bounding rectangle is that of a mask, and the detections carry neither `mask` "
                f"nor `{keys.RLE_MASK}`"
            )
        return with_columns(detections, _columns([], detections.xyxy))
    rectangles = [
        _around(polygon) if len(polygon) else _of_box(box)
        for polygon, box in zip(
            largest_polygons(masks).polygons, detections.xyxy.tolist(), strict=True
        )
    ]
    filled = masks.areas > 0
    boxes = np.array(detections.xyxy, dtype=np.float32)
    for row in np.flatnonzero(filled):
        corners = rectangles[row][0]
        boxes[row] = [*corners.min(axis=0), *corners.max(axis=0)]
    mask, mask_columns = mask_fields(
        _filled(rectangles, filled, masks), keys.RLE_MASK in detections.data
    )
    columns = {**_columns(rectangles, boxes), "mask": mask, **mask_columns}
    if keys.POLYGON in detections.data:
        columns[keys.POLYGON] = columns[keys.RECT]
    return with_columns(detections, columns)


def _around(polygon: NDArray[np.float32]) -> Rectangle:
    centre, (width, height), angle = cv2.minAreaRect(polygon)
    # Releases of OpenCV differ in the range of the angle, and so in which side is the width.
    quarters, angle = divmod(angle, 90)
    if quarters % 2:
        width, height = height, width
    corners = np.asarray(cv2.boxPoints((centre, (width, height), angle)), dtype=np.float32)
    return corners, float(width), float(height), float(angle)


def _of_box(box: list[float]) -> Rectangle:
    left, top, right, bottom = box
    corners = np.array([[left, top], [right, top], [right, bottom], [left, bottom]], np.float32)
    return corners, right - left, bottom - top, 0.0


def _filled(
    rectangles: list[Rectangle], rows: NDArray[np.bool_], masks: InstanceMasks
) -> InstanceMasks:
    """The rectangles as masks, nothing where a row is not to be filled."""
    outlines = [
        [np.round(corners)] if fill else []
        for (corners, *_), fill in zip(rectangles, rows, strict=True)
    ]
    return masks_from_polygons(outlines, masks.image_size)


def _columns(rectangles: list[Rectangle], boxes: NDArray[Any]) -> dict[str, Any]:
    corners = np.empty(len(rectangles), dtype=object)
    for row, rectangle in enumerate(rectangles):
        corners[row] = rectangle[0]
    numbers = np.array([rest for _, *rest in rectangles], dtype=np.float64).reshape(-1, 3)
    return {
        "xyxy": boxes,
        keys.RECT: corners,
        keys.WIDTH: numbers[:, 0],
        keys.HEIGHT: numbers[:, 1],
        keys.ANGLE: numbers[:, 2],
    }
