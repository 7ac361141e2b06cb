"""COCO RLE of detections to `sv.CompactMask` and back. The arithmetic is that of
`inference_models.masks`, which loads at the first mask; no canvas is made.

Anything about boxes, polygons or rows of predictions belongs elsewhere.
"""

from __future__ import annotations

import operator
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from blocks.kinds.detections.compact import compact_from_crops

if TYPE_CHECKING:
    from supervision import CompactMask

MOST_PIXELS = 1 << 28
"""Largest grid of a mask that is read; runs of larger ones would not fit `sv.CompactMask`."""


def require_grid(size: tuple[int, int]) -> None:
    """Raises `ValueError` for a grid (height, width) without pixels or with too many."""
    height, width = size
    if height <= 0 or width <= 0 or height * width > MOST_PIXELS:
        raise ValueError(
            f"masks are read on grids of 1 to {MOST_PIXELS} px, got height {height}, width {width}"
        )


def plain_rle(rle: Mapping[str, Any]) -> dict[str, Any]:
    """`{"size": [h, w], "counts": text}` with Python numbers and text, the JSON form of an RLE.

    Raises:
        ValueError: counts that are a list do not cover the grid exactly.
    """
    counts = rle["counts"]
    if isinstance(counts, (bytes, bytearray)):
        counts = counts.decode("ascii")
    elif not isinstance(counts, str):
        from inference_models.masks import decode_rle, encode_masks

        return encode_masks(decode_rle([rle]))[0]
    height, width = rle["size"]
    return {"size": [int(height), int(width)], "counts": counts}


def compact_from_rles(
    rles: Sequence[Mapping[str, Any]], image_size: tuple[int, int]
) -> CompactMask:
    """`sv.CompactMask` (n) of COCO RLEs, each cut to its support.

    A mask on another grid than the image is brought to the image's by nearest-neighbour sampling.

    Args:
        rles: `{"size": [h, w], "counts"}` each.
        image_size: (height, width) of the image, px.

    Raises:
        ValueError: an RLE is malformed; the text says which.
    """
    image_size = (int(image_size[0]), int(image_size[1]))
    if not rles:
        return compact_from_crops([], [], image_size)
    from inference_models.masks import MaskError, decode_rle_on_any_grid
    from inference_models.predictions.supervision_bridge import compact_mask

    for row, rle in enumerate(rles):
        try:
            _require_form(rle)
        except (ValueError, TypeError) as error:
            raise ValueError(f"mask {row}: {error}") from error
    try:
        masks = decode_rle_on_any_grid(rles, image_size)
    except MaskError as error:
        raise ValueError(_first_fault(rles) or str(error)) from error
    return compact_mask(masks.on_image_grid())


def rles_from_compact(mask: CompactMask) -> list[dict[str, Any]]:
    """`{"size": [h, w], "counts": text}` of each mask, on the grid of the image."""
    if not len(mask):
        return []
    from inference_models.masks import encode_masks
    from inference_models.predictions.supervision_bridge import masks_from_supervision

    return encode_masks(masks_from_supervision(mask))


def _require_form(rle: Mapping[str, Any]) -> None:
    if not isinstance(rle, Mapping) or "size" not in rle or "counts" not in rle:
        raise ValueError('an RLE mask must be {"size": [height, width], "counts": text}')
    height, width = rle["size"]
    require_grid((int(height), int(width)))


def _first_fault(rles: Sequence[Mapping[str, Any]]) -> str | None:
    """What is wrong with the first RLE that is no mask of its size, with its row."""
    from inference_models.masks import MaskError, decode_rle

    for row, rle in enumerate(rles):
        try:
            decode_rle([rle])
        except MaskError as error:
            height, width = rle["size"]
            covered = _covered_pixels(rle["counts"])
            if covered is None or covered == height * width:
                return f"mask {row}: {error}"
            return (
                f"mask {row}: an RLE mask of size [{height}, {width}] must cover "
                f"{height * width} px, its counts cover {covered}"
            )
    return None


def _covered_pixels(counts: Any) -> int | None:
    """Sum of run lengths; None when they cannot be read."""
    from inference_models.masks import MaskError
    from inference_models.masks.rle_text import expand_counts

    try:
        if isinstance(counts, (str, bytes, bytearray)):
            text = counts if isinstance(counts, str) else bytes(counts)
            counts = expand_counts([text])[0].tolist()
        return sum(map(operator.index, counts))
    except (MaskError, TypeError):
        return None
