"""Brings what callers call an image into one form: (h, w, 3) BGR or (h, w), uint8. Decodes no
files."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from typing import Any, Literal

import numpy as np

from inference_models.errors import ModelInputError

ColorOrder = Literal["bgr", "rgb"]


def as_image_list(images: Any, color_order: ColorOrder | None = None) -> list[np.ndarray]:
    """The images of a call.

    Args:
        images: an array (h, w, 3) or (h, w) uint8, a torch tensor (3, h, w) or (b, 3, h, w) uint8,
            or a sequence of arrays and (3, h, w) tensors.
        color_order: order of the channels; None means BGR for arrays and RGB for tensors.

    Returns:
        (h, w, 3) BGR or (h, w) uint8 arrays, views where possible.

    Raises:
        ModelInputError: no image is given, or one is not an image.
    """
    if isinstance(images, np.ndarray):
        return [_as_bgr(images, color_order, "images")]
    if _is_tensor(images):
        if images.ndim == 4:
            return [_as_bgr(one, color_order, f"images[{n}]") for n, one in enumerate(images)]
        return [_as_bgr(images, color_order, "images")]
    if not isinstance(images, Sequence) or isinstance(images, (str, bytes)):
        raise ModelInputError(
            f"images must be an array, a tensor or a list of them, got {type(images).__name__}"
        )
    if not images:
        raise ModelInputError("images is empty: expected at least one image")
    return [_as_bgr(one, color_order, f"images[{n}]") for n, one in enumerate(images)]


def _as_bgr(image: Any, color_order: ColorOrder | None, where: str) -> np.ndarray:
    if _is_tensor(image):
        array = image.detach().cpu().numpy()
        if array.ndim == 3 and array.shape[0] in (1, 3):
            array = array[0] if array.shape[0] == 1 else array.transpose(1, 2, 0)
        elif not (array.ndim == 3 and array.shape[2] == 3):
            raise ModelInputError(
                f"{where} must be a tensor (3, h, w) or (1, h, w), got {tuple(array.shape)}"
            )
        is_rgb = color_order != "bgr"
    elif isinstance(image, np.ndarray):
        array = image[:, :, 0] if image.ndim == 3 and image.shape[2] == 1 else image
        if array.ndim != 2 and not (array.ndim == 3 and array.shape[2] == 3):
            raise ModelInputError(
                f"{where} must be an array (h, w, 3) or (h, w), got {image.shape}"
            )
        is_rgb = color_order == "rgb"
    else:
        raise ModelInputError(
            f"{where} must be a numpy array or a torch tensor, got {type(image).__name__}"
        )
    if array.dtype != np.uint8:
        raise ModelInputError(f"{where} must hold uint8 values 0-255, got {array.dtype}")
    if array.size == 0:
        raise ModelInputError(f"{where} has no pixels: its size is {array.shape[:2]}")
    return array[:, :, ::-1] if is_rgb and array.ndim == 3 else array


def _is_tensor(value: Any) -> bool:
    torch = sys.modules.get("torch")
    return torch is not None and isinstance(value, torch.Tensor)
