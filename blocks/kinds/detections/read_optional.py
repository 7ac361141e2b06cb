"""Optional members of prediction rows in JSON: keypoints, outlines, measurements."""

from __future__ import annotations

from collections.abc import Sequence
from numbers import Real
from typing import Any

import numpy as np

from blocks.kinds.detections import keys
from blocks.kinds.detections.row_members import Row, checked, is_pair


def read_keypoints(name: str, rows: Sequence[Row], data: dict[str, Any]) -> None:
    """Columns (n, k, 2) and (n, k), padded to the row with most keypoints."""
    if not any("keypoints" in row for row in rows):
        return
    lists = [row.get("keypoints") or [] for row in rows]
    slots = max(map(len, lists))
    shape = (len(rows), slots)
    points = np.zeros((*shape, 2), np.float32)
    class_ids = np.zeros(shape, np.int64)
    confidences = np.zeros(shape, np.float64)
    # An empty name marks a slot that only pads the row.
    names = [[""] * slots for _ in rows]
    for index, keypoints in enumerate(lists):
        for slot, keypoint in enumerate(keypoints):
            try:
                points[index, slot] = _number(keypoint["x"]), _number(keypoint["y"])
                confidences[index, slot] = _number(keypoint["confidence"])
                class_ids[index, slot] = keypoint["class_id"]
                names[index][slot] = str(keypoint["class"])
            except (KeyError, TypeError, ValueError) as error:
                raise ValueError(
                    f"`{name}.predictions[{index}].keypoints[{slot}]` must have numbers x, y, "
                    f"confidence, class_id and text class: {error!r}"
                ) from error
    data[keys.KEYPOINTS_XY] = points
    data[keys.KEYPOINTS_CLASS_ID] = class_ids
    data[keys.KEYPOINTS_CLASS_NAME] = np.array(names, dtype=str).reshape(shape)
    data[keys.KEYPOINTS_CONFIDENCE] = confidences


def _number(value: Any) -> Any:
    """The value, NaN for null."""
    return np.nan if value is None else value


def read_outlines(name: str, rows: Sequence[Row], data: dict[str, Any]) -> None:
    """Polygons and turned rectangles, (k, 2) px a row, None where a row has none."""
    for key in (keys.POLYGON, keys.RECT):
        if not any(row.get(key) is not None for row in rows):
            continue
        column = np.empty(len(rows), dtype=object)
        for index, row in enumerate(rows):
            if row.get(key) is not None:
                try:
                    column[index] = np.asarray(row[key]).reshape(-1, 2)
                except ValueError as error:
                    raise ValueError(
                        f"`{name}.predictions[{index}].{key}` must be pairs of numbers: {error}"
                    ) from error
        data[key] = column


def read_measurements(name: str, rows: Sequence[Row], data: dict[str, Any]) -> None:
    """Numbers, vectors and decoded text, NaN or None where a row has none."""
    single = list(keys.MEASUREMENTS)
    if any(keys.RECT in row or keys.ANGLE in row for row in rows):
        # Only then do width and height speak of the turned rectangle.
        single += [keys.WIDTH, keys.HEIGHT, keys.ANGLE]
    for key in single:
        if any(key in row for row in rows):
            values = [float("nan") if row.get(key) is None else row[key] for row in rows]
            checked(name, key, values, lambda value: isinstance(value, Real), "a number")
            data[key] = np.array(values, dtype=np.float64)
    for key in keys.VECTORS:
        if any(key in row for row in rows):
            values = [(np.nan, np.nan) if row.get(key) is None else row[key] for row in rows]
            checked(name, key, values, is_pair, "a pair of numbers")
            data[key] = np.array(values, dtype=np.float64)
    if any(keys.DECODED_TEXT in row for row in rows):
        values = [row.get(keys.DECODED_TEXT) for row in rows]
        is_text = all(isinstance(value, str) for value in values)
        data[keys.DECODED_TEXT] = (
            np.array(values, dtype=str) if is_text else np.fromiter(values, object, len(values))
        )
