"""Multi-Label Classification Model, version 3, on tensors. The version itself is in `v3`."""

from __future__ import annotations

from blocks.models.multi_label_classification.v3 import MultiLabelClassificationModelBlockV3
from blocks.models.tensor_model import TensorModel


class MultiLabelClassificationModelTensorBlockV3(TensorModel, MultiLabelClassificationModelBlockV3):
    """Takes tensor images and gives predictions as the model made them."""
