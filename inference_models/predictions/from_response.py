"""Predictions from the JSON objects that `response.py` writes and that other servers of the same
routes answer with. Fetching them is the business of clients.

RLE masks come back as they were sent, on the grid they declare; polygons are filled on the grid
they were drawn on. Boxes and points are brought to px of the image.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from inference_models.masks.carrier import InstanceMasks, Size, checked_size
from inference_models.masks.polygons import masks_from_polygons
from inference_models.masks.rle import decode_rle_on_any_grid
from inference_models.packages.tasks import Task
from inference_models.predictions.columns import PredictionError
from inference_models.predictions.detections import (
    Detections,
    InstanceDetections,
    OrientedDetections,
)
from inference_models.predictions.keypoints import KeyPoints
from inference_models.predictions.response import (
    CLASS_NAME,
    DETECTION_ID,
    MASK_GRID,
    checked_task,
)
from inference_models.predictions.whole_image import (
    ClassificationPrediction,
    MultiLabelClassificationPrediction,
    SemanticSegmentationResult,
)

# Both names of the key are in use: that of model routes, and that of workflows.
_RLE_KEYS = ("rle", "rle_mask")
_CORNERS = 4
_FEWEST_POINTS = 3


def prediction_from_response(
    response: Mapping[str, Any],
    *,
    task: Task | str,
    class_names: Sequence[str] | None = None,
) -> Any:
    """The prediction behind one answer.

    What an answer does not say is not made up, with these consequences: a semantic segmentation
    has the mean score of a class at each of its pixels and -1 where no class was reported; a
    classification has the score 0 for classes that were not listed; points that were not listed
    are missing.

    Args:
        response: one JSON object, as `model_response` writes it.
        task: the task of the route it came from.
        class_names: name of each class by id. When None, classes are named by the answer alone:
            detections carry a column `class_name`, classifications a table of what was listed.

    Raises:
        PredictionError: the answer lacks something, contradicts itself or `class_names`.
        MaskError: a mask is broken.
    """
    task = checked_task(task)
    if not isinstance(response, Mapping):
        raise PredictionError(f"an answer must be a JSON object, got {type(response).__name__}")
    names = None if class_names is None else tuple(class_names)
    size = _size(response, "image")
    if task in (Task.CLASSIFICATION, Task.MULTI_LABEL_CLASSIFICATION):
        read = _classification if task is Task.CLASSIFICATION else _labels
        return read(response, size, names)
    rows = _value(response, "predictions", list)
    return _OF_ROWS[task](_Rows(rows, names), response, size)


class _Rows:
    """The columns that objects with boxes share.

    Args:
        rows: the objects.
        class_names: name of each class by id, None when unknown.
    """

    def __init__(
        self, rows: Sequence[Mapping[str, Any]], class_names: tuple[str, ...] | None
    ) -> None:
        self.rows = rows
        self.class_names = class_names
        for index, row in enumerate(rows):
            if not isinstance(row, Mapping):
                raise PredictionError(
                    f"prediction {index} must be a JSON object, got {type(row).__name__}"
                )

    def values(self, key: str, dtype: Any = np.float64) -> npt.NDArray[Any]:
        """One number of every row, (n,)."""
        for index, row in enumerate(self.rows):
            value = row.get(key)
            if isinstance(value, bool) or not isinstance(value, (int, float)):
                raise PredictionError(
                    f'prediction {index}: "{key}" must be a number, got {value!r}'
                )
        return np.array([row[key] for row in self.rows], dtype)

    def boxes(self) -> npt.NDArray[np.float64]:
        """(n, 4) xyxy as they were sent."""
        centres = np.stack([self.values("x"), self.values("y")], 1)
        half = np.stack([self.values("width"), self.values("height")], 1) / 2
        return np.concatenate([centres - half, centres + half], 1)

    def scored(self, size: Size) -> dict[str, Any]:
        """Everything but boxes and masks, as fields of a prediction."""
        class_id = self.values("class_id", np.int64)
        data: dict[str, Any] = {}
        names = [
            str(row.get("class", number)) for row, number in zip(self.rows, class_id, strict=True)
        ]
        if self.class_names is None:
            data[CLASS_NAME] = np.array(names, np.str_)
        else:
            self._require_names(names, class_id.tolist())
        if self.rows and all(DETECTION_ID in row for row in self.rows):
            data[DETECTION_ID] = np.array([str(row[DETECTION_ID]) for row in self.rows], np.str_)
        tracked = bool(self.rows) and all(row.get("tracker_id") is not None for row in self.rows)
        return {
            "confidence": self.values("confidence"),
            "class_id": class_id,
            "tracker_id": self.values("tracker_id", np.int64) if tracked else None,
            "image_size": size,
            "class_names": self.class_names,
            "data": data,
        }

    def codes(self) -> list[Mapping[str, Any] | None]:
        """The RLE of each row, None for rows without."""
        return [
            next((row[key] for key in _RLE_KEYS if row.get(key) is not None), None)
            for row in self.rows
        ]

    def points(self, index: int) -> npt.NDArray[np.float64]:
        """(k, 2) x, y of a row's outline."""
        points = self.rows[index].get("points")
        if not isinstance(points, Sequence) or isinstance(points, str):
            raise PredictionError(f'prediction {index} has neither "rle" nor "points"')
        try:
            return np.array([[point["x"], point["y"]] for point in points], float).reshape(-1, 2)
        except (TypeError, KeyError, ValueError) as error:
            raise PredictionError(
                f'prediction {index}: "points" must be objects with "x" and "y"'
            ) from error

    def _require_names(self, names: list[str], class_ids: list[int]) -> None:
        assert self.class_names is not None
        for index, (name, class_id) in enumerate(zip(names, class_ids, strict=True)):
            known = 0 <= class_id < len(self.class_names)
            if not known or self.class_names[class_id] != name:
                expected = self.class_names[class_id] if known else "no class"
                raise PredictionError(
                    f'prediction {index} is of class {class_id} "{name}", '
                    f'by the class names given {class_id} is "{expected}"'
                )


