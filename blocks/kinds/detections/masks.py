"""Masks of detections, in whatever form they carry them, as crops and back.

What is done with masks belongs to `inference_models.masks` or to a block, not here. Importing this
loads nothing of masks: the codecs import it for every workflow.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from blocks.kinds.detections import keys
from blocks.kinds.detections.lineage import image_size_of

if TYPE_CHECKING:
    import supervision as sv

    from inference_models.masks import InstanceMasks


def has_masks(detections: sv.Detections) -> bool:
    """Whether the detections carry masks: dense, as crops or as RLE."""
    return detections.mask is not None or keys.RLE_MASK in detections.data


def instance_masks(
    detections: sv.Detections, image_size: tuple[int, int] | None = None
) -> InstanceMasks | None:
    """The masks on the pixels of the image, None when the detections carry none.

    `mask` counts where there is one, RLE otherwise. An RLE on a grid of its own is brought to the
    image by nearest neighbour; no canvas of the image is made on the way.

    Args:
        detections: n rows.
        image_size: (height, width) of the image, px, used where the detections do not know it.

    Raises:
        ValueError: RLE on several grids without a word about the size of the image, or malformed.
    """
    from inference_models.predictions.supervision_bridge import masks_from_supervision

    if detections.mask is not None:
        return masks_from_supervision(detections.mask)
    rles = detections.data.get(keys.RLE_MASK)
    if rles is None:
        return None
    size = image_size_of(detections) or image_size
    if not len(detections):
        from inference_models.masks import InstanceMasks

        return InstanceMasks.empty(size or (1, 1))
    return _on_image(list(rles), size)


def _on_image(rles: Sequence[Any], size: tuple[int, int] | None) -> InstanceMasks:
    from inference_models.masks import decode_rle_on_any_grid

    kinds = sorted({_grid_of(row, rle) for row, rle in enumerate(rles)})
    if size is None:
        if len(kinds) > 1:
            raise ValueError(
                f"masks on grids of (height, width) {kinds} need the size of their image, and the "
                f"detections do not carry `{keys.IMAGE_DIMENSIONS}`"
            )
        size = kinds[0]
    return decode_rle_on_any_grid(rles, size).on_image_grid()


def _grid_of(row: int, rle: Any) -> tuple[int, int]:
    try:
        height, width = rle["size"]
        return int(height), int(width)
    except (TypeError, KeyError, ValueError):
        raise ValueError(
            f'row {row} must have an RLE mask {{"size": [h, w], "counts"}}, got {rle!r:.80}'
        ) from None


def mask_fields(masks: InstanceMasks, with_rle: bool) -> tuple[sv.CompactMask, dict[str, Any]]:
    """(`sv.CompactMask`, data columns) of masks on the pixels of an image.

    Args:
        masks: n masks.
        with_rle: whether the columns hold the masks as RLE too.
    """
    from inference_models.predictions.supervision_bridge import compact_mask

    return compact_mask(masks), {keys.RLE_MASK: rle_column(masks)} if with_rle else {}


def rle_column(masks: InstanceMasks) -> NDArray[np.object_]:
    """(n,) `{"size": [h, w], "counts": text}` of masks."""
    from inference_models.masks import encode_masks

    column = np.empty(len(masks), dtype=object)
    column[:] = encode_masks(masks)
    return column


def tight_boxes(masks: InstanceMasks, otherwise: NDArray[Any]) -> NDArray[np.float32]:
    """(n, 4) xyxy px from the first to the last pixel of each mask.

    Args:
        masks: n masks.
        otherwise: (n, 4) boxes of rows whose mask has no pixels.
    """
    boxes = masks.boxes.astype(np.float32)
    boxes[:, 2:] -= 1
    empty = masks.boxes[:, 2] <= masks.boxes[:, 0]
    boxes[empty] = np.asarray(otherwise)[empty]
    return boxes
