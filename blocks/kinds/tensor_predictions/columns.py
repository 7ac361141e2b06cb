"""Columns of predictions on the tensor side: looking into them and making changed copies.

`xyxy`, `confidence`, `class_id` and `tracker_id` are tensors; the columns of `data` (text, lineage,
measurements, RLE) stay on the host, as no arithmetic is done on them. What `sv.Detections` can hold
and a tensor column cannot is kept beside it: other element types in a column of `data` named by
`exact_name`, the names of fields that are None in `metadata[ABSENT]`.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from blocks.kinds.detections import columns as table
from blocks.kinds.detections import keys
from blocks.kinds.detections.lineage import class_names_from_ids, detection_ids, image_level_of
from execution_engine.block_api import WorkflowImageData

if TYPE_CHECKING:
    from inference_models.predictions import (
        Detections,
        InstanceDetections,
        KeyPoints,
        OrientedDetections,
    )

    TensorDetections = Detections | InstanceDetections | KeyPoints | OrientedDetections

ABSENT = "absent_fields"
NUMPY_TYPES: Mapping[str, type] = {
    "xyxy": np.float32,
    "confidence": np.float32,
    "class_id": np.int64,
    "tracker_id": np.int64,
}
"""Element types of `sv.Detections` that a tensor column stands for without a companion."""


def exact_name(name: str) -> str:
    """Name of the column of `data` with the values of a field in the type they came in."""
    return f"exact_{name}"


def is_absent(prediction: TensorDetections, name: str) -> bool:
    """Whether a field is None in the numpy form: `confidence`, `class_id`, `tracker_id`, `mask`."""
    if name == "tracker_id":
        return getattr(prediction, name, None) is None
    return name in prediction.metadata.get(ABSENT, ())


def host_field(prediction: TensorDetections, name: str) -> NDArray[Any] | None:
    """A field as numpy array with the values it came with, None where it is absent."""
    from inference_models.predictions.columns import as_array

    if is_absent(prediction, name):
        return None
    exact = prediction.data.get(exact_name(name))
    if exact is not None:
        return np.asarray(exact)
    values = as_array(getattr(prediction, name))
    return values.astype(NUMPY_TYPES[name], copy=False)


def column(prediction: TensorDetections, name: str) -> Any:
    """One entry a row of a property, on the host; names and errors as for `sv.Detections`."""
    return table.property_of(lambda field: host_field(prediction, field), prediction.data, name)


def class_names(prediction: TensorDetections) -> NDArray[Any]:
    """(n,) text: the column `class_name`, else names by the table of classes, else the ids."""
    if prediction.class_names is not None:
        return prediction.class_name
    named = prediction.data.get(keys.CLASS_NAME)
    if named is not None:
        return np.asarray(named)
    return class_names_from_ids(host_field(prediction, "class_id"), len(prediction))


def select(prediction: TensorDetections, rows: NDArray[Any]) -> TensorDetections:
    """The rows of a boolean mask or of positions; without any, the metadata know the image."""
    rows = np.asarray(rows)
    if rows.size == 0 and rows.dtype != np.bool_:
        rows = rows.astype(np.int64)
    chosen = prediction.select(rows)
    if len(chosen) or not len(prediction):
        return chosen
    return chosen.replace(metadata={**prediction.metadata, **image_level_values(prediction)})


def image_level_values(prediction: TensorDetections) -> dict[str, Any]:
    """Values of the image-level columns: of the first row, or of the metadata for zero rows."""
    if len(prediction) == 0:
        return {key: prediction.metadata[key] for key in keys.IMAGE_LEVEL
                if key in prediction.metadata}  # fmt: skip
    found = {}
    for key in keys.IMAGE_LEVEL:
        if key in prediction.data:
            first = prediction.data[key][0]
            found[key] = first.tolist() if isinstance(first, (np.ndarray, np.generic)) else first
    return found


def with_fields(prediction: TensorDetections, **fields: Any) -> TensorDetections:
    """The prediction with other tensors in fields; what was kept beside the old ones goes."""
    gone = {exact_name(name) for name in fields}
    data = {name: values for name, values in prediction.data.items() if name not in gone}
    absent = tuple(name for name in prediction.metadata.get(ABSENT, ()) if name not in fields)
    metadata = {**prediction.metadata, ABSENT: absent}
    return prediction.replace(**fields, data=data, metadata=metadata)


def with_data(prediction: TensorDetections, columns: Mapping[str, Any]) -> TensorDetections:
    """The prediction with columns of `data` replaced or added; the table of classes goes when the
    names of classes change.
    """
    changed: dict[str, Any] = {"data": {**prediction.data, **columns}}
    if keys.CLASS_NAME in columns:
        changed["class_names"] = None
    return prediction.replace(**changed)


def with_lineage(
    prediction: TensorDetections,
    image: WorkflowImageData,
    prediction_type: str,
    inference_id: str | None = None,
) -> TensorDetections:
    """Predictions made on an image, with the columns that `attach_lineage` gives to detections."""
    from blocks.kinds.detections.lineage import repeated

    count = len(prediction)
    values = image_level_of(image, prediction_type, inference_id)
    data = dict(prediction.data)
    if keys.CLASS_NAME not in data:
        data[keys.CLASS_NAME] = class_names(prediction)
    if keys.DETECTION_ID not in data:
        data[keys.DETECTION_ID] = detection_ids(count)
    data.update(repeated(values, count))
    metadata = dict(prediction.metadata)
    if count == 0:
        metadata.update(values)
    return prediction.replace(data=data, metadata=metadata)
