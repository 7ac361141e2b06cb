"""Cutting a rectangle out of the pixels of an image, in either representation. No block may live
here.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from execution_engine.block_api import WorkflowImageData

Interval = tuple[int, int]
Window = Callable[[WorkflowImageData, Interval, Interval], Any]
"""Gives the pixels of an image in (top, bottom) and (left, right), ends exclusive, as a view."""


def numpy_window(image: WorkflowImageData, rows: Interval, columns: Interval) -> np.ndarray:
    """(h, w, 3) BGR or (h, w) uint8."""
    return image.numpy_image[slice(*rows), slice(*columns)]


def tensor_window(image: WorkflowImageData, rows: Interval, columns: Interval) -> Any:
    """(3, h, w) RGB or (1, h, w) uint8 tensor on the device of the image."""
    return image.tensor_image[:, slice(*rows), slice(*columns)]
