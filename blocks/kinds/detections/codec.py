"""The codec of `sv.Detections` for each kind of prediction with boxes.

Reading, writing and moving are in the files beside, not here.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from blocks.kinds.detections import columns as table
from blocks.kinds.detections.deserialise import deserialise_detections
from blocks.kinds.detections.read_masks import MaskColumns
from blocks.kinds.detections.root import to_root
from blocks.kinds.detections.serialise import MaskForm, serialise_detections
from execution_engine.kinds.codec import DecodingContext, KindCodec

if TYPE_CHECKING:
    import numpy as np
    import supervision as sv

DETECTIONS_TYPE = "supervision.detection.core.Detections"


class DetectionsCodec(KindCodec):
    """Predictions with boxes, held as `sv.Detections`.

    Args:
        kind: name of the kind.
        prediction_type: written into rows of a JSON form that bring none.
        mask_form: how masks are written.
        mask_columns: what a set without rows has for masks.
    """

    python_type = DETECTIONS_TYPE

    def __init__(
        self,
        kind: str,
        prediction_type: str,
        mask_form: MaskForm = "any",
        mask_columns: MaskColumns = "none",
    ) -> None:
        self.kind = kind
        self._prediction_type = prediction_type
        self._mask_form: MaskForm = mask_form
        self._mask_columns: MaskColumns = mask_columns

    def serialise(self, value: Any) -> dict[str, Any]:
        """`{"image", "predictions"}`; raises `TypeError` or `ValueError` for other values."""
        return serialise_detections(_checked(value), self._mask_form)

    def deserialise(self, name: str, value: Any, context: DecodingContext) -> sv.Detections:
        """Detections from `{"image", "predictions"}`; raises `ValueError` naming what is wrong."""
        return deserialise_detections(name, value, self._prediction_type, self._mask_columns)

    def to_root(self, value: Any) -> sv.Detections:
        """The detections in the space of the workflow's input image; never in place."""
        return to_root(value)

    def length(self, value: Any) -> int:
        """Number of rows."""
        return len(value)

    def column(self, value: Any, name: str) -> Any:
        """One entry a row of a property; raises `KeyError` when it is not there."""
        return table.column(value, name)

    def select(self, value: Any, rows: np.ndarray) -> sv.Detections:
        """The rows of a boolean mask or of positions, as new detections."""
        return table.select(value, rows)

    def with_columns(self, value: Any, columns: Mapping[str, Any]) -> sv.Detections:
        """New detections with columns replaced or added."""
        return table.with_columns(value, columns)

    def copy(self, value: Any) -> sv.Detections:
        """Detections that share no writable memory with the given ones."""
        return table.copy_of(value)


def _checked(value: Any) -> sv.Detections:
    import supervision as sv

    from blocks.kinds.tensor_predictions.recognition import is_tensor_detections

    if is_tensor_detections(value):
        from blocks.kinds.tensor_predictions.forms import to_numpy

        return to_numpy(value)
    if not isinstance(value, sv.Detections):
        raise TypeError(f"detections were expected, got {type(value).__name__}")
    return value


def detections_codecs() -> list[DetectionsCodec]:
    """One codec a kind; the first one also serves values whose kind is not known."""
    return [
        DetectionsCodec("object_detection_prediction", "object-detection"),
        DetectionsCodec("qr_code_detection", "qrcode-detection"),
        DetectionsCodec("bar_code_detection", "barcode-detection"),
        DetectionsCodec(
            "instance_segmentation_prediction", "instance-segmentation", "points", "mask"
        ),
        DetectionsCodec(
            "rle_instance_segmentation_prediction", "instance-segmentation", "rle_only", "rle"
        ),
        DetectionsCodec("semantic_segmentation_prediction", "semantic-segmentation", "rle", "rle"),
        DetectionsCodec("keypoint_detection_prediction", "keypoint-detection"),
    ]