def _detections(rows: _Rows, response: Mapping[str, Any], size: Size) -> Detections:
    return Detections(xyxy=rows.boxes(), **rows.scored(size))


def _oriented(rows: _Rows, response: Mapping[str, Any], size: Size) -> OrientedDetections:
    corners = [rows.points(index) for index in range(len(rows.rows))]
    for index, one in enumerate(corners):
        if len(one) != _CORNERS:
            raise PredictionError(
                f'prediction {index}: "points" must be the {_CORNERS} corners of an oriented box, '
                f"got {len(one)}"
            )
    return OrientedDetections(
        corners=np.array(corners, np.float32).reshape(-1, _CORNERS, 2), **rows.scored(size)
    )


def _instances(rows: _Rows, response: Mapping[str, Any], size: Size) -> InstanceDetections:
    """Instances of an answer in px of the image, or of one on the masks' grid."""
    boxes, grid = rows.boxes(), size
    if "mask_metadata" in response:
        size = _size(response, "original_image")
        metadata = _value(response, "mask_metadata", Mapping)
        system = metadata.get("coordinate_system")
        if system != MASK_GRID:
            raise PredictionError(
                f'mask_metadata: "coordinate_system" must be "{MASK_GRID}", got {system!r}'
            )
        boxes = boxes * np.array([size[1] / grid[1], size[0] / grid[0]] * 2)
    return InstanceDetections(xyxy=boxes, masks=_masks(rows, grid, size), **rows.scored(size))


def _masks(rows: _Rows, grid: Size, size: Size) -> InstanceMasks:
    """The masks of rows with codes, with outlines, or some with these and some with those."""
    codes = rows.codes()
    coded = [index for index, code in enumerate(codes) if code is not None]
    drawn = [index for index, code in enumerate(codes) if code is None]
    if not codes:
        return InstanceMasks.empty(grid, size)
    decoded = decode_rle_on_any_grid([code for code in codes if code is not None], size)
    if not drawn:
        return decoded
    outlines = [rows.points(index) for index in drawn]
    filled = masks_from_polygons(
        [[outline] if len(outline) >= _FEWEST_POINTS else [] for outline in outlines], grid
    )
    filled = dataclasses.replace(filled, image_size=size)
    if not coded:
        return filled
    parts = [decoded, filled]
    if decoded.mask_size != filled.mask_size:
        parts = [part.on_image_grid() for part in parts]
    return InstanceMasks.concat(parts).select(np.argsort(coded + drawn))


def _key_points(rows: _Rows, response: Mapping[str, Any], size: Size) -> KeyPoints:
    scored = rows.scored(size)
    lists = [_point_list(row, index) for index, row in enumerate(rows.rows)]
    slots = 1 + max((slot for points in lists for slot in points), default=-1)
    xy = np.zeros((len(lists), slots, 2), np.float32)
    confidence = np.zeros((len(lists), slots), np.float32)
    visible = np.zeros((len(lists), slots), np.bool_)
    table: dict[int, dict[int, str]] = {}
    for index, points in enumerate(lists):
        names = table.setdefault(int(scored["class_id"][index]), {})
        for slot, point in points.items():
            xy[index, slot] = point["x"], point["y"]
            confidence[index, slot] = point["confidence"]
            visible[index, slot] = True
            names[slot] = str(point.get("class", slot))
    return KeyPoints(
        xy=xy,
        keypoint_confidence=confidence,
        visible=visible,
        xyxy=rows.boxes(),
        keypoint_names=tuple(
            tuple(table.get(class_id, {}).get(slot, "") for slot in range(slots))
            for class_id in range(1 + max(table, default=-1))
        ),
        **scored,
    )


