"""Brings detections into the form that drawing needs: finite boxes, masks on the image's grid.

Supervision draws masks of another grid without a word, at the wrong place. Nothing is drawn here.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from blocks.kinds.detections import keys
from blocks.kinds.detections.columns import with_columns
from blocks.kinds.detections.compact import as_compact, compact_from_crops
from blocks.kinds.detections.lineage import image_size_of
from blocks.kinds.detections.polygons import polygon_crop
from blocks.kinds.detections.rle import compact_from_rles
from execution_engine.errors import InvalidFieldValueError

if TYPE_CHECKING:
    import supervision as sv
    from supervision import CompactMask

FARTHEST = float(1 << 20)
"""Boxes are cut off here, px: OpenCV cannot hold coordinates beyond 32 bits."""

Size = tuple[int, int]


def drawable(
    predictions: Any, image_size: Size, *, masks: bool, field: str = "predictions"
) -> sv.Detections:
    """The detections ready to be drawn on an image; never changed in place.

    Args:
        predictions: value of a field that takes detections.
        image_size: (height, width) of the image, px.
        masks: whether masks are drawn. They then are a `sv.CompactMask` of the image's size, or
            None when the detections have neither masks nor RLEs.
        field: name of the field, for messages.

    Raises:
        ValueError: the value is no detections, a box is not finite, or the masks belong to an image
            of another size.
    """
    import supervision as sv

    if not isinstance(predictions, sv.Detections):
        raise InvalidFieldValueError(
            f"Field `{field}` must be detections, got {type(predictions).__name__}."
        )
    if len(predictions) == 0:
        return predictions
    columns: dict[str, Any] = {}
    boxes = np.asarray(predictions.xyxy)
    if not np.isfinite(boxes).all():
        row = int(np.flatnonzero(~np.isfinite(boxes).all(axis=1))[0])
        raise InvalidFieldValueError(
            f"Field `{field}`: box {row} must be four finite numbers, got {boxes[row].tolist()}."
        )
    if np.abs(boxes).max() > FARTHEST:
        columns["xyxy"] = np.clip(boxes, -FARTHEST, FARTHEST)
    if masks:
        try:
            columns["mask"] = masks_on_image(predictions, image_size)
        except ValueError as error:
            raise InvalidFieldValueError(f"Field `{field}`: {error}") from error
    return with_columns(predictions, columns) if columns else predictions


def masks_on_image(detections: sv.Detections, image_size: Size) -> CompactMask | None:
    """The masks on the grid of an image, one crop a mask; None when there are none.

    Masks on a coarser grid of the same image are brought to the image's by nearest-neighbour
    sampling, as `sv.Detections.from_inference` does. The image is the same when the detections say
    so (`image_dimensions`); RLEs of detections that say nothing are taken to cover the image.

    Args:
        detections: n rows, n > 0. Rows without an RLE beside rows with one have an empty mask.
        image_size: (height, width) of the image, px.

    Raises:
        ValueError: the masks belong to an image of another size, or an RLE is malformed.
    """
    own = image_size_of(detections)
    if detections.mask is not None:
        compact = as_compact(detections.mask)
        grid = (int(compact.image_shape[0]), int(compact.image_shape[1]))
        if grid == image_size:
            return compact
        if own != image_size:
            raise _foreign_image(own or grid, image_size)
        return compact.resize(image_size)
    if keys.RLE_MASK not in detections.data:
        return None
    empty = {"size": image_size, "counts": [image_size[0] * image_size[1]]}
    rles = [empty if rle is None else rle for rle in detections.data[keys.RLE_MASK]]
    if own not in (None, image_size) and any(_grid_of(rle) != image_size for rle in rles):
        raise _foreign_image(own, image_size)
    return compact_from_rles(rles, image_size)


def masks_of_boxes(boxes: NDArray[Any], image_size: Size) -> CompactMask:
    """A mask that fills each box as far as it lies in the image; both ends belong to it."""
    placed = [
        polygon_crop([(x0, y0), (x1, y0), (x1, y1), (x0, y1)], image_size)
        for x0, y0, x1, y1 in np.trunc(np.asarray(boxes, np.float64)).tolist()
    ]
    return compact_from_crops(
        [crop for crop, _ in placed], [offset for _, offset in placed], image_size
    )


def with_centres_of_mass(detections: sv.Detections, image_size: Size) -> sv.Detections:
    """The detections, with the box as mask where the mask is empty.

    Supervision takes the corner of the image for the centre of gravity of an empty mask.

    Args:
        detections: result of `drawable` with masks.
        image_size: (height, width) of the image, px.
    """
    masks: Any = detections.mask
    if masks is None or len(detections) == 0:
        return detections
    empty = np.asarray(masks.area) == 0
    if not empty.any():
        return detections
    boxes = masks_of_boxes(np.asarray(detections.xyxy)[empty], image_size)
    order = np.argsort(np.concatenate([np.flatnonzero(~empty), np.flatnonzero(empty)]))
    merged = type(masks).merge([masks[~empty], boxes]) if not empty.all() else boxes
    return with_columns(detections, {"mask": merged[order]})


def _grid_of(rle: Any) -> Size | None:
    try:
        height, width = rle["size"]
        return int(height), int(width)
    except (TypeError, KeyError, ValueError):
        return None


def _foreign_image(own: Size | None, image_size: Size) -> ValueError:
    return ValueError(
        f"the masks belong to an image of (height, width) {own}, the image to draw on has "
        f"{image_size}; draw on the image that the detections were made on"
    )
