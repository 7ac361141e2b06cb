"""Image slicer, version 1, on tensors: slices are views of the image's tensor."""

from __future__ import annotations

from typing import ClassVar

from blocks.transformations.image_slicer.v1 import ImageSlicerBlockV1
from blocks.transformations.windows import tensor_window
from execution_engine.kinds.representation import TENSOR


class ImageSlicerTensorBlockV1(ImageSlicerBlockV1):
    representation: ClassVar[str] = TENSOR
    window = staticmethod(tensor_window)