def _point_list(row: Mapping[str, Any], index: int) -> dict[int, Mapping[str, Any]]:
    """The points of one object by slot, which is the class of the point, else its place."""
    points = row.get("keypoints")
    if not isinstance(points, list):
        raise PredictionError(f'prediction {index} has no "keypoints"')
    found: dict[int, Mapping[str, Any]] = {}
    for place, point in enumerate(points):
        slot = point.get("class_id", place) if isinstance(point, Mapping) else None
        if not isinstance(slot, int) or slot < 0 or slot in found:
            raise PredictionError(
                f"prediction {index}: keypoint {place} must be an object whose class_id no other "
                f"has, got {point!r:.80}"
            )
        if not all(isinstance(point.get(key), (int, float)) for key in ("x", "y", "confidence")):
            raise PredictionError(
                f'prediction {index}: keypoint {place} must have numbers "x", "y" and "confidence"'
            )
        found[slot] = point
    return found


def _class_map(rows: _Rows, response: Mapping[str, Any], size: Size) -> SemanticSegmentationResult:
    found = _instances(rows, response, size)
    image = found.image_size
    segmentation_map = np.full(image, -1, np.int32)
    confidence = np.zeros(image, np.float32)
    masks = found.masks.on_image_grid()
    for (x0, y0, x1, y1), crop, class_id, score in zip(
        masks.boxes.tolist(), masks.crops(), found.class_id, found.confidence, strict=True
    ):
        segmentation_map[y0:y1, x0:x1][crop] = class_id
        confidence[y0:y1, x0:x1][crop] = score
    names = found.class_names
    if names is None:
        listed = dict(zip(found.class_id.tolist(), found.data[CLASS_NAME].tolist(), strict=True))
        names = _table(listed, None)
    return SemanticSegmentationResult(
        segmentation_map=segmentation_map,
        confidence=confidence,
        image_size=image,
        class_names=names,
    )


_OF_ROWS: Mapping[Task, Callable[[_Rows, Mapping[str, Any], Size], Any]] = {
    Task.OBJECT_DETECTION: _detections,
    Task.INSTANCE_SEGMENTATION: _instances,
    Task.ORIENTED_OBJECT_DETECTION: _oriented,
    Task.KEYPOINT_DETECTION: _key_points,
    Task.SEMANTIC_SEGMENTATION: _class_map,
}


def _classification(
    response: Mapping[str, Any], size: Size, class_names: tuple[str, ...] | None
) -> ClassificationPrediction:
    listed = _Rows(_value(response, "predictions", list), None)
    class_ids = listed.values("class_id", np.int64).tolist()
    names = [str(row.get("class", one)) for row, one in zip(listed.rows, class_ids, strict=True)]
    table = _table(dict(zip(class_ids, names, strict=True)), class_names)
    confidence = np.zeros(len(table), np.float32)
    confidence[class_ids] = listed.values("confidence")
    return ClassificationPrediction(confidence=confidence, image_size=size, class_names=table)


def _labels(
    response: Mapping[str, Any], size: Size, class_names: tuple[str, ...] | None
) -> MultiLabelClassificationPrediction:
    labels = _value(response, "predictions", Mapping)
    listed = _Rows(list(labels.values()), None)
    ids = dict(zip(labels, listed.values("class_id", np.int64).tolist(), strict=True))
    table = _table({class_id: str(name) for name, class_id in ids.items()}, class_names)
    confidence = np.zeros(len(table), np.float32)
    confidence[list(ids.values())] = listed.values("confidence")
    chosen = _value(response, "predicted_classes", list)
    unknown = [name for name in chosen if name not in ids]
    if unknown:
        raise PredictionError(f"predicted_classes names {unknown[0]!r}, which predictions lacks")
    return MultiLabelClassificationPrediction(
        confidence=confidence,
        class_ids=np.array(sorted(ids[name] for name in chosen), np.int32),
        image_size=size,
        class_names=table,
    )


def _table(listed: Mapping[int, str], class_names: tuple[str, ...] | None) -> tuple[str, ...]:
    """The table of names by id: the one given, or that of what was listed, with numbers as the
    names of classes in between.

    Raises:
        PredictionError: an id is negative, or its name is another one in `class_names`.
    """
    if class_names is None:
        if any(class_id < 0 for class_id in listed):
            raise PredictionError(f"class ids must not be negative, got {min(listed)}")
        return tuple(
            listed.get(number, str(number)) for number in range(1 + max(listed, default=-1))
        )
    for class_id, name in listed.items():
        if not 0 <= class_id < len(class_names) or class_names[class_id] != name:
            raise PredictionError(
                f'class {class_id} "{name}" is not in the class names given, '
                f"{', '.join(class_names)}"
            )
    return class_names


def _size(response: Mapping[str, Any], key: str) -> Size:
    """(h, w) of an object with `width` and `height`."""
    content = _value(response, key, Mapping)
    sides = content.get("height"), content.get("width")
    if not all(isinstance(side, int) and not isinstance(side, bool) for side in sides):
        raise PredictionError(f'"{key}" must have a whole width and height, got {dict(content)}')
    return checked_size(key, sides)


def _value(response: Mapping[str, Any], key: str, kind: type[Any]) -> Any:
    value = response.get(key)
    if not isinstance(value, kind):
        expected = "a list" if kind is list else "an object"
        raise PredictionError(f'an answer must have "{key}", {expected}, got {value!r:.80}')
    return value
