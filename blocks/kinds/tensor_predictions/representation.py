"""The representation `tensor`: what the engine asks for at the seams between blocks on numpy and
blocks on tensors. Imports torch and supervision only when a value needs them.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from blocks.kinds.detections.root import to_root
from blocks.kinds.prediction_kinds import PREDICTION_KINDS
from blocks.kinds.tensor_predictions.recognition import (
    PREDICTIONS,
    is_tensor_classification,
    is_tensor_detections,
)
from execution_engine.kinds.codec import KindCodec
from execution_engine.kinds.json_form import json_form
from execution_engine.kinds.representation import NUMPY, TENSOR, Converter, Representation

CLASSIFICATION = "classification_prediction"


class ToTensor(Converter):
    """`sv.Detections` to predictions with tensors. Images hold both forms and need no change."""

    kinds = PREDICTION_KINDS
    source = NUMPY
    target = TENSOR

    def convert(self, value: Any) -> Any:
        """Detections on tensors of the CPU; other values as they are."""
        import supervision as sv

        from blocks.kinds.tensor_predictions.forms import to_tensor

        return to_tensor(value) if isinstance(value, sv.Detections) else value


class ToNumpy(Converter):
    """Predictions with tensors to `sv.Detections`, classifications to their dictionaries."""

    kinds = (*PREDICTION_KINDS, CLASSIFICATION)
    source = TENSOR
    target = NUMPY

    def convert(self, value: Any) -> Any:
        """The numpy form; other values as they are."""
        if is_tensor_detections(value):
            from blocks.kinds.tensor_predictions.forms import to_numpy

            return to_numpy(value)
        if is_tensor_classification(value):
            from blocks.kinds.classification import dictionary_of

            return dictionary_of(value)
        return value


class TensorDetectionsCodec(KindCodec):
    """Looks into detections of the tensor side; `DetectionsCodec` writes them."""

    kind = "tensor_detections"
    python_type = f"{PREDICTIONS}columns.ColumnRows"

    def serialise(self, value: Any) -> Any:
        """The JSON form that the numpy form has where the kind is not known."""
        from blocks.kinds.detections.serialise import serialise_detections
        from blocks.kinds.tensor_predictions.forms import to_numpy

        return serialise_detections(to_numpy(value))

    def to_root(self, value: Any) -> Any:
        """The predictions in the space of the workflow's input image; never in place."""
        from blocks.kinds.tensor_predictions.forms import to_numpy, with_rows_of

        # Rows are few and masks are crops on the host: moving has one implementation.
        rows = to_numpy(value)
        moved = to_root(rows)
        return value if moved is rows else with_rows_of(value, moved)

    def length(self, value: Any) -> int:
        """Number of rows."""
        return len(value)

    def column(self, value: Any, name: str) -> Any:
        """One entry a row of a property, on the host; raises `KeyError` when it is not there."""
        from blocks.kinds.tensor_predictions import columns

        return columns.column(value, name)

    def select(self, value: Any, rows: np.ndarray) -> Any:
        """The rows of a boolean mask or of positions, as new predictions."""
        from blocks.kinds.tensor_predictions import columns

        return columns.select(value, rows)

    def with_columns(self, value: Any, columns: Mapping[str, Any]) -> Any:
        """New predictions with columns replaced or added."""
        from blocks.kinds.detections.columns import with_columns
        from blocks.kinds.tensor_predictions.forms import to_numpy, to_tensor

        return to_tensor(with_columns(to_numpy(value), columns), value.device)

    def copy(self, value: Any) -> Any:
        """Predictions that share no writable memory with the given ones."""
        from blocks.kinds.detections.columns import copy_of
        from blocks.kinds.tensor_predictions.forms import to_numpy, to_tensor

        return to_tensor(copy_of(to_numpy(value)), value.device)


class TensorClassificationCodec(KindCodec):
    """Writes classifications, on the tensor side as on the numpy side.

    Args:
        python_type: the class of the tensor side.
    """

    kind = CLASSIFICATION

    def __init__(self, python_type: str) -> None:
        self.python_type = python_type

    def serialise(self, value: Any) -> Any:
        """The dictionary of the classification."""
        if is_tensor_classification(value):
            from blocks.kinds.classification import dictionary_of

            value = dictionary_of(value)
        return json_form(value)


def tensor_codecs() -> list[KindCodec]:
    """Codecs of the types of the tensor side."""
    names = ("ClassificationPrediction", "MultiLabelClassificationPrediction")
    return [
        TensorDetectionsCodec(),
        *(TensorClassificationCodec(f"{PREDICTIONS}whole_image.{name}") for name in names),
    ]


def tensor_representation() -> list[Representation]:
    """What the core plug-in offers beside `numpy`."""
    return [
        Representation(TENSOR, (ToTensor(), ToNumpy()), "torch", "pip install 'weftlens[torch]'")
    ]
