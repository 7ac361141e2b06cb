"""Multi-Label Classification Model, version 2, on tensors. The version itself is in `v2`."""

from __future__ import annotations

from blocks.models.multi_label_classification.v2 import MultiLabelClassificationModelBlockV2
from blocks.models.tensor_model import TensorModel


class MultiLabelClassificationModelTensorBlockV2(TensorModel, MultiLabelClassificationModelBlockV2):
    """Takes tensor images and gives predictions as the model made them."""
