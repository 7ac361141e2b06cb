"""Detections in the pixels of another image: one they are a part of, or a part of theirs."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike

from blocks.kinds.detections import keys
from blocks.kinds.detections.columns import with_columns
from blocks.kinds.detections.lineage import image_size_of
from blocks.kinds.detections.root import to_root

if TYPE_CHECKING:
    import supervision as sv


def moved_into(
    detections: sv.Detections,
    offset: ArrayLike,
    image_size: ArrayLike,
    scale: ArrayLike = 1.0,
) -> sv.Detections:
    """The detections in px of another image: own px / scale + offset.

    Boxes, keypoints, polygons and rectangles are moved and not clipped; masks become crops and lose
    what lies outside the other image. The image-level columns afterwards are not those of the other
    image: whoever calls sets them, as `attach_lineage` does.

    Args:
        detections: n rows; not changed.
        offset: (2,) or (n, 2) x, y of the own image's corner in the other image, px.
        image_size: (2,) or (n, 2) height, width of the other image, px; one for all rows when there
            are masks.
        scale: (n,) or one: size of the own image over the size of its region in the other one.

    Raises:
        ValueError: masks are to go into images of different sizes.
    """
    count = len(detections)
    if count == 0:
        return detections
    placed: dict[str, Any] = {
        keys.ROOT_PARENT_ID: np.full(count, ""),
        keys.ROOT_PARENT_COORDINATES: np.broadcast_to(np.asarray(offset), (count, 2)),
        keys.ROOT_PARENT_DIMENSIONS: np.broadcast_to(np.asarray(image_size), (count, 2)),
        keys.SCALING_RELATIVE_TO_ROOT_PARENT: np.broadcast_to(np.asarray(scale, float), (count,)),
    }
    if keys.IMAGE_DIMENSIONS not in detections.data:
        size = _size_by_masks(detections)
        if size is not None:
            placed[keys.IMAGE_DIMENSIONS] = np.tile(np.array(size), (count, 1))
    return to_root(with_columns(detections, placed))


def _size_by_masks(detections: sv.Detections) -> tuple[int, int] | None:
    known = image_size_of(detections)
    if known is not None:
        return known
    if detections.mask is not None:
        height, width = detections.mask.shape[1:]
        return int(height), int(width)
    if keys.RLE_MASK in detections.data:
        height, width = detections.data[keys.RLE_MASK][0]["size"]
        return int(height), int(width)
    return None
