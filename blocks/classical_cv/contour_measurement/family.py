"""Measuring outlines and drawing them with their numbers. Finding outlines is the business of
contours_detection.
"""

from __future__ import annotations

from dataclasses import dataclass

import cv2
import numpy as np

from execution_engine.errors import InvalidFieldValueError

OUTLINE_BGR = (80, 220, 60)
LABEL_BGR = (255, 255, 255)
LABEL_BACK_BGR = (40, 40, 40)


@dataclass(frozen=True, slots=True)
class ContourMeasures:
    """Measures of a set of outlines, all lists of equal length.

    Attributes:
        contours: the outlines, (n, 1, 2) int32 points (x, y) px.
        areas: enclosed areas, px².
        perimeters: lengths of the closed outlines, px.
        centers: centroids (x, y), px.
        boxes: upright boxes (x_min, y_min, x_max, y_max), px.
    """

    contours: list[np.ndarray]
    areas: list[float]
    perimeters: list[float]
    centers: list[list[float]]
    boxes: list[list[int]]


def measure_contours(contours: list[np.ndarray], min_area: float) -> ContourMeasures:
    """Measures outlines, leaving out those that enclose less than `min_area` px².

    Args:
        contours: arrays of points (x, y) px, of shape (n, 1, 2) or (n, 2).
        min_area: smallest area that counts; 0 keeps everything, single points too.

    Raises:
        ValueError: the contours are no list, or an outline is no array of points.
    """
    if not isinstance(contours, (list, tuple, np.ndarray)):
        raise InvalidFieldValueError(
            f"Field `contours` must be a list of outlines, got {type(contours).__name__}."
        )
    measures = ContourMeasures([], [], [], [], [])
    for number, contour in enumerate(contours):
        points = np.asarray(contour)
        if points.size == 0 or points.size % 2:
            raise InvalidFieldValueError(
                f"Field `contours`: entry {number} must hold points (x, y), got an array of shape "
                f"{points.shape}."
            )
        points = points.reshape(-1, 1, 2).astype(np.int32)
        area = float(cv2.contourArea(points))
        if area < min_area:
            continue
        x, y, width, height = cv2.boundingRect(points)
        moments = cv2.moments(points)
        if moments["m00"] > 0:
            center = [moments["m10"] / moments["m00"], moments["m01"] / moments["m00"]]
        else:
            center = [float(value) for value in points.reshape(-1, 2).mean(axis=0)]
        measures.contours.append(points)
        measures.areas.append(area)
        measures.perimeters.append(float(cv2.arcLength(points, True)))
        measures.centers.append(center)
        measures.boxes.append([x, y, x + width, y + height])
    return measures


def draw_measures(pixels: np.ndarray, measures: ContourMeasures, line_thickness: int) -> np.ndarray:
    """A colour copy of an image with the outlines drawn and numbered from 1.

    Args:
        pixels: (h, w) or (h, w, 3) BGR uint8.
        measures: what to draw.
        line_thickness: px.

    Returns:
        (h, w, 3) BGR uint8.
    """
    canvas = cv2.cvtColor(pixels, cv2.COLOR_GRAY2BGR) if pixels.ndim == 2 else pixels.copy()
    cv2.drawContours(canvas, measures.contours, -1, OUTLINE_BGR, line_thickness, cv2.LINE_AA)
    font = cv2.FONT_HERSHEY_SIMPLEX
    scale = max(0.35, min(canvas.shape[:2]) / 800)
    for number, (x, y) in enumerate(measures.centers, 1):
        (width, height), _ = cv2.getTextSize(str(number), font, scale, 1)
        left, bottom = round(x - width / 2), round(y + height / 2)
        cv2.putText(
            canvas, str(number), (left, bottom), font, scale, LABEL_BACK_BGR, 3, cv2.LINE_AA
        )
        cv2.putText(canvas, str(number), (left, bottom), font, scale, LABEL_BGR, 1, cv2.LINE_AA)
    return canvas
