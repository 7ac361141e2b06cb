"""What is written beside detections. Draws nothing."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any, Literal

import numpy as np

from blocks.kinds.detections import keys
from blocks.parameters import choice

if TYPE_CHECKING:
    import supervision as sv

LabelText = Literal[
    "Class", "Confidence", "Class and Confidence", "Index", "Dimensions", "Area", "Area (mask)",
    "Area (converted)", "Tracker Id", "Time In Zone",
]  # fmt: skip

NOT_KNOWN = "N/A"


def label_texts(detections: sv.Detections, text: str) -> list[str]:
    """One label a row; what the detections do not know is written as `N/A`.

    Args:
        detections: n rows. For `Area`, masks are counted where there are some.
        text: a name of `LabelText`.

    Raises:
        ValueError: there is no such text.
    """
    return choice("text", text, _TEXTS)(detections)


def _classes(detections: sv.Detections) -> list[str]:
    names = detections.data.get(keys.CLASS_NAME)
    if names is None:
        names = detections.class_id
    return _nothing(detections) if names is None else [str(name) for name in names]


def _confidences(detections: sv.Detections) -> list[str]:
    return _numbers(detections, detections.confidence, "{:.2f}".format)


def _classes_and_confidences(detections: sv.Detections) -> list[str]:
    pairs = zip(_classes(detections), _confidences(detections), strict=True)
    return [f"{name} {confidence}" for name, confidence in pairs]


def _indices(detections: sv.Detections) -> list[str]:
    return [str(index) for index in range(len(detections))]


def _dimensions(detections: sv.Detections) -> list[str]:
    texts = []
    for x0, y0, x1, y1 in np.asarray(detections.xyxy, np.float64).tolist():
        centre = f"{int((x0 + x1) / 2)}, {int((y0 + y1) / 2)}"
        texts.append(f"{centre} {int(x1 - x0)}x{int(y1 - y0)}")
    return texts


def _areas(detections: sv.Detections) -> list[str]:
    return [str(int(area)) for area in detections.area]


def _mask_areas(detections: sv.Detections) -> list[str]:
    return _numbers(detections, detections.data.get("area_px"), _short)


def _converted_areas(detections: sv.Detections) -> list[str]:
    return _numbers(detections, detections.data.get("area_converted"), _short)


def _tracker_ids(detections: sv.Detections) -> list[str]:
    ids = detections.tracker_id
    return ["No Tracker ID"] * len(detections) if ids is None else [str(item) for item in ids]


def _times_in_zone(detections: sv.Detections) -> list[str]:
    seconds = _numbers(detections, detections.data.get("time_in_zone"), "{:.2f}s".format)
    return [f"In zone: {text}" for text in seconds]


def _numbers(detections: sv.Detections, column: Any, write: Callable[[float], str]) -> list[str]:
    if column is None:
        return _nothing(detections)
    return [
        NOT_KNOWN if value is None or not np.isfinite(value) else write(float(value))
        for value in column
    ]


def _nothing(detections: sv.Detections) -> list[str]:
    return [NOT_KNOWN] * len(detections)


def _short(value: float) -> str:
    return str(int(value)) if value.is_integer() else f"{value:.2f}"


_TEXTS: dict[str, Callable[[Any], list[str]]] = {
    "Class": _classes,
    "Confidence": _confidences,
    "Class and Confidence": _classes_and_confidences,
    "Index": _indices,
    "Dimensions": _dimensions,
    "Area": _areas,
    "Area (mask)": _mask_areas,
    "Area (converted)": _converted_areas,
    "Tracker Id": _tracker_ids,
    "Time In Zone": _times_in_zone,
}
