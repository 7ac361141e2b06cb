"""Relative Static Crop, version 1, on tensors: crops are views of the image's tensor."""

from __future__ import annotations

from typing import ClassVar

from blocks.transformations.relative_static_crop.v1 import RelativeStaticCropBlockV1
from blocks.transformations.windows import tensor_window
from execution_engine.kinds.representation import TENSOR


class RelativeStaticCropTensorBlockV1(RelativeStaticCropBlockV1):
    representation: ClassVar[str] = TENSOR
    window = staticmethod(tensor_window)
