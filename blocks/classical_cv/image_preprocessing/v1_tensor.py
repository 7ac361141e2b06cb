"""Image Preprocessing, version 1, on tensors."""

from __future__ import annotations

from typing import Any, ClassVar

import numpy as np

from blocks.classical_cv.image_preprocessing.v1 import ImagePreprocessingBlockV1
from blocks.parameters import choice, picture_size, whole_number
from execution_engine.block_api import BlockResult, WorkflowImageData
from execution_engine.kinds.representation import TENSOR

_FLIPPED_AXES = {"vertical": (1,), "horizontal": (2,), "both": (1, 2)}


class ImagePreprocessingTensorBlockV1(ImagePreprocessingBlockV1):
    representation: ClassVar[str] = TENSOR

    def run(
        self,
        image: WorkflowImageData,
        task_type: str,
        width: int,
        height: int,
        rotation_degrees: int,
        flip_type: str,
    ) -> BlockResult:
        """`image`: the changed image; shrunk on a GPU, within one gray level of OpenCV's."""
        result = self._changed(image, task_type, width, height, rotation_degrees, flip_type)
        if result is None:
            # OpenCV's own call on the host: how it weighs pixels cannot be had bit by bit in torch.
            return super().run(image, task_type, width, height, rotation_degrees, flip_type)
        return {"image": WorkflowImageData.copy_and_replace(image, tensor_image=result)}

    @staticmethod
    def _changed(
        image: WorkflowImageData,
        task_type: str,
        width: int,
        height: int,
        rotation_degrees: int,
        flip_type: str,
    ) -> Any:
        """The pixels where torch can change them, None where it cannot."""
        if task_type == "flip":
            return image.tensor_image.flip(choice("flip_type", flip_type, _FLIPPED_AXES))
        if task_type == "rotate" and whole_number("rotation_degrees", rotation_degrees) == 0:
            return image.tensor_image
        if task_type == "resize" and not image.is_on_cpu:
            new_width, new_height = picture_size("width", width, "height", height)
            if new_height <= image.size[0] and new_width <= image.size[1]:
                return tensor_shrunk(image.tensor_image, (new_height, new_width))
        return None


def tensor_shrunk(pixels: Any, size: tuple[int, int]) -> Any:
    """(c, h, w) uint8 pixels at a smaller (height, width): each new pixel is the mean of the area
    it covers.
    """
    import torch

    rows, columns = (
        torch.from_numpy(_coverage(length, new)).to(pixels.device)
        for length, new in zip(pixels.shape[1:], size, strict=True)
    )
    return (rows @ pixels.double() @ columns.T).round().clamp(0, 255).to(torch.uint8)


def _coverage(length: int, new_length: int) -> np.ndarray:
    """(new, old) share that each old pixel has in each new one."""
    edges = np.arange(new_length + 1) * (length / new_length)
    starts, ends = edges[:-1, None], edges[1:, None]
    pixels = np.arange(length)
    covered = np.minimum(ends, pixels + 1) - np.maximum(starts, pixels)
    return np.maximum(covered, 0) * (new_length / length)
