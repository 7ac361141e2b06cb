"""Predictions as the JSON objects with which routes for single models answer. How such an object is
read is in `from_response.py`; the JSON of workflows is the business of blocks.

Every object has `inference_id`, `image` (`width`, `height`) and `predictions`; `time` in seconds
where it is known. Geometry is in px of the image, unless the caller opted in to masks on their own
grid: then all geometry of instances is on that grid, `image` is its size, and `original_image` and
`mask_metadata` say how it lies on the image.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal, get_args
from uuid import uuid4

import numpy as np
import numpy.typing as npt

from inference_models.errors import InvalidParameterError, nearest_name_hint
from inference_models.masks.carrier import Size, checked_size
from inference_models.masks.polygons import largest_polygons
from inference_models.masks.rle import encode_masks
from inference_models.packages.tasks import Task
from inference_models.predictions.columns import PredictionError, as_array
from inference_models.predictions.detections import (
    Detections,
    InstanceDetections,
    OrientedDetections,
    ScoredRows,
)
from inference_models.predictions.keypoints import KeyPoints
from inference_models.predictions.whole_image import (
    ClassificationPrediction,
    MultiLabelClassificationPrediction,
    SemanticSegmentationResult,
)

MaskFormat = Literal["polygon", "rle"]
MASK_GRID = "mask_grid"
RLE = "rle"
DETECTION_ID = "detection_id"
CLASS_NAME = "class_name"
_FEWEST_POINTS = 3

PREDICTION_OF_TASK: Mapping[Task, type[Any]] = {
    Task.OBJECT_DETECTION: Detections,
    Task.INSTANCE_SEGMENTATION: InstanceDetections,
    Task.ORIENTED_OBJECT_DETECTION: OrientedDetections,
    Task.KEYPOINT_DETECTION: KeyPoints,
    Task.SEMANTIC_SEGMENTATION: SemanticSegmentationResult,
    Task.CLASSIFICATION: ClassificationPrediction,
    Task.MULTI_LABEL_CLASSIFICATION: MultiLabelClassificationPrediction,
}


@dataclass(frozen=True, slots=True)
class ResponseOptions:
    """How a caller wants its answer written.

    Attributes:
        response_mask_format: masks of instances as one `polygon` each, or as `rle`.
        allow_reduced_mask_resolution: the caller reads masks, boxes and points on the masks' own
            grid. Only instances have such a grid; other tasks answer the same either way.
        min_confidence: lowest score of a class that a classification lists, 0..1.

    Raises:
        InvalidParameterError: the format is unknown, or the confidence is out of range.
    """

    response_mask_format: MaskFormat = "polygon"
    allow_reduced_mask_resolution: bool = False
    min_confidence: float = 0.0

    def __post_init__(self) -> None:
        known = get_args(MaskFormat)
        if self.response_mask_format not in known:
            raise InvalidParameterError(
                f"response_mask_format must be one of {', '.join(known)}, "
                f"got {self.response_mask_format!r}",
                hint=nearest_name_hint(str(self.response_mask_format), known),
            )
        if not isinstance(self.allow_reduced_mask_resolution, bool):
            raise InvalidParameterError(
                "allow_reduced_mask_resolution must be true or false, "
                f"got {self.allow_reduced_mask_resolution!r}"
            )
        lowest = self.min_confidence
        if isinstance(lowest, (bool, str)) or not 0 <= lowest <= 1:
            raise InvalidParameterError(f"min_confidence must be in [0.0, 1.0], got {lowest!r}")


def model_response(
    prediction: Any,
    *,
    task: Task | str,
    image_size: Size | None = None,
    class_names: Sequence[str] | None = None,
    options: ResponseOptions | None = None,
    inference_id: str | None = None,
    time: float | None = None,
) -> dict[str, Any]:
    """The answer for one image, ready for `json.dumps`.

    Args:
        prediction: what the model manager answered for the image.
        task: the task of the route; the prediction must be of its type.
        image_size: (h, w) of the image, checked against the prediction's when given.
        class_names: name of each class by id, for predictions that do not know their names.
        options: how the answer is written.
        inference_id: id of the call; a new one when None.
        time: seconds the call took, left out when None.

    Raises:
        PredictionError: the prediction is of another task or of another image.
    """
    task = checked_task(task)
    kind = PREDICTION_OF_TASK[task]
    if not isinstance(prediction, kind):
        raise PredictionError(
            f"a prediction for {task} must be {kind.__name__}, got {type(prediction).__name__}"
        )
    found: Any = prediction.to_numpy()
    if image_size is not None and checked_size("image_size", image_size) != found.image_size:
        raise PredictionError(
            f"a prediction on an image of {found.image_size} is no answer for one of "
            f"{tuple(image_size)}"
        )
    options = options or ResponseOptions()
    names = tuple(class_names) if class_names is not None else None
    names = found.class_names if found.class_names is not None else names
    response: dict[str, Any] = {"inference_id": inference_id or str(uuid4())}
    if time is not None:
        response["time"] = time
    if isinstance(found, InstanceDetections):
        return {**response, **_instances(found, names, options)}
    response["image"] = _size_object(found.image_size)
    if isinstance(found, ClassificationPrediction):
        return {**response, **_classification(found, names, options)}
    if isinstance(found, MultiLabelClassificationPrediction):
        return {**response, **_labels(found, names)}
    if isinstance(found, SemanticSegmentationResult):
        instances = found.to_instances()
        rows = _box_rows(instances, names, as_array(instances.xyxy))
        _set(rows, RLE, encode_masks(instances.masks))
    else:
        rows = _box_rows(found, names, found.xyxy)
        if isinstance(found, OrientedDetections):
            _set(rows, "points", [_points(corners) for corners in found.corners])
        elif isinstance(found, KeyPoints):
            _set(rows, "keypoints", _keypoints(found))
    return {**response, "predictions": rows}


def checked_task(task: Task | str) -> Task:
    """The task of a name.

    Raises:
        InvalidParameterError: no task has this name.
    """
    known = [str(one) for one in Task]
    if task not in known:
        raise InvalidParameterError(
            f"task must be one of {', '.join(known)}, got {task!r}",
            hint=nearest_name_hint(str(task), known),
        )
    return Task(task)


def _instances(
    found: InstanceDetections, names: tuple[str, ...] | None, options: ResponseOptions
) -> dict[str, Any]:
    on_grid = options.allow_reduced_mask_resolution
    masks = found.masks if on_grid else found.masks.on_image_grid()
    (height, width), (rows, columns) = found.image_size, masks.mask_size
    boxes = as_array(found.xyxy).astype(np.float64)
    result: dict[str, Any] = {"image": _size_object(masks.mask_size)}
    if on_grid:
        boxes = boxes * np.array([columns / width, rows / height] * 2)
        result["original_image"] = _size_object(found.image_size)
        result["mask_metadata"] = {
            "coordinate_system": MASK_GRID,
            "width": columns,
            "height": rows,
            "scale_x": width / columns,
            "scale_y": height / rows,
        }
    predictions = _box_rows(found, names, boxes)
    if options.response_mask_format == "rle":
        _set(predictions, RLE, encode_masks(masks))
    else:
        outlines = largest_polygons(masks, image_px=False, min_points=_FEWEST_POINTS).polygons
        _set(predictions, "points", [_points(outline) for outline in outlines])
        # Readers that want a mask in every row find one in rows without an outline, too.
        for index, (row, outline) in enumerate(zip(predictions, outlines, strict=True)):
            if not len(outline):
                row[RLE] = encode_masks(masks.select([index]))[0]
    return {**result, "predictions": predictions}


def _box_rows(
    found: ScoredRows, names: tuple[str, ...] | None, xyxy: npt.NDArray[Any]
) -> list[dict[str, Any]]:
    boxes = np.asarray(xyxy, np.float64)
    sizes = boxes[:, 2:] - boxes[:, :2]
    centres = boxes[:, :2] + sizes / 2
    class_ids = as_array(found.class_id).tolist()
    ids = found.data.get(DETECTION_ID)
    rows = [
        {
            "x": x,
            "y": y,
            "width": width,
            "height": height,
            "confidence": score,
            "class": name,
            "class_id": class_id,
            DETECTION_ID: str(detection_id),
        }
        for (x, y), (width, height), score, name, class_id, detection_id in zip(
            centres.tolist(),
            sizes.tolist(),
            as_array(found.confidence).tolist(),
            _class_names(found, names, class_ids),
            class_ids,
            [uuid4() for _ in class_ids] if ids is None else ids,
            strict=True,
        )
    ]
    tracker_id = getattr(found, "tracker_id", None)
    if tracker_id is not None:
        _set(rows, "tracker_id", as_array(tracker_id).tolist())
    return rows


def _class_names(
    found: ScoredRows, names: tuple[str, ...] | None, class_ids: list[int]
) -> list[str]:
    if names is None:
        column = found.data.get(CLASS_NAME)
        return [str(one) for one in (class_ids if column is None else column)]
    wrong = [one for one in class_ids if not 0 <= one < len(names)]
    if wrong:
        raise PredictionError(f"class id {wrong[0]} has no name: there are {len(names)} names")
    return [names[one] for one in class_ids]


def _keypoints(found: KeyPoints) -> list[list[dict[str, Any]]]:
    """The visible points of each object; the class of a point is its slot."""
    names = found.point_names()
    return [
        [
            {
                "x": x,
                "y": y,
                "confidence": confidence,
                "class_id": slot,
                "class": name or str(slot),
            }
            for slot, ((x, y), confidence, name, visible) in enumerate(row)
            if visible
        ]
        for row in (
            zip(*columns, strict=True)
            for columns in zip(
                as_array(found.xy).tolist(),
                as_array(found.keypoint_confidence).tolist(),
                names.tolist(),
                as_array(found.visible).tolist(),
                strict=True,
            )
        )
    ]


def _classification(
    found: ClassificationPrediction, names: tuple[str, ...] | None, options: ResponseOptions
) -> dict[str, Any]:
    """Classes by falling score, equal scores by id, and the first of them."""
    scores = as_array(found.confidence).tolist()
    labels = _labels_of(scores, names)
    order = sorted(range(len(scores)), key=lambda class_id: -scores[class_id])
    classes = [
        {"class": labels[class_id], "class_id": class_id, "confidence": scores[class_id]}
        for class_id in order
        if scores[class_id] >= options.min_confidence
    ]
    top = classes[0] if classes else {"class": "", "confidence": 0.0}
    return {"predictions": classes, "top": top["class"], "confidence": top["confidence"]}


def _labels(
    found: MultiLabelClassificationPrediction, names: tuple[str, ...] | None
) -> dict[str, Any]:
    """Every class by name, and the names of those the image has by rising id."""
    scores = as_array(found.confidence).tolist()
    labels = _labels_of(scores, names)
    if len(set(labels)) < len(labels):
        raise PredictionError(
            f"classes share a name ({', '.join(labels)}); labels are told apart by name"
        )
    return {
        "predictions": {
            label: {"confidence": score, "class_id": class_id}
            for class_id, (label, score) in enumerate(zip(labels, scores, strict=True))
        },
        "predicted_classes": [labels[one] for one in sorted(as_array(found.class_ids).tolist())],
    }


def _labels_of(scores: list[float], names: tuple[str, ...] | None) -> Sequence[str]:
    if names is None:
        return [str(class_id) for class_id in range(len(scores))]
    if len(names) != len(scores):
        raise PredictionError(f"{len(scores)} scores need as many class names, got {len(names)}")
    return names


def _size_object(size: Size) -> dict[str, int]:
    return {"width": size[1], "height": size[0]}


def _points(polygon: npt.NDArray[np.float32]) -> list[dict[str, float]]:
    return [{"x": x, "y": y} for x, y in polygon.tolist()]


def _set(rows: list[dict[str, Any]], key: str, values: Sequence[Any]) -> None:
    for row, value in zip(rows, values, strict=True):
        row[key] = value
