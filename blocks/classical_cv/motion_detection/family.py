"""From foreground to moving regions. Knows no manifest, no video and no version."""

from __future__ import annotations

import json
from typing import Any, NamedTuple

import cv2
import numpy as np
from numpy.typing import NDArray

from blocks.parameters import MOST_PIXELS_ACROSS, check_work, number, whole_number
from blocks.visualizations.zone_points import read_polygons
from execution_engine.errors import InvalidFieldValueError
from execution_engine.value_text import short_text

COARSENESS = 0.005
"""How far an outline may be from the region it stands for, as a part of its length."""
LARGEST_AREA = 2**53


class Regions(NamedTuple):
    """Moving regions of a frame, from top to bottom.

    Attributes:
        boxes: (n, 4) float32 xyxy px, from the first pixel to behind the last.
        outlines: n lists of at least three points [x, y], px.
    """

    boxes: NDArray[np.float32]
    outlines: list[list[list[int]]]


def moving_regions(
    foreground: NDArray[np.uint8], minimum_area: float, kernel_size: int, zone: Any
) -> Regions:
    """The connected regions of foreground.

    Specks smaller than the kernel are left out and gaps smaller than it closed.

    Args:
        foreground: (h, w) 0 or 255.
        minimum_area: smallest area inside of an outline that counts, px^2.
        kernel_size: side of the round kernel, px.
        zone: where regions count; a polygon, several, either as JSON text, or None for all of the
            frame.

    Raises:
        InvalidFieldValueError: a number is out of range, or the zone is none.
    """
    least = number("minimum_contour_area", minimum_area, 0, LARGEST_AREA)
    side = whole_number("morphological_kernel_size", kernel_size, 1, MOST_PIXELS_ACROSS)
    check_work("morphological_kernel_size", foreground.size, side**2)
    polygons = zone_of(zone)
    kernel = cv2.getStructuringElement(cv2.MORPH_ELLIPSE, (side, side))
    cleaned = cv2.morphologyEx(foreground, cv2.MORPH_OPEN, kernel)
    cleaned = cv2.morphologyEx(cleaned, cv2.MORPH_CLOSE, kernel)
    if polygons:
        cleaned = cv2.bitwise_and(cleaned, _filled(polygons, cleaned.shape))
    contours, _ = cv2.findContours(cleaned, cv2.RETR_EXTERNAL, cv2.CHAIN_APPROX_SIMPLE)
    kept = [
        (tuple(cv2.boundingRect(contour)), np.asarray(contour, np.int32))
        for contour in contours
        if cv2.contourArea(contour) >= least
    ]
    kept.sort(key=lambda region: (region[0][1], region[0][0]))
    boxes = np.array([rectangle for rectangle, _ in kept], np.float32).reshape(-1, 4)
    boxes[:, 2:] += boxes[:, :2]
    return Regions(boxes, [_outline(contour, rectangle) for rectangle, contour in kept])


def zone_of(value: Any) -> list[NDArray[np.int32]]:
    """Polygons (k, 2) px of a zone; none where the whole frame counts.

    Args:
        value: a polygon, several, either as JSON text, or None or nothing for all of the frame.

    Raises:
        InvalidFieldValueError: it is none of these.
    """
    if isinstance(value, str) and value.strip():
        try:
            value = json.loads(value)
        except (ValueError, RecursionError) as error:
            raise InvalidFieldValueError(
                "Field `detection_zone` must be a list of points (x, y) or such a list as JSON "
                f"text, got {short_text(value)}."
            ) from error
    if value is None or (isinstance(value, str) and not value.strip()):
        return []
    if isinstance(value, (list, tuple, np.ndarray)) and len(value) == 0:
        return []
    return read_polygons("detection_zone", value)


def _filled(polygons: list[NDArray[np.int32]], shape: tuple[int, ...]) -> NDArray[np.uint8]:
    """(h, w) 255 inside of any polygon; one by one, as fillPoly leaves overlaps out."""
    canvas = np.zeros(shape[:2], np.uint8)
    for polygon in polygons:
        cv2.fillPoly(canvas, [polygon], 255)
    return canvas


def _outline(contour: NDArray[np.int32], rectangle: tuple[int, ...]) -> list[list[int]]:
    tolerance = COARSENESS * cv2.arcLength(contour, True)
    points = cv2.approxPolyDP(contour, tolerance, True).reshape(-1, 2)
    if len(points) >= 3:
        return [[int(x), int(y)] for x, y in points]
    left, top, width, height = rectangle
    right, bottom = left + width, top + height
    return [[left, top], [right, top], [right, bottom], [left, bottom]]
