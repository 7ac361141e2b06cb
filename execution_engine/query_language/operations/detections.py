"""Operations on detections, reached only through their codec.

Renaming of classes is in `renaming`.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from execution_engine.kinds.codec import KindCodec
from execution_engine.query_language.definitions import Operation
from execution_engine.query_language.geometry import points_in_boxes
from execution_engine.query_language.rows import (
    ANCHORS,
    DetectionRows,
    Row,
    plain_values,
)
from execution_engine.query_language.site import Parameters, Site, Step
from execution_engine.value_text import short_text

# Beyond it floats leave whole numbers out, px.
_FARTHEST = 2**53


def property_of_all(operation: Operation, site: Site) -> Step:
    """`DetectionsPropertyExtract`: a list with the property of each detection.

    Anchor points are rounded to whole px, halves to the even neighbour. The step raises
    `OperationError` when detections lack the property; no detections give an empty list.
    """
    name = operation.parameters["property_name"]

    def step(value: Any, parameters: Parameters) -> list[Any]:
        rows = DetectionRows(site.detections_codec(value), value)
        if not rows.count:
            return []
        try:
            column = rows.column(name)
        except KeyError as error:
            raise site.failed(f"the detections have no property '{name}'", error) from error
        if name in ANCHORS:
            return np.rint(column).astype(np.int64).tolist()
        return plain_values(column)

    return step


def property_of_one(operation: Operation, site: Site) -> Step:
    """`ExtractDetectionProperty`: the property of the detection at hand, points not rounded.

    A property that detections need not have (`tracker_id`, `time_in_zone`, ...) is None when it is
    missing.
    """
    name = operation.parameters["property_name"]

    def step(value: Any, parameters: Parameters) -> Any:
        if type(value) is not Row:
            raise site.wrong_input("one detection, as the operand '_' of a filter is", value)
        try:
            return value.value(name)
        except KeyError as error:
            raise site.failed(f"the detections have no property '{name}'", error) from error

    return step


def keep_where(operation: Operation, site: Site) -> Step:
    """`DetectionsFilter`: the detections for which the statement holds; each is the operand `_`."""
    mask_of = site.nested.row_mask(
        operation.parameters["filter_operation"], f"{site.path}.filter_operation"
    )

    def step(value: Any, parameters: Parameters) -> Any:
        codec = site.detections_codec(value)
        rows = DetectionRows(codec, value)
        return codec.select(value, mask_of(rows, parameters)) if rows.count else value

    return step


def select_one(operation: Operation, site: Site) -> Step:
    """`DetectionsSelection`: the one detection of the mode, by the centre of its box; none of none.

    Of equals the first one is taken. The step raises `OperationError` when the confidence is needed
    and missing.
    """
    mode = operation.parameters["mode"]

    def step(value: Any, parameters: Parameters) -> Any:
        codec = site.detections_codec(value)
        rows = DetectionRows(codec, value)
        if not rows.count:
            return value
        if mode == "first":
            index = 0
        elif mode == "last":
            index = rows.count - 1
        elif mode == "left_most":
            index = int(np.argmin(np.asarray(rows.column("center"))[:, 0]))
        elif mode == "right_most":
            index = int(np.argmax(np.asarray(rows.column("center"))[:, 0]))
        else:
            index = int(np.argmax(_confidence(rows, site)))
        return codec.select(value, np.array([index]))

    return step


def _confidence(rows: DetectionRows, site: Site) -> np.ndarray:
    try:
        return np.asarray(rows.column("confidence"))
    except KeyError as error:
        raise site.failed("the detections have no confidence", error) from error


def sort(operation: Operation, site: Site) -> Step:
    """`SortDetections`: the detections in order of a property; equals keep their order.

    Detections without confidence come back as they are when they are to be sorted by it.
    """
    mode, ascending = operation.parameters["mode"], operation.parameters["ascending"]

    def step(value: Any, parameters: Parameters) -> Any:
        codec = site.detections_codec(value)
        rows = DetectionRows(codec, value)
        if rows.count < 2:
            return value
        if mode in ("center_x", "center_y"):
            keys = np.asarray(rows.column("center"))[:, 0 if mode == "center_x" else 1]
        else:
            try:
                keys = np.asarray(rows.column(mode), dtype=np.float64)
            except KeyError:
                return value
        order = np.argsort(keys if ascending else -keys, kind="stable")
        return codec.select(value, order)

    return step


def grow(operation: Operation, site: Site) -> Step:
    """`DetectionsOffset`: boxes larger by half of the offset on each side, px, not clipped."""
    half_x, half_y = (_way(operation, name, site) / 2 for name in ("offset_x", "offset_y"))
    return _moved_boxes(np.array([-half_x, -half_y, half_x, half_y]), site)


def shift(operation: Operation, site: Site) -> Step:
    """`DetectionsShift`: boxes moved by px."""
    x, y = (_way(operation, name, site) for name in ("shift_x", "shift_y"))
    return _moved_boxes(np.array([x, y, x, y], dtype=np.float64), site)


def _way(operation: Operation, name: str, site: Site) -> int:
    way: int = operation.parameters[name]
    if abs(way) > _FARTHEST:
        raise site.failed(f"`{name}` must lie within {_FARTHEST} px, got {short_text(way)}")
    return way


def _moved_boxes(move: np.ndarray, site: Site) -> Step:
    def step(value: Any, parameters: Parameters) -> Any:
        codec = site.detections_codec(value)
        rows = DetectionRows(codec, value)
        if not rows.count:
            return value
        return codec.with_columns(value, {"xyxy": (rows.boxes + move).astype(np.float32)})

    return step


def to_dictionary(operation: Operation, site: Site) -> Step:
    """`DetectionsToDictionary`: the detections as they are in JSON, else `OperationError`."""

    def step(value: Any, parameters: Parameters) -> Any:
        codec = site.detections_codec(value)
        try:
            return codec.serialise(value)
        except Exception as error:
            raise site.failed(
                f"the detections do not serialise ({type(error).__name__}: {error})", error
            ) from error

    return step


def pick_by_parent_class(operation: Operation, site: Site) -> Step:
    """`PickDetectionsByParentClass`: those of the class, then those with their centre in its boxes.

    Edges count as inside. Without a detection of the class nothing is kept.
    """
    parent_class = operation.parameters["parent_class"]

    def step(value: Any, parameters: Parameters) -> Any:
        codec = site.detections_codec(value)
        rows = DetectionRows(codec, value)
        if not rows.count:
            return value
        return codec.select(value, _family(rows, parent_class, codec))

    return step


def _family(rows: DetectionRows, parent_class: str, codec: KindCodec) -> np.ndarray:
    try:
        names = rows.values("class_name")
    except KeyError:
        names = [None] * rows.count
    is_parent = np.array([name == parent_class for name in names], dtype=bool)
    parents, others = np.flatnonzero(is_parent), np.flatnonzero(~is_parent)
    centers = np.asarray(rows.column("center"))[others]
    return np.concatenate([parents, others[points_in_boxes(centers, rows.boxes[parents])]])
