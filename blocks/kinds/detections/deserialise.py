"""Detections from their JSON form. How they are written is in `serialise.py`."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from numbers import Real
from typing import TYPE_CHECKING, Any

import numpy as np

from blocks.kinds.detections import keys
from blocks.kinds.detections.lineage import class_names_from_ids, detection_ids, repeated
from blocks.kinds.detections.read_masks import MaskColumns, read_masks
from blocks.kinds.detections.read_optional import (
    read_keypoints,
    read_measurements,
    read_outlines,
)
from blocks.kinds.detections.row_members import (
    Row,
    checked,
    is_finite,
    is_whole,
    member,
    numbers,
    texts,
)

if TYPE_CHECKING:
    import supervision as sv


def deserialise_detections(
    name: str, value: Any, prediction_type: str, mask_columns: MaskColumns = "none"
) -> sv.Detections:
    """Detections from `{"image": {"width", "height"}, "predictions": [...]}`.

    Boxes become xyxy float32 px, polygons and RLE masks an `sv.CompactMask` on the image. Optional
    members become columns when a row has them; rows without get NaN, -1, None or no pixels.

    Args:
        name: the input, for messages; also the parent id of rows that bring none.
        value: the JSON form, or detections, which get the columns they lack.
        prediction_type: written into rows that bring none.
        mask_columns: what a set without rows has for masks.

    Raises:
        ValueError: the value is no such object; the text names the row and the member.
    """
    import supervision as sv

    if isinstance(value, sv.Detections):
        return _completed(name, value, prediction_type)
    if not isinstance(value, Mapping) or "predictions" not in value:
        got = sorted(map(str, value)) if isinstance(value, Mapping) else type(value).__name__
        raise ValueError(f'`{name}` must be an object with "image" and "predictions", got {got}')
    rows = value["predictions"]
    if not isinstance(rows, (list, tuple)):
        raise ValueError(
            f"`{name}.predictions` must be a list of objects, got {type(rows).__name__}"
        )
    for index, row in enumerate(rows):
        if not isinstance(row, Mapping):
            raise ValueError(
                f"`{name}.predictions[{index}]` must be an object, got {type(row).__name__}"
            )
    size = _image_size(name, value.get("image"))
    boxes = np.stack(
        [numbers(name, rows, key) for key in ("x", "y", "width", "height")], axis=1
    ).reshape(-1, 4)
    corners = np.concatenate(
        [boxes[:, :2] - boxes[:, 2:] / 2, boxes[:, :2] + boxes[:, 2:] / 2], axis=1
    )
    data: dict[str, Any] = {
        keys.CLASS_NAME: np.array(texts(name, rows, "class"), dtype=str),
        keys.DETECTION_ID: _detection_ids(rows),
    }
    shared = _image_level(name, value, rows, size, prediction_type, data)
    mask, rles = read_masks(name, rows, size, mask_columns)
    if rles is not None:
        data[keys.RLE_MASK] = rles
    read_keypoints(name, rows, data)
    read_outlines(name, rows, data)
    read_measurements(name, rows, data)
    return sv.Detections(
        xyxy=corners.astype(np.float32),
        mask=mask,
        confidence=_confidence(name, rows),
        class_id=_integers(name, rows, "class_id"),
        tracker_id=_tracker_ids(name, rows),
        data=data,
        metadata=shared if not rows else {},
    )


def _completed(name: str, given: sv.Detections, prediction_type: str) -> sv.Detections:
    """The detections with the columns blocks rely on; the object itself when none is missing."""
    import supervision as sv

    count = len(given)
    missing: dict[str, Any] = {}
    if keys.CLASS_NAME not in given.data:
        missing[keys.CLASS_NAME] = class_names_from_ids(given.class_id, count)
    if keys.DETECTION_ID not in given.data:
        missing[keys.DETECTION_ID] = detection_ids(count)
    defaults = {
        keys.PARENT_ID: name,
        keys.ROOT_PARENT_ID: name,
        keys.PREDICTION_TYPE: prediction_type,
    }
    absent = {key: item for key, item in defaults.items() if key not in given.data}
    missing.update(repeated(absent, count))
    if not missing:
        return given
    return sv.Detections(
        xyxy=given.xyxy,
        mask=given.mask,
        confidence=given.confidence,
        class_id=given.class_id,
        tracker_id=given.tracker_id,
        data={**given.data, **missing},
        metadata=dict(given.metadata) if count else {**absent, **given.metadata},
    )


def _image_size(name: str, image: Any) -> tuple[int, int] | None:
    """(height, width), None when the object says null or nothing."""
    if image is None:
        return None
    if not isinstance(image, Mapping):
        raise ValueError(f"`{name}.image` must be an object, got {type(image).__name__}")
    width, height = image.get("width"), image.get("height")
    if width is None or height is None:
        return None
    if not all(isinstance(side, Real) and float(side) > 0 for side in (width, height)):
        raise ValueError(
            f"`{name}.image` must have a positive width and height, got {width!r} and {height!r}"
        )
    return int(height), int(width)


def _confidence(name: str, rows: Sequence[Row]) -> np.ndarray | None:
    values = member(name, rows, "confidence")
    if rows and all(value is None for value in values):
        return None
    # Not float32: 0.9 in the JSON stays 0.9 for thresholds and for the way out.
    return np.array(
        checked(name, "confidence", values, is_finite, "a finite number"), dtype=np.float64
    )


def _integers(name: str, rows: Sequence[Row], key: str) -> np.ndarray | None:
    values = member(name, rows, key)
    if rows and all(value is None for value in values):
        return None
    return np.array(checked(name, key, values, is_whole, "a whole number"), dtype=np.int64)


def _tracker_ids(name: str, rows: Sequence[Row]) -> np.ndarray | None:
    values = [row.get("tracker_id") for row in rows]
    if all(value is None for value in values):
        return None
    # -1 is what trackers give to what they do not follow.
    values = [-1 if value is None else value for value in values]
    return np.array(checked(name, "tracker_id", values, is_whole, "a whole number"), dtype=np.int64)


def _detection_ids(rows: Sequence[Row]) -> np.ndarray:
    fresh = iter(detection_ids(sum(row.get("detection_id") is None for row in rows)))
    given = (row.get("detection_id") for row in rows)
    return np.array([str(next(fresh) if item is None else item) for item in given], dtype=str)


def _image_level(
    name: str,
    value: Mapping[str, Any],
    rows: Sequence[Row],
    size: tuple[int, int] | None,
    prediction_type: str,
    data: dict[str, Any],
) -> dict[str, Any]:
    """Fills the image-level columns; returns the values that hold without rows."""
    shared: dict[str, Any] = {
        keys.PARENT_ID: name,
        keys.ROOT_PARENT_ID: name,
        keys.PREDICTION_TYPE: prediction_type,
    }
    if size is not None:
        shared[keys.IMAGE_DIMENSIONS] = list(size)
    if isinstance(value.get("inference_id"), str):
        shared[keys.INFERENCE_ID] = value["inference_id"]
    data.update(repeated(shared, len(rows)))
    for key in (
        keys.PARENT_ID,
        keys.ROOT_PARENT_ID,
        keys.PREDICTION_TYPE,
        keys.INFERENCE_ID,
    ):
        if any(row.get(key) is not None for row in rows):
            default = shared.get(key, "")
            data[key] = np.array(
                [str(default if row.get(key) is None else row[key]) for row in rows], dtype=str
            )
    _read_origins(
        name, rows, size, "parent_origin", keys.PARENT_COORDINATES, keys.PARENT_DIMENSIONS, data
    )
    _read_origins(
        name,
        rows,
        size,
        "root_parent_origin",
        keys.ROOT_PARENT_COORDINATES,
        keys.ROOT_PARENT_DIMENSIONS,
        data,
    )
    return shared


def _read_origins(
    name: str,
    rows: Sequence[Row],
    size: tuple[int, int] | None,
    key: str,
    coordinates: str,
    dimensions: str,
    data: dict[str, Any],
) -> None:
    if not any(row.get(key) is not None for row in rows):
        return
    places = []
    for index, row in enumerate(rows):
        origin = row.get(key)
        if origin is None and size is not None:
            # A row that names no origin lies in the image itself.
            places.append([0, 0, size[0], size[1]])
            continue
        try:
            parts = [int(origin[part]) for part in ("offset_x", "offset_y", "height", "width")]  # type: ignore[index]
        except (KeyError, TypeError, ValueError):
            raise ValueError(
                f"`{name}.predictions[{index}].{key}` must be an object with whole numbers "
                f"offset_x, offset_y, width and height, got {str(origin)[:80]!r}"
            ) from None
        places.append(parts)
    table = np.array(places, dtype=np.int64)
    data[coordinates], data[dimensions] = table[:, :2], table[:, 2:]
