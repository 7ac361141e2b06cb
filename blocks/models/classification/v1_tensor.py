"""Single-Label Classification Model, version 1, on tensors. The version itself is in `v1`."""

from __future__ import annotations

from blocks.models.classification.v1 import ClassificationModelBlockV1
from blocks.models.tensor_model import TensorModel


class ClassificationModelTensorBlockV1(TensorModel, ClassificationModelBlockV1):
    """Takes tensor images and gives predictions as the model made them."""
