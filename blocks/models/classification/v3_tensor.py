"""Single-Label Classification Model, version 3, on tensors. The version itself is in `v3`."""

from __future__ import annotations

from blocks.models.classification.v3 import ClassificationModelBlockV3
from blocks.models.tensor_model import TensorModel


class ClassificationModelTensorBlockV3(TensorModel, ClassificationModelBlockV3):
    """Takes tensor images and gives predictions as the model made them."""
