"""Masks and torch: dense tensors from masks and masks from dense tensors. The only mask module that
needs torch."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from inference_models.masks.carrier import InstanceMasks, Size
from inference_models.masks.errors import MaskError
from inference_models.masks.runs import splits_of_sizes

if TYPE_CHECKING:
    import torch

# Pixels whose ends of runs are looked for at once: 64 MB of work memory at most.
_BLOCK_PIXELS = 1 << 24


def masks_to_tensor(masks: InstanceMasks, device: torch.device | str = "cpu") -> torch.Tensor:
    """All masks as one (n, h, w) bool tensor on `device`. Only the crops travel there."""
    import torch

    dense = torch.zeros((len(masks), *masks.mask_size), dtype=torch.bool, device=device)
    for index, (x0, y0, x1, y1) in enumerate(masks.boxes.tolist()):
        if x1 > x0:
            dense[index, y0:y1, x0:x1] = torch.from_numpy(masks.crop(index)).to(device)
    return dense


def masks_from_tensor(dense: torch.Tensor, image_size: Size | None = None) -> InstanceMasks:
    """Masks from a dense tensor on any device; only the ends of the runs leave it.

    Args:
        dense: (n, h, w), any dtype; a pixel is set when it is not zero.
        image_size: the image the masks cover; (h, w) when None.

    Raises:
        MaskError: the tensor does not have three axes.
    """
    import torch

    if dense.ndim != 3:
        raise MaskError(f"dense masks must be (n, h, w), got shape {tuple(dense.shape)}")
    count, height, width = dense.shape
    block = max(1, _BLOCK_PIXELS // max(1, height * width))
    parts, sizes = [np.zeros((3, 0), np.int32)], [np.zeros(0, np.int64)]
    for start in range(0, count, block):
        columns = (dense[start : start + block] != 0).transpose(1, 2)
        framed = torch.nn.functional.pad(columns.to(torch.uint8), (1, 1))
        # Sorted by mask, column, row, so beginnings and ends of runs take turns.
        ends = torch.nonzero(framed[..., 1:] != framed[..., :-1]).cpu().numpy()
        owner, column, row = ends[::2, 0], ends[::2, 1], ends[:, 2]
        parts.append(np.stack([column, row[::2], row[1::2]]).astype(np.int32))
        sizes.append(np.bincount(owner, minlength=len(columns)))
    return InstanceMasks.from_runs(
        np.concatenate(parts, axis=1),
        splits_of_sizes(np.concatenate(sizes)),
        mask_size=(height, width),
        image_size=image_size,
    )
