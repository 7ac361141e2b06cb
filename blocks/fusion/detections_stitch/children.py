"""Predictions made on parts of an image, in the pixels of that image. Filters nothing."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from blocks.kinds.detections import attach_lineage, concat_detections, keys
from blocks.kinds.detections.columns import with_columns
from blocks.kinds.detections.lineage import image_level_values, lineage_of
from blocks.kinds.detections.masks import has_masks, mask_fields
from blocks.kinds.detections.moving import moved_into
from execution_engine.block_api import WorkflowImageData
from execution_engine.errors import InvalidFieldValueError
from inference_models.masks import InstanceMasks

if TYPE_CHECKING:
    import supervision as sv

DEFAULT_PREDICTION_TYPE = "object-detection"


def stitched(children: Sequence[sv.Detections], image: WorkflowImageData) -> sv.Detections:
    """The rows of all children in px of the image they were cut from, with its lineage.

    Masks become crops on the image; what of them lies outside is cut off. Without rows the columns
    of the children stay.

    Args:
        children: predictions on parts of the image, which know their place in it.
        image: the image.

    Raises:
        ValueError: a child was not cut from the image or does not know its place, or some children
            have masks and others none.
    """
    import supervision as sv

    _require_masks_in_all_or_none(children)
    placed = [_placed(child, image) for child in children if len(child)]
    joined = concat_detections(placed or children) if children else sv.Detections.empty()
    if len(joined) == 0 and joined.mask is not None:
        no_masks, _ = mask_fields(InstanceMasks.empty(image.size), with_rle=False)
        joined = with_columns(joined, {"mask": no_masks})
    known = next((image_level_values(child) for child in placed or children), {})
    prediction_type = known.get(keys.PREDICTION_TYPE, DEFAULT_PREDICTION_TYPE)
    return attach_lineage(joined, image, str(prediction_type))


def _placed(child: sv.Detections, image: WorkflowImageData) -> sv.Detections:
    offsets, scales = _place_in(child, image)
    return moved_into(child, offsets, image.size, scales)


def _place_in(
    child: sv.Detections, image: WorkflowImageData
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """(n, 2) corner x, y of each row's image in the image, px, and (n,) scales."""
    data, count = child.data, len(child)
    own = lineage_of(image)
    if keys.ROOT_PARENT_ID in data and keys.ROOT_PARENT_COORDINATES in data:
        roots = sorted({str(root) for root in data[keys.ROOT_PARENT_ID]})
        if roots != [own[keys.ROOT_PARENT_ID]]:
            raise InvalidFieldValueError(
                f"predictions on {', '.join(map(repr, roots))} cannot be stitched onto the "
                f"reference image '{own[keys.PARENT_ID]}', which stems from "
                f"'{own[keys.ROOT_PARENT_ID]}'"
            )
        corners = _table(data[keys.ROOT_PARENT_COORDINATES], count, 2)
        offsets = corners - np.array(own[keys.ROOT_PARENT_COORDINATES])
        scales = data.get(keys.SCALING_RELATIVE_TO_ROOT_PARENT)
    elif keys.PARENT_COORDINATES in data:
        offsets = _table(data[keys.PARENT_COORDINATES], count, 2)
        scales = data.get(keys.SCALING_RELATIVE_TO_PARENT)
    else:
        raise InvalidFieldValueError(
            f"predictions on {_name(child)!r} do not say where in the reference image "
            f"'{own[keys.PARENT_ID]}' they lie: they carry no `{keys.PARENT_COORDINATES}`"
        )
    return offsets, np.ones(count) if scales is None else _table(scales, count, 1)[:, 0]


def _table(column: Any, count: int, width: int) -> NDArray[np.float64]:
    return np.asarray(list(column), dtype=np.float64).reshape(count, width)


def _require_masks_in_all_or_none(children: Sequence[sv.Detections]) -> None:
    filled = [child for child in children if len(child)]
    with_masks = [child for child in filled if has_masks(child)]
    without = [child for child in filled if not has_masks(child)]
    if with_masks and without:
        raise InvalidFieldValueError(
            "predictions with masks cannot be stitched with predictions without: "
            f"{_name(with_masks[0])!r} has masks, {_name(without[0])!r} has none "
            f"({len(with_masks)} and {len(without)} sets in all)"
        )


def _name(child: sv.Detections) -> str:
    return str(image_level_values(child).get(keys.PARENT_ID, "unnamed image"))
