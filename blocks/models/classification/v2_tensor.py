"""Single-Label Classification Model, version 2, on tensors. The version itself is in `v2`."""

from __future__ import annotations

from blocks.models.classification.v2 import ClassificationModelBlockV2
from blocks.models.tensor_model import TensorModel


class ClassificationModelTensorBlockV2(TensorModel, ClassificationModelBlockV2):
    """Takes tensor images and gives predictions as the model made them."""
