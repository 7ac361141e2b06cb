"""Joining `supervision.Detections`: the one way for code here to do it.

`supervision.Detections.merge` forgets the columns of empty parts, raises on metadata that differ,
and cuts dense masks at their boxes when some parts are compact; none of this happens here.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from inference_models.predictions.columns import PredictionError
from inference_models.predictions.supervision_bridge import compact_mask, masks_from_supervision

if TYPE_CHECKING:
    import supervision as sv

_POINTS_PREFIX = "keypoints_"


def concat_supervision(parts: Sequence[sv.Detections]) -> sv.Detections:
    """The rows of all parts, in order.

    Parts without rows bring no rows; when no part has rows, every column that any of them has
    stays, without rows. Metadata stays where all parts that have an entry agree on it. Points of
    objects with different numbers of slots are padded with zeros (text with "").

    Raises:
        PredictionError: of the parts with rows only some have a column, or their masks are of
            different sizes.
    """
    import supervision as sv

    filled = [part for part in parts if len(part)]
    chosen = filled or list(parts)
    if not chosen:
        return sv.Detections.empty()
    required = bool(filled)
    names = dict.fromkeys(name for part in chosen for name in part.data)
    data = {
        name: _joined_column(
            name, _present(name, [part.data.get(name) for part in chosen], required)
        )
        for name in names
    }
    plain = {
        name: _joined_column(
            name, _present(name, [getattr(part, name) for part in chosen], required)
        )
        for name in ("confidence", "class_id", "tracker_id")
    }
    masks = _present("mask", [part.mask for part in chosen], required)
    return sv.Detections(
        xyxy=np.concatenate([part.xyxy for part in chosen]),
        mask=_joined_masks(masks),
        data=data,
        metadata=_agreed([part.metadata for part in parts]),
        **plain,
    )


def _present(name: str, values: list[Any], required: bool) -> list[Any]:
    present = [value for value in values if value is not None]
    if required and present and len(present) < len(values):
        lacking = [index for index, value in enumerate(values) if value is None]
        raise PredictionError(
            f"cannot join detections of which only some have {name!r}: missing in parts {lacking} "
            "of those with rows"
        )
    return present


def _joined_column(name: str, values: list[Any]) -> Any:
    if not values:
        return None
    if all(isinstance(value, list) for value in values):
        return [entry for value in values for entry in value]
    arrays = [np.asarray(value) for value in values]
    if name.startswith(_POINTS_PREFIX) and len({array.shape[1:] for array in arrays}) > 1:
        slots = max(array.shape[1] for array in arrays)
        arrays = [_padded(array, slots) for array in arrays]
    return np.concatenate(arrays)


def _padded(array: Any, slots: int) -> Any:
    blank: Any = "" if array.dtype.kind in "OUS" else 0
    widths = [(0, 0), (0, slots - array.shape[1]), *[(0, 0)] * (array.ndim - 2)]
    return np.pad(array, widths, constant_values=blank)


def _joined_masks(masks: list[Any]) -> Any:
    if not masks:
        return None
    sizes = {tuple(mask.shape[1:]) for mask in masks}
    if len(sizes) > 1:
        raise PredictionError(f"cannot join masks of different sizes: {sorted(sizes)}")
    if all(isinstance(mask, np.ndarray) for mask in masks):
        return np.concatenate(masks)
    compact = [
        compact_mask(masks_from_supervision(mask)) if isinstance(mask, np.ndarray) else mask
        for mask in masks
    ]
    return type(compact[0]).merge(compact)


def _agreed(metadata: list[dict[str, Any]]) -> dict[str, Any]:
    agreed: dict[str, Any] = {}
    for name in dict.fromkeys(name for entries in metadata for name in entries):
        values = [entries[name] for entries in metadata if name in entries]
        if all(_same(value, values[0]) for value in values[1:]):
            agreed[name] = values[0]
    return agreed


def _same(one: Any, other: Any) -> bool:
    if isinstance(one, np.ndarray) or isinstance(other, np.ndarray):
        return bool(np.array_equal(one, other))
    return bool(one == other)
