"""What detections know of the image they lie in and of its parents. Moves no coordinate."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any
from uuid import uuid4

import numpy as np

from blocks.kinds.detections import keys
from execution_engine.block_api import ImageParentMetadata, WorkflowImageData

if TYPE_CHECKING:
    import supervision as sv


def image_level_values(detections: sv.Detections) -> dict[str, Any]:
    """Values of the image-level columns: of the first row, or of the metadata for zero rows."""
    if len(detections) == 0:
        source: Mapping[str, Any] = detections.metadata
        return {key: source[key] for key in keys.IMAGE_LEVEL if key in source}
    found = {}
    for key in keys.IMAGE_LEVEL:
        column = detections.data.get(key)
        if column is not None:
            first = column[0]
            found[key] = first.tolist() if isinstance(first, (np.ndarray, np.generic)) else first
    return found


def image_size_of(detections: sv.Detections) -> tuple[int, int] | None:
    """(height, width) px of the image the detections lie in, None when they do not know it."""
    column = detections.data.get(keys.IMAGE_DIMENSIONS) if len(detections) else None
    size = column[0] if column is not None else detections.metadata.get(keys.IMAGE_DIMENSIONS)
    if size is None:
        return None
    return int(size[0]), int(size[1])


def keep_image_level(detections: sv.Detections, source: sv.Detections) -> sv.Detections:
    """`detections` with the image-level values of `source` in its metadata when it has no rows."""
    if len(detections) == 0:
        detections.metadata = {**detections.metadata, **image_level_values(source)}
    return detections


def detection_ids(count: int) -> np.ndarray:
    """(count,) fresh ids as text."""
    return np.array([str(uuid4()) for _ in range(count)], dtype="<U36")


def lineage_of(image: WorkflowImageData) -> dict[str, Any]:
    """Image-level values of detections that were made on this image."""
    height, width = image.size
    values: dict[str, Any] = {keys.IMAGE_DIMENSIONS: [height, width]}
    parent, root = image.parent_metadata, image.workflow_root_ancestor_metadata
    values[keys.PARENT_ID] = parent.parent_id
    values[keys.PARENT_COORDINATES], values[keys.PARENT_DIMENSIONS] = _place(parent)
    values[keys.ROOT_PARENT_ID] = root.parent_id
    values[keys.ROOT_PARENT_COORDINATES], values[keys.ROOT_PARENT_DIMENSIONS] = _place(root)
    values[keys.SCALING_RELATIVE_TO_PARENT] = 1.0
    values[keys.SCALING_RELATIVE_TO_ROOT_PARENT] = 1.0
    return values


def image_level_of(
    image: WorkflowImageData, prediction_type: str, inference_id: str | None = None
) -> dict[str, Any]:
    """Image-level values of predictions of a type that one call of a model made on this image."""
    values = lineage_of(image)
    values[keys.PREDICTION_TYPE] = prediction_type
    if inference_id is not None:
        values[keys.INFERENCE_ID] = inference_id
    return values


def _place(metadata: ImageParentMetadata) -> tuple[list[int], list[int]]:
    origin = metadata.origin_coordinates
    assert origin is not None
    return [origin.left_top_x, origin.left_top_y], [origin.origin_height, origin.origin_width]


def repeated(values: Mapping[str, Any], count: int) -> dict[str, np.ndarray]:
    """Image-level values as columns of so many rows, also for zero rows."""
    return {
        key: np.tile(np.asarray(value), (count, *[1] * np.ndim(value)))
        for key, value in values.items()
    }


def attach_lineage(
    detections: sv.Detections,
    image: WorkflowImageData,
    prediction_type: str,
    inference_id: str | None = None,
) -> sv.Detections:
    """Detections made on an image, with the columns that other blocks and the outputs rely on.

    Adds the image-level columns, and `detection_id` and `class_name` where they are missing. With
    zero rows the columns are there with their types, and the values are in the metadata.

    Args:
        detections: in pixels of the image; not changed.
        image: the image they were made on.
        prediction_type: such as `object-detection`.
        inference_id: id of the call of the model, left out when None.
    """
    import supervision as sv

    count = len(detections)
    values = image_level_of(image, prediction_type, inference_id)
    data = dict(detections.data)
    if keys.CLASS_NAME not in data:
        data[keys.CLASS_NAME] = class_names_from_ids(detections.class_id, count)
    if keys.DETECTION_ID not in data:
        data[keys.DETECTION_ID] = detection_ids(count)
    data.update(repeated(values, count))
    metadata = dict(detections.metadata)
    if count == 0:
        metadata.update(values)
    return sv.Detections(
        xyxy=detections.xyxy,
        mask=detections.mask,
        confidence=detections.confidence,
        class_id=detections.class_id,
        tracker_id=detections.tracker_id,
        data=data,
        metadata=metadata,
    )


def class_names_from_ids(class_id: np.ndarray | None, count: int) -> np.ndarray:
    """(count,) names for rows that have none: the class id as text, empty without ids."""
    if class_id is None:
        return np.full(count, "", dtype=str)
    return np.array([str(item) for item in class_id.tolist()], dtype=str)
