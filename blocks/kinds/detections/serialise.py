"""The JSON form of detections. How they are read is in `deserialise.py`."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Any, Literal

import numpy as np

from blocks.kinds.detections import keys
from blocks.kinds.detections.compact import as_compact
from blocks.kinds.detections.lineage import (
    class_names_from_ids,
    detection_ids,
    image_size_of,
)
from blocks.kinds.detections.polygons import mask_polygons
from blocks.kinds.detections.rle import compact_from_rles, plain_rle, rles_from_compact
from execution_engine.kinds.json_form import array_form, number_form

if TYPE_CHECKING:
    import supervision as sv

MaskForm = Literal["points", "rle", "rle_only", "any"]
"""How masks are written.

`points`: polygons, from RLE when there is no other mask. `rle`: RLE, made from masks when there is
none. `rle_only`: RLE, refused when there is none. `any`: polygons of masks, RLE without masks.
"""

Row = dict[str, Any]


def serialise_detections(detections: sv.Detections, mask_form: MaskForm = "any") -> dict[str, Any]:
    """`{"image": {"width", "height"}, "predictions": [...]}` with boxes as centre and size, px.

    An instance whose mask is empty keeps its box: in the polygon form it has no points and an
    `rle_mask` of no pixels, so that readers that need a mask in every row find one.

    Args:
        detections: rows with the columns named in `keys.py`; those that are missing are left out,
            `detection_id` and `class` excepted.
        mask_form: how masks are written.

    Raises:
        ValueError: `rle_only` was asked for and there is no RLE, or an RLE is malformed.
    """
    count = len(detections)
    data = detections.data
    if mask_form == "rle_only" and count and keys.RLE_MASK not in data:
        raise ValueError("the detections carry no rle_mask")
    size = image_size_of(detections)
    result = {
        "image": {
            "width": None if size is None else size[1],
            "height": None if size is None else size[0],
        }
    }
    rows = _base_rows(detections)
    if detections.tracker_id is not None:
        _set_values(rows, "tracker_id", detections.tracker_id.tolist())
    _write_masks(rows, detections, mask_form)
    if keys.KEYPOINTS_XY in data:
        _set_values(rows, "keypoints", _keypoints(data))
    _write_measurements(rows, data)
    _write_parents(rows, data)
    return {**result, "predictions": rows}


def _base_rows(detections: sv.Detections) -> list[Row]:
    count = len(detections)
    data = detections.data
    boxes = np.asarray(detections.xyxy, dtype=np.float64)
    with np.errstate(invalid="ignore"):  # an infinite box: null tells enough
        sizes = boxes[:, 2:] - boxes[:, :2]
        centres = boxes[:, :2] + sizes / 2
    nothing = [None] * count
    confidence, class_id = detections.confidence, detections.class_id
    names = data.get(keys.CLASS_NAME)
    if names is None:
        names = class_names_from_ids(class_id, count)
    ids = data.get(keys.DETECTION_ID)
    if ids is None:
        ids = detection_ids(count)
    return [
        {
            "width": width,
            "height": height,
            "x": x,
            "y": y,
            "confidence": score,
            "class_id": class_number,
            "class": name,
            "detection_id": detection_id,
        }
        for (width, height), (x, y), score, class_number, name, detection_id in zip(
            array_form(sizes),
            array_form(centres),
            nothing if confidence is None else _numbers_or_none(confidence),
            nothing if class_id is None else class_id.tolist(),
            _plain(names),
            _plain(ids),
            strict=True,
        )
    ]


def _write_masks(rows: list[Row], detections: sv.Detections, mask_form: MaskForm) -> None:
    if not rows:
        return
    data, mask = detections.data, detections.mask
    rles = data.get(keys.RLE_MASK)
    as_rle = mask_form in ("rle", "rle_only") or (mask_form == "any" and mask is None)
    if as_rle:
        if rles is not None:
            _set_values(rows, keys.RLE_MASK, map(plain_rle, rles))
        elif mask is not None:
            _set_values(rows, keys.RLE_MASK, rles_from_compact(as_compact(mask)))
        return
    if mask is None and rles is not None:
        size = image_size_of(detections)
        mask = compact_from_rles(list(rles), size if size is not None else rles[0]["size"])
    if mask is None:
        return
    drawn = data.get(keys.POLYGON)
    computed = mask_polygons(mask) if drawn is None else None
    for index, row in enumerate(rows):
        polygon = None if drawn is None else drawn[index]
        if polygon is None or len(polygon) < 3:
            one = mask[index : index + 1]
            polygon = computed[index] if computed is not None else mask_polygons(one)[0]
        if polygon is None:
            height, width = int(mask.shape[1]), int(mask.shape[2])
            row["points"] = []
            row[keys.RLE_MASK] = plain_rle({"size": (height, width), "counts": [height * width]})
        else:
            points = array_form(np.asarray(polygon, dtype=np.float64))
            row["points"] = [{"x": x, "y": y} for x, y in points]


def _keypoints(data: Any) -> list[list[Row]]:
    """Keypoints of each row; slots with an empty class name are padding."""
    return [
        [
            {
                "class_id": class_id,
                "class": name,
                "confidence": confidence,
                "x": point[0],
                "y": point[1],
            }
            for class_id, name, confidence, point in zip(
                class_ids, names, confidences, points, strict=True
            )
            if name
        ]
        for class_ids, names, confidences, points in zip(
            _plain(data[keys.KEYPOINTS_CLASS_ID]),
            _plain(data[keys.KEYPOINTS_CLASS_NAME]),
            _plain(data[keys.KEYPOINTS_CONFIDENCE]),
            _plain(data[keys.KEYPOINTS_XY]),
            strict=True,
        )
    ]


_MEASUREMENTS_BEFORE_OUTLINES = ("path_deviation", "time_in_zone")
_OUTLINES = (keys.POLYGON, keys.RECT)
_MEASUREMENTS_AFTER_OUTLINES = (
    keys.WIDTH,
    keys.HEIGHT,
    keys.ANGLE,
    keys.DECODED_TEXT,
    "velocity",
    "speed",
    "smoothed_velocity",
    "smoothed_speed",
    "area_px",
    "area_converted",
    "nearest_target_distance",
)


def _write_measurements(rows: list[Row], data: Any) -> None:
    for key in _MEASUREMENTS_BEFORE_OUTLINES:
        if key in data:
            _set_values(rows, key, _numbers_or_none(data[key]))
    for key in _OUTLINES:
        if key in data:
            for row, value in zip(rows, _plain(data[key]), strict=True):
                if value is not None:
                    row[key] = value
    for key in _MEASUREMENTS_AFTER_OUTLINES:
        if key in data:
            _set_values(rows, key, _numbers_or_none(data[key]))


def _write_parents(rows: list[Row], data: Any) -> None:
    if keys.PARENT_ID not in data:
        return
    parents = _plain(data[keys.PARENT_ID])
    _set_values(rows, keys.PARENT_ID, parents)
    if keys.ROOT_PARENT_ID not in data:
        return
    roots = _plain(data[keys.ROOT_PARENT_ID])
    derived = [index for index, root in enumerate(roots) if root != parents[index]]
    if not derived:
        return
    parent_origins = _origins(data, keys.PARENT_COORDINATES, keys.PARENT_DIMENSIONS)
    root_origins = _origins(data, keys.ROOT_PARENT_COORDINATES, keys.ROOT_PARENT_DIMENSIONS)
    for index in derived:
        row = rows[index]
        if parent_origins is not None:
            row["parent_origin"] = parent_origins[index]
        row[keys.ROOT_PARENT_ID] = roots[index]
        if root_origins is not None:
            row["root_parent_origin"] = root_origins[index]


def _origins(data: Any, coordinates: str, dimensions: str) -> list[Row] | None:
    if coordinates not in data or dimensions not in data:
        return None
    return [
        {"offset_x": int(x), "offset_y": int(y), "width": int(width), "height": int(height)}
        for (x, y), (height, width) in zip(
            _plain(data[coordinates]), _plain(data[dimensions]), strict=True
        )
    ]


def _set_values(rows: list[Row], key: str, values: Iterable[Any]) -> None:
    for row, value in zip(rows, values, strict=True):
        row[key] = value


def _plain(column: Any) -> Sequence[Any]:
    """A column as a list of Python values, nested for columns of more dimensions; None where a
    number is NaN or infinite, which JSON does not have.
    """
    if isinstance(column, np.ndarray) and column.dtype != object:
        values: list[Any] = array_form(column)
        return values
    return [_plain_item(item) for item in column]


def _plain_item(item: Any) -> Any:
    if isinstance(item, float):
        return number_form(item)
    if isinstance(item, (list, tuple)):
        return [_plain_item(part) for part in item]
    if hasattr(item, "tolist"):
        return array_form(np.asarray(item))
    return item


def _numbers_or_none(column: Any) -> Sequence[Any]:
    """A column as a list with None where a number, or one of a row's several, is missing."""
    if isinstance(column, np.ndarray) and column.dtype.kind == "f":
        values: list[Any] = column.tolist()
        missing = ~np.isfinite(column).reshape(len(column), -1).all(axis=1) if column.size else ()
        for index in np.flatnonzero(missing):
            values[index] = None
        return values
    return _plain(column)
