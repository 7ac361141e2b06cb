"""Distance of two objects along an axis. Knows no manifest."""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal

import numpy as np
from numpy.typing import NDArray

from blocks.kinds.detections import keys
from blocks.kinds.detections.boxes import as_boxes
from blocks.parameters import number
from execution_engine.errors import InvalidFieldValueError

if TYPE_CHECKING:
    import supervision as sv

Axis = Literal["horizontal", "vertical"]

_EDGES = {"horizontal": (0, 2), "vertical": (1, 3)}


def gap_px(first: NDArray[np.float64], second: NDArray[np.float64], axis: Axis) -> float:
    """Distance between two boxes (4,) xyxy along an axis, px; 0 when they share a part of it.

    Raises:
        ValueError: the axis is not known.
    """
    if axis not in _EDGES:
        raise InvalidFieldValueError(
            f"`reference_axis` must be horizontal or vertical, got {axis!r:.60}"
        )
    low, high = _EDGES[axis]
    return max(0.0, float(max(first[low], second[low]) - min(first[high], second[high])))


def box_of(detections: sv.Detections, class_name: str, field: str, rank: int = 0) -> NDArray:
    """(4,) xyxy of the most confident detection of a class, of equals the first.

    Args:
        detections: n rows.
        class_name: its class.
        field: the field that names the class, for the message.
        rank: how many more confident ones to pass over.

    Raises:
        ValueError: there are not enough detections of the class.
    """
    names = detections.data.get(keys.CLASS_NAME, [])
    rows = np.array([row for row, name in enumerate(names) if str(name) == class_name], np.int64)
    if len(rows) <= rank:
        known = ", ".join(sorted({str(name) for name in names})) or "none"
        raise InvalidFieldValueError(
            f"`{field}`: {rank + 1} detection(s) of class {class_name!r} are needed, there are "
            f"{len(rows)}; classes detected: {known}"
        )
    if detections.confidence is not None:
        rows = rows[np.argsort(-detections.confidence[rows], kind="stable")]
    return as_boxes(detections.xyxy)[rows[rank]]


def pixels_per_cm(box: NDArray[np.float64], width_cm: float, height_cm: float) -> float:
    """Mean of the px of one cm along both sides of an object of known size.

    Raises:
        ValueError: the size or the box has no extent.
    """
    width_cm, height_cm = (
        number(name, value)
        for name, value in (("reference_width", width_cm), ("reference_height", height_cm))
    )
    if not (width_cm > 0 and height_cm > 0):
        raise InvalidFieldValueError(
            f"`reference_width` and `reference_height` must be positive, got {width_cm!r} and "
            f"{height_cm!r}"
        )
    width, height = (box[2:] - box[:2]).tolist()
    ratio = (width / width_cm + height / height_cm) / 2
    if not ratio > 0:
        raise InvalidFieldValueError(
            f"the box of the reference object has no extent: {box.tolist()}"
        )
    return ratio
