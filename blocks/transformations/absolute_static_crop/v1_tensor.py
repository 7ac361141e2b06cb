"""Absolute Static Crop, version 1, on tensors: crops are views of the image's tensor."""

from __future__ import annotations

from typing import ClassVar

from blocks.transformations.absolute_static_crop.v1 import AbsoluteStaticCropBlockV1
from blocks.transformations.windows import tensor_window
from execution_engine.kinds.representation import TENSOR


class AbsoluteStaticCropTensorBlockV1(AbsoluteStaticCropBlockV1):
    representation: ClassVar[str] = TENSOR
    window = staticmethod(tensor_window)
