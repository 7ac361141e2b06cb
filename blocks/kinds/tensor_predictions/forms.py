"""From `sv.Detections` to predictions on the tensor side and back, without losing anything.

What happens to the columns beside tensors is described in `columns`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from blocks.kinds.detections import keys
from blocks.kinds.detections.lineage import image_size_of
from blocks.kinds.detections.masks import instance_masks
from blocks.kinds.tensor_predictions.columns import (
    ABSENT,
    NUMPY_TYPES,
    exact_name,
    host_field,
    is_absent,
)
from blocks.kinds.tensor_predictions.recognition import is_tensor_detections

if TYPE_CHECKING:
    import supervision as sv

    from blocks.kinds.tensor_predictions.columns import TensorDetections
    from inference_models.masks import InstanceMasks
    from inference_models.predictions import KeyPoints

# What stands in a tensor column for a field that is None.
_STAND_INS = {"confidence": 1.0, "class_id": 0}
# Columns of detections that `KeyPoints` and `OrientedDetections` have as fields.
_OWN_COLUMNS = {
    keys.KEYPOINTS_XY,
    keys.KEYPOINTS_CONFIDENCE,
    keys.KEYPOINTS_CLASS_ID,
    keys.KEYPOINTS_CLASS_NAME,
    keys.ORIENTED_BOX,
}
_LARGEST_CLASS_ID = np.iinfo(np.int32).max


def to_tensor(detections: sv.Detections, device: str = "cpu") -> TensorDetections:
    """Detections as `InstanceDetections` where they carry masks, else as `Detections`.

    Keypoints and oriented boxes stay columns of `data`. Masks are crops on the pixels of the image.
    Detections that do not know the size of their image get the smallest that holds their boxes as
    `image_size`; only the column `image_dimensions` counts for blocks.

    Args:
        detections: n rows; not changed.
        device: torch device of the tensors.
    """
    from inference_models.predictions import Detections, InstanceDetections
    from inference_models.predictions.columns import as_tensor

    data = {key: _host_column(values) for key, values in detections.data.items()}
    fields: dict[str, Any] = {}
    absent = [name for name in (*_STAND_INS, "mask") if getattr(detections, name) is None]
    for name, canonical in NUMPY_TYPES.items():
        values = getattr(detections, name)
        if values is None:
            if name in _STAND_INS:
                values = np.full(len(detections), _STAND_INS[name], canonical)
        elif not _fits(name, values):
            data[exact_name(name)] = np.asarray(values)
        fields[name] = None if values is None else as_tensor(_narrowed(name, values), device)
    metadata = {**detections.metadata, ABSENT: tuple(absent)}
    size = image_size_of(detections)
    masks = _masks(detections, size)
    if masks is not None:
        return InstanceDetections(
            **fields, masks=masks, image_size=masks.image_size, data=data, metadata=metadata
        )
    size = size or _size_around(detections.xyxy)
    return Detections(**fields, image_size=size, data=data, metadata=metadata)


def to_numpy(prediction: Any, *, masks: bool = True) -> sv.Detections:
    """A prediction on the tensor side as detections; what `to_tensor` was given comes back.

    Args:
        prediction: n rows; what is not of the tensor side is given back as it is, for others to
            refuse.
        masks: False leaves masks out, for those that look at boxes only.
    """
    if not is_tensor_detections(prediction):
        return prediction
    import supervision as sv

    from inference_models.predictions import InstanceDetections, KeyPoints

    if isinstance(prediction, KeyPoints):
        made = reported_keypoints(prediction)
    elif isinstance(prediction, InstanceDetections) and (
        not masks or is_absent(prediction, "mask")
    ):
        made = prediction.without_masks().to_supervision()
    else:
        made = prediction.to_supervision()
    kept = {exact_name(name) for name in NUMPY_TYPES}
    data = {key: values for key, values in made.data.items() if key not in kept}
    metadata = {key: value for key, value in made.metadata.items() if key != ABSENT}
    fields = {name: _field(prediction, made, name) for name in NUMPY_TYPES}
    return sv.Detections(**fields, mask=made.mask, data=data, metadata=metadata)


def with_rows_of(prediction: TensorDetections, detections: sv.Detections) -> TensorDetections:
    """Detections made of a prediction's rows, one by one, on the tensor side in its own class."""
    from inference_models.predictions import KeyPoints, OrientedDetections
    from inference_models.predictions.columns import as_tensor

    made = to_tensor(detections, prediction.device)
    if not isinstance(prediction, (KeyPoints, OrientedDetections)):
        return made
    data = {name: values for name, values in made.data.items() if name not in _OWN_COLUMNS}
    fields: dict[str, Any] = {"image_size": made.image_size, "metadata": made.metadata}
    if isinstance(prediction, KeyPoints):
        fields["xyxy"] = made.xyxy
        fields["xy"] = as_tensor(detections.data[keys.KEYPOINTS_XY], prediction.device)
    else:
        fields["corners"] = as_tensor(detections.data[keys.ORIENTED_BOX], prediction.device)
    return prediction.replace(**fields, data=data)


def reported_keypoints(points: KeyPoints) -> sv.Detections:
    """Boxes with the point columns of `keys.py`.

    A point below the threshold, at (0, 0) or of a slot that the class does not use has no name,
    which marks it as padding: it is neither drawn nor written to JSON. Its position stays.
    """
    from inference_models.predictions.columns import as_array

    detections = points.to_supervision_detections()
    names = np.where(as_array(points.visible), detections.data[keys.KEYPOINTS_CLASS_NAME], "")
    detections.data[keys.KEYPOINTS_CLASS_NAME] = names.astype(str)
    return detections


def _field(prediction: TensorDetections, made: sv.Detections, name: str) -> Any:
    # Upright boxes around oriented ones are worked out by the bridge.
    if name == "xyxy" and not any(column.name == name for column in prediction.COLUMNS):
        return made.xyxy
    return host_field(prediction, name)


def _fits(name: str, values: Any) -> bool:
    if values.dtype != NUMPY_TYPES[name]:
        return False
    return name != "class_id" or not len(values) or int(np.abs(values).max()) <= _LARGEST_CLASS_ID


def _narrowed(name: str, values: Any) -> Any:
    if name == "class_id":
        return np.clip(values, -_LARGEST_CLASS_ID, _LARGEST_CLASS_ID).astype(np.int32)
    return np.asarray(values).astype(NUMPY_TYPES[name], copy=False)


def _host_column(values: Any) -> Any:
    """A column as array; lists of anything become (n,) objects, so that rows can be taken."""
    if isinstance(values, np.ndarray):
        return values
    column = np.empty(len(values), dtype=object)
    for row, value in enumerate(values):
        column[row] = value
    return column


def _masks(detections: sv.Detections, size: tuple[int, int] | None) -> InstanceMasks | None:
    try:
        return instance_masks(detections, size)
    except ValueError:
        # RLE of unlike grids without a word about the image: only their column can be handed on.
        return None


def _size_around(boxes: Any) -> tuple[int, int]:
    finite = np.asarray(boxes, np.float64)
    finite = finite[np.isfinite(finite).all(axis=1)]
    if not len(finite):
        return 1, 1
    width, height = np.ceil(np.clip(finite.max(axis=0)[2:], 1, 2**31 - 1)).astype(int).tolist()
    return height, width
