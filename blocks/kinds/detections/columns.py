"""Looking into detections and making changed copies of them: columns, rows, copies."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from blocks.kinds.detections.lineage import keep_image_level

if TYPE_CHECKING:
    import supervision as sv

_FIELDS = ("xyxy", "mask", "confidence", "class_id", "tracker_id")

_CORNERS = {
    "top_left": (0, 1),
    "top_right": (2, 1),
    "bottom_left": (0, 3),
    "bottom_right": (2, 3),
}
_EDGES = {"x_min": 0, "y_min": 1, "x_max": 2, "y_max": 3}
_OF_BOXES = {"xyxy", "center", "size", *_EDGES, *_CORNERS}


def column(detections: sv.Detections, name: str) -> Any:
    """One entry a row of a property.

    Args:
        detections: n rows.
        name: `xyxy` (n, 4) px; `confidence`, `class_id`, `tracker_id`, `x_min`, `y_min`, `x_max`,
            `y_max` and `size` (area of the box, px^2) (n,); `center`, `top_left`, `top_right`,
            `bottom_left`, `bottom_right` (n, 2) px, not rounded; or a key of the data columns
            (`class_name`, `polygon`, `time_in_zone`, ...).

    Raises:
        KeyError: the detections do not have the property.
    """
    return property_of(lambda field: getattr(detections, field), detections.data, name)


def property_of(
    field: Callable[[str], NDArray[Any] | None], data: Mapping[str, Any], name: str
) -> Any:
    """One entry a row of a property, as `column` gives it.

    Args:
        field: gives `xyxy`, `confidence`, `class_id` or `tracker_id`, None where there is none.
        data: the other columns.
        name: the property.
    """
    if name in ("confidence", "class_id", "tracker_id"):
        values = field(name)
        if values is None:
            raise KeyError(name)
        return values
    if name in data and name not in _OF_BOXES:
        return data[name]
    boxes = np.asarray(field("xyxy"))
    if name == "xyxy":
        return boxes
    if name in _EDGES:
        return boxes[:, _EDGES[name]]
    if name in _CORNERS:
        return boxes[:, list(_CORNERS[name])]
    if name == "center":
        return (boxes[:, :2] + boxes[:, 2:]) / 2
    if name == "size":
        return (boxes[:, 2] - boxes[:, 0]) * (boxes[:, 3] - boxes[:, 1])
    raise KeyError(name)


def select(detections: sv.Detections, rows: NDArray[Any]) -> sv.Detections:
    """The rows of a boolean mask (n,) or of integer positions, as new detections.

    When no row is left, the metadata hold what was known of the image.
    """
    rows = np.asarray(rows)
    if rows.size == 0 and rows.dtype != np.bool_:
        rows = rows.astype(np.int64)
    return keep_image_level(detections.select(rows), detections)


def with_columns(detections: sv.Detections, columns: Mapping[str, Any]) -> sv.Detections:
    """New detections with columns replaced or added; the other columns are shared.

    Args:
        detections: n rows.
        columns: values of length n by `xyxy`, `mask`, `confidence`, `class_id`, `tracker_id` or the
            name of a data column.

    Raises:
        ValueError: a column has another length.
    """
    import supervision as sv

    fields = {name: columns.get(name, getattr(detections, name)) for name in _FIELDS}
    data = dict(detections.data)
    for name, values in columns.items():
        if name not in _FIELDS:
            data[name] = values if isinstance(values, (np.ndarray, list)) else np.asarray(values)
    return sv.Detections(**fields, data=data, metadata=dict(detections.metadata))


def copy_of(detections: sv.Detections) -> sv.Detections:
    """Detections that share no writable memory with the given ones."""
    import supervision as sv

    fields = {name: _copied(getattr(detections, name)) for name in _FIELDS}
    return sv.Detections(
        **fields,
        data={key: _copied(values) for key, values in detections.data.items()},
        metadata={key: _copied(values) for key, values in detections.metadata.items()},
    )


def _copied(values: Any) -> Any:
    if isinstance(values, np.ndarray):
        if values.dtype != object:
            return values.copy()
        result = np.empty(values.shape, dtype=object)
        flat = result.reshape(-1)
        for index, item in enumerate(values.reshape(-1)):
            flat[index] = _copied(item)
        return result
    if isinstance(values, dict):
        return {key: _copied(item) for key, item in values.items()}
    if isinstance(values, (list, tuple)):
        return type(values)(_copied(item) for item in values)
    if hasattr(values, "image_shape") and hasattr(values, "with_offset"):
        return type(values)(
            [lengths.copy() for lengths in values._rles],
            values._crop_shapes.copy(),
            values._offsets.copy(),
            values.image_shape,
        )
    return values
