"""Detections of crops in the pixels of the image of the crops. Knows no manifest."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any, Literal

import numpy as np
from numpy.typing import NDArray

from blocks.fusion.detections_list_rollup.keypoints import joined_keypoints
from blocks.fusion.row_groups import joined_groups
from blocks.kinds.detections import concat_detections, keys
from blocks.kinds.detections.boxes import as_boxes, box_iou
from blocks.kinds.detections.columns import with_columns
from blocks.kinds.detections.lineage import (
    class_names_from_ids,
    detection_ids,
    image_level_values,
    image_size_of,
    repeated,
)
from blocks.kinds.detections.masks import has_masks, instance_masks
from blocks.kinds.detections.moving import moved_into
from execution_engine.errors import InvalidFieldValueError
from inference_models.masks import mask_iou

if TYPE_CHECKING:
    import supervision as sv

ConfidenceStrategy = Literal["max", "mean", "min"]

_REDUCERS: dict[str, Callable[[Any], Any]] = {"max": np.max, "mean": np.mean, "min": np.min}


def rolled_up(
    parents: sv.Detections,
    children: Sequence[sv.Detections | None],
    strategy: ConfidenceStrategy,
    overlap_threshold: float,
    keypoint_distance: float,
) -> sv.Detections:
    """The detections of all crops in px of the parents' image, repetitions of an object joined.

    Detections of one class are one object when they overlap (threshold 0), or when their
    intersection over union reaches the threshold, directly or through others; masks are compared
    where all have them. A joined detection has the box around and the union of the masks, and the
    columns of the most confident one.

    Args:
        parents: n detections whose crops the children were made on; not changed.
        children: detections on the crops, in any order; None for a crop without.
        strategy: how the confidences of an object become one.
        overlap_threshold: 0 to 1.
        keypoint_distance: px up to which keypoints of one name are the same point.

    Raises:
        ValueError: a child belongs to no parent, or some children have masks and others none.
    """
    if strategy not in _REDUCERS:
        raise InvalidFieldValueError(
            f"`confidence_strategy` must be max, mean or min, got {strategy!r:.60}"
        )
    given = [child for child in children if child is not None]
    _require_masks_in_all_or_none(given)
    placed = [
        _placed(child, parents, place, len(children))
        for place, child in enumerate(children)
        if child is not None and len(child)
    ]
    known = image_level_values(parents)
    rows = _in_image(concat_detections(placed or given), known)
    if len(rows) < 2:
        return rows
    groups = _objects(rows, overlap_threshold)
    if len(groups) == len(rows):
        return rows
    reduce = _REDUCERS[strategy]
    confidences = None
    if rows.confidence is not None:
        values = [reduce(rows.confidence[group]) for group in groups]
        confidences = np.array(values, dtype=rows.confidence.dtype)
    joined = joined_groups(rows, groups, confidences)
    return with_columns(joined, joined_keypoints(rows.data, groups, keypoint_distance, reduce))


def crop_zones(parents: sv.Detections) -> list[list[list[float]]]:
    """The corners [x, y] of each parent's box, clockwise from the upper left, px."""
    return [
        [[left, top], [right, top], [right, bottom], [left, bottom]]
        for left, top, right, bottom in as_boxes(parents.xyxy).tolist()
    ]


def _require_masks_in_all_or_none(children: Sequence[sv.Detections]) -> None:
    filled = [child for child in children if len(child)]
    masked = [has_masks(child) for child in filled]
    if any(masked) and not all(masked):
        names = [str(image_level_values(child).get(keys.PARENT_ID, "unnamed")) for child in filled]
        raise InvalidFieldValueError(
            "detections with masks cannot be rolled up with detections without: those on "
            f"{names[masked.index(True)]!r} have masks, those on {names[masked.index(False)]!r} "
            "have none"
        )


def _placed(child: sv.Detections, parents: sv.Detections, place: int, places: int) -> sv.Detections:
    """A child in px of the image of the parents."""
    scale = child.data.get(keys.SCALING_RELATIVE_TO_PARENT, 1.0)
    offset = _offset(child, parents, place, places)
    return moved_into(child, offset, _image_size(parents), np.asarray(scale, np.float64))


