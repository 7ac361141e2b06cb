"""Image slicer, version 2, on tensors: slices are views of the image's tensor."""

from __future__ import annotations

from typing import ClassVar

from blocks.transformations.image_slicer.v2 import ImageSlicerBlockV2
from blocks.transformations.windows import tensor_window
from execution_engine.kinds.representation import TENSOR


class ImageSlicerTensorBlockV2(ImageSlicerBlockV2):
    representation: ClassVar[str] = TENSOR
    window = staticmethod(tensor_window)
