"""Multi-Label Classification Model, version 1, on tensors. The version itself is in `v1`."""

from __future__ import annotations

from blocks.models.multi_label_classification.v1 import MultiLabelClassificationModelBlockV1
from blocks.models.tensor_model import TensorModel


class MultiLabelClassificationModelTensorBlockV1(TensorModel, MultiLabelClassificationModelBlockV1):
    """Takes tensor images and gives predictions as the model made them."""