def _offset(
    child: sv.Detections, parents: sv.Detections, place: int, places: int
) -> NDArray[np.float64]:
    """(n, 2) or (2,) corner x, y of the child's crop in the image of the parents, px."""
    root, other_root = _root_place(child), _root_place(parents)
    if root is not None and other_root is not None and root[0] == other_root[0]:
        return root[1] - other_root[1][:1]
    named = child.data.get(keys.PARENT_ID)
    own = None if named is None else str(named[0])
    ids = [str(item) for item in parents.data.get(keys.DETECTION_ID, ())]
    if own in ids:
        if keys.PARENT_COORDINATES in child.data:
            return _corners(child.data[keys.PARENT_COORDINATES])
        row = ids.index(own)
    elif places == len(parents):
        row = place
    else:
        raise InvalidFieldValueError(
            f"detections on {own!r} belong to none of the {len(parents)} parent detections, and "
            f"{places} sets cannot be told apart by their places"
        )
    # A crop begins at the first whole px of its box inside the image.
    return np.maximum(np.round(as_boxes(parents.xyxy)[row, :2]), 0)


def _root_place(detections: sv.Detections) -> tuple[str, NDArray[np.float64]] | None:
    """Id of the one root image and (n, 2) corners x, y in it, None when they are not known."""
    data = detections.data
    if keys.ROOT_PARENT_ID not in data or keys.ROOT_PARENT_COORDINATES not in data:
        return None
    roots = {str(root) for root in data[keys.ROOT_PARENT_ID]}
    return (roots.pop(), _corners(data[keys.ROOT_PARENT_COORDINATES])) if len(roots) == 1 else None


def _corners(column: Any) -> NDArray[np.float64]:
    return np.asarray(list(column), np.float64).reshape(-1, 2)


def _image_size(parents: sv.Detections) -> tuple[int, int]:
    size = image_size_of(parents)
    if size is None:
        raise InvalidFieldValueError(f"the parent detections must carry `{keys.IMAGE_DIMENSIONS}`")
    return size


def _in_image(rows: sv.Detections, known: dict[str, Any]) -> sv.Detections:
    """The rows with the image-level columns of the parents."""
    own = image_level_values(rows)
    values = {**known}
    for key in (keys.PREDICTION_TYPE, keys.INFERENCE_ID):
        if key in own:
            values[key] = own[key]
    columns = {
        key: column
        for key, column in repeated(values, len(rows)).items()
        if key not in (keys.PREDICTION_TYPE, keys.INFERENCE_ID) or key not in rows.data
    }
    if keys.CLASS_NAME not in rows.data:
        columns[keys.CLASS_NAME] = class_names_from_ids(rows.class_id, len(rows))
    if keys.DETECTION_ID not in rows.data:
        columns[keys.DETECTION_ID] = detection_ids(len(rows))
    placed = with_columns(rows, columns)
    for key in set(keys.IMAGE_LEVEL) - set(values):
        placed.data.pop(key, None)
    if len(rows) == 0:
        placed.metadata = {**placed.metadata, **values}
    return placed


def _objects(rows: sv.Detections, threshold: float) -> list[list[int]]:
    """Rows of one object each, the most confident first; objects in the order of first rows."""
    classes = rows.data.get(keys.CLASS_NAME, rows.class_id)
    masks = instance_masks(rows)
    iou = box_iou(rows.xyxy, rows.xyxy) if masks is None else mask_iou(masks, masks)
    same = (iou > 0) & (iou >= threshold)
    if classes is not None:
        names = np.array([str(item) for item in classes])
        same &= names[:, None] == names[None]
    scores = np.zeros(len(rows)) if rows.confidence is None else rows.confidence
    return [
        sorted(group, key=lambda row: (-float(scores[row]), row)) for group in _components(same)
    ]


def _components(connected: NDArray[np.bool_]) -> list[list[int]]:
    """Connected parts of a symmetric (n, n) relation."""
    seen = np.zeros(len(connected), dtype=bool)
    parts = []
    for start in range(len(connected)):
        if seen[start]:
            continue
        part, front = [start], [start]
        seen[start] = True
        while front:
            reached = np.flatnonzero(connected[front].any(axis=0) & ~seen)
            seen[reached] = True
            front = reached.tolist()
            part += front
        parts.append(sorted(part))
    return parts
