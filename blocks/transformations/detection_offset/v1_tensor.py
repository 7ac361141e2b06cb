"""Detection Offset, version 1, on tensors: the arithmetic of `family` in torch, in double precision
as there.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np

from blocks.kinds.detections import keys
from blocks.kinds.detections.lineage import detection_ids
from blocks.kinds.tensor_predictions.columns import exact_name, with_data, with_fields
from blocks.kinds.tensor_predictions.forms import to_numpy, to_tensor
from blocks.transformations.detection_offset import family
from blocks.transformations.detection_offset.v1 import DetectionOffsetBlockV1
from execution_engine.errors import InvalidFieldValueError
from execution_engine.kinds.representation import TENSOR

if TYPE_CHECKING:
    from blocks.kinds.tensor_predictions.columns import TensorDetections


def enlarged(
    prediction: TensorDetections, offset_width: float, offset_height: float, units: family.Units
) -> TensorDetections:
    """The prediction with larger boxes; arguments and errors as for `family.enlarged`."""
    import torch

    count = len(prediction)
    if count == 0:
        return prediction
    if not any(column.name == "xyxy" for column in prediction.COLUMNS) or (
        exact_name("xyxy") in prediction.data
    ):
        # Oriented boxes have no upright ones to enlarge, boxes in double precision no tensor.
        rows = family.enlarged(to_numpy(prediction), offset_width, offset_height, units)
        return to_tensor(rows, prediction.device)
    family.require_ids(prediction.data)
    boxes: Any = torch.as_tensor(prediction.xyxy).double()
    sizes = boxes[:, 2:] - boxes[:, :2]
    offsets = torch.tensor([offset_width, offset_height], device=boxes.device)
    if units == "Pixels":
        half = torch.div(offsets, 2, rounding_mode="floor").double().expand_as(sizes)
    elif units == "Percent (%)":
        half = torch.trunc(sizes * offsets / 200)
    else:
        raise InvalidFieldValueError(
            f'`units` must be "Percent (%)" or "Pixels", got {units!r:.60}'
        )
    half = torch.maximum(half, -sizes / 2)
    corners = torch.cat([boxes[:, :2] - half, boxes[:, 2:] + half], dim=1).clamp(min=0)
    limits = family.box_limits(prediction.data)
    if limits is not None:
        corners = torch.minimum(corners, torch.from_numpy(limits).to(corners.device))
    grown = with_fields(prediction, xyxy=corners.float())
    columns = {
        keys.PARENT_ID: np.asarray(prediction.data[keys.DETECTION_ID]).copy(),
        keys.DETECTION_ID: detection_ids(count),
    }
    return with_data(grown, columns)


class DetectionOffsetTensorBlockV1(DetectionOffsetBlockV1):
    representation: ClassVar[str] = TENSOR
    enlarged = staticmethod(enlarged)
