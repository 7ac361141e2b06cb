"""Masks of instances on the network's canvas, dense, in torch: the form training is scored in.

Predictions of a loaded model take the way of `inference_models.masks`, which makes no dense canvas.
"""

from __future__ import annotations

import torch
from torch import Tensor
from torch.nn import functional

# Instances enlarged at a time: at 640 px sixteen canvases of float32 take 26 MB.
_CHUNK = 16


def mask_logits(coefficients: Tensor, prototypes: Tensor) -> Tensor:
    """(n, h, w) logits of the masks of one image on the prototypes' grid.

    Args:
        coefficients: (n, k) weights of the prototypes.
        prototypes: (k, h, w).
    """
    return torch.einsum("nk,khw->nhw", coefficients, prototypes)


def assemble_masks(
    coefficients: Tensor, prototypes: Tensor, boxes: Tensor, canvas_size: tuple[int, int]
) -> Tensor:
    """(n, H, W) bool masks of one image on the network's canvas.

    Probabilities, not logits, are enlarged (bilinear, half-pixel centres); a pixel is set where the
    probability is above one half and its centre lies in the instance's box.

    Args:
        coefficients: (n, k) weights of the prototypes.
        prototypes: (k, h, w).
        boxes: (n, 4) xyxy, px of the canvas.
        canvas_size: (height, width) of the network's input.
    """
    height, width = canvas_size
    masks = torch.zeros((len(boxes), height, width), dtype=torch.bool, device=boxes.device)
    for start in range(0, len(boxes), _CHUNK):
        part = slice(start, start + _CHUNK)
        chances = mask_logits(coefficients[part], prototypes).sigmoid()
        enlarged = functional.interpolate(
            chances[None], size=canvas_size, mode="bilinear", align_corners=False
        )[0]
        masks[part] = (enlarged > 0.5) & inside_boxes(boxes[part], canvas_size)
    return masks


def inside_boxes(boxes: Tensor, size: tuple[int, int]) -> Tensor:
    """(n, height, width) bool, whether the centre of a pixel lies in a half-open box (n, 4)."""
    y = torch.arange(size[0], dtype=boxes.dtype, device=boxes.device) + 0.5
    x = torch.arange(size[1], dtype=boxes.dtype, device=boxes.device) + 0.5
    x1, y1, x2, y2 = boxes[..., None].unbind(-2)
    columns = (x >= x1) & (x < x2)
    rows = (y >= y1) & (y < y2)
    return rows[:, :, None] & columns[:, None, :]
