"""`sv.CompactMask` of dense masks and of crops. RLE is in `rle`, polygons are in `polygons`."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

if TYPE_CHECKING:
    from supervision import CompactMask


def as_compact(mask: CompactMask | NDArray[np.bool_]) -> CompactMask:
    """The mask of detections as `sv.CompactMask`, itself when it is one.

    Args:
        mask: `sv.CompactMask` or (n, h, w) bool.
    """
    return compact_from_dense(mask) if isinstance(mask, np.ndarray) else mask


def compact_from_dense(masks: NDArray[np.bool_]) -> CompactMask:
    """`sv.CompactMask` of (n, h, w) masks, each cut to its support; no pixel is lost."""
    if not len(masks):
        return compact_from_crops([], [], (masks.shape[1], masks.shape[2]))
    from inference_models.masks import InstanceMasks
    from inference_models.predictions.supervision_bridge import compact_mask

    return compact_mask(InstanceMasks.from_dense(masks))


def compact_from_crops(
    crops: Sequence[NDArray[np.generic]],
    offsets: Sequence[tuple[int, int]],
    image_size: tuple[int, int],
) -> CompactMask:
    """`sv.CompactMask` of n crops, each cut to its support; what lies outside the image is cut off.

    Args:
        crops: masks (h, w) of any type, set where not zero; (0, 0) for one without pixels.
        offsets: (x, y) of each crop's corner in the image.
        image_size: (height, width) of the image, px.
    """
    size = (int(image_size[0]), int(image_size[1]))
    if not crops:
        from supervision import CompactMask

        # An image without pixels can have no masks, but no mask lies in any image.
        return CompactMask([], np.empty((0, 2), np.int32), np.empty((0, 2), np.int32), size)
    from inference_models.masks import InstanceMasks
    from inference_models.predictions.supervision_bridge import compact_mask

    return compact_mask(InstanceMasks.from_crops(crops, np.array(offsets), size))
