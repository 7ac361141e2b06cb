"""Joining sets of detections. The only place where that is done: `sv.Detections.merge` is not used.

It refuses sets whose metadata or columns differ and forgets the columns of empty sets.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from blocks.kinds.detections import keys
from blocks.kinds.detections.columns import with_columns
from blocks.kinds.detections.compact import as_compact
from blocks.kinds.detections.masks import has_masks, instance_masks, mask_fields

if TYPE_CHECKING:
    import supervision as sv


def concat_detections(parts: Sequence[sv.Detections]) -> sv.Detections:
    """The rows of all parts in order, as new detections.

    A column that a part lacks is filled: text with "", numbers with NaN (whole numbers with -1),
    booleans with False, anything else with None; keypoint columns are padded to the most slots.
    Parts without rows give their columns, and their metadata when nothing has rows. Masks stay
    `sv.CompactMask` when one part has such masks; when one part has RLE, all get it. Metadata
    beyond the image-level keys are kept where all parts that have them agree.

    Raises:
        ValueError: some parts with rows have masks and others have none, or masks lie in images of
            different sizes.
    """
    import supervision as sv

    parts = list(parts)
    if not parts:
        return sv.Detections.empty()
    parts = _with_equal_mask_columns(parts)
    filled = [part for part in parts if len(part)]
    return sv.Detections(
        xyxy=_xyxy(filled or parts[:1]),
        mask=_masks(filled) if filled else next(_present(parts, "mask"), None),
        confidence=_field(parts, "confidence", np.nan),
        class_id=_field(parts, "class_id", -1),
        tracker_id=_field(parts, "tracker_id", -1),
        data={key: _column(parts, key) for key in _all_keys(parts)},
        metadata=_metadata(parts, keep_image_level=not filled),
    )


def _xyxy(parts: Sequence[sv.Detections]) -> NDArray[Any]:
    return np.concatenate([np.asarray(part.xyxy).reshape(-1, 4) for part in parts])


def _present(parts: Sequence[sv.Detections], name: str) -> Any:
    return (getattr(part, name) for part in parts if getattr(part, name) is not None)


def _field(parts: Sequence[sv.Detections], name: str, missing: float) -> NDArray[Any] | None:
    present = list(_present(parts, name))
    if not present:
        return None
    dtype = np.result_type(*present)
    return np.concatenate(
        [
            np.full(len(part), missing, dtype)
            if getattr(part, name) is None
            else getattr(part, name)
            for part in parts
        ]
    ).astype(dtype)


def _with_equal_mask_columns(parts: list[sv.Detections]) -> list[sv.Detections]:
    """The parts, with a mask and RLE in all that have rows when one such part has them."""
    filled = [part for part in parts if len(part)]
    with_mask = any(part.mask is not None for part in filled)
    with_rle = any(keys.RLE_MASK in part.data for part in filled)
    if not with_mask and not with_rle:
        return parts
    without = [index for index, part in enumerate(filled) if not has_masks(part)]
    if without:
        raise ValueError(
            f"detections with masks cannot be joined with detections without: of {len(filled)} "
            f"sets with rows, those at {without} have no masks"
        )
    return [_with_mask_columns(part, with_mask, with_rle) if len(part) else part for part in parts]


def _with_mask_columns(part: sv.Detections, with_mask: bool, with_rle: bool) -> sv.Detections:
    needs_rle = with_rle and keys.RLE_MASK not in part.data
    if part.mask is not None and not needs_rle:
        return part
    masks = instance_masks(part)
    if masks is None or (not needs_rle and not with_mask):
        return part
    mask, columns = mask_fields(masks, needs_rle)
    return with_columns(part, {**columns, **({} if part.mask is not None else {"mask": mask})})


def _masks(parts: Sequence[sv.Detections]) -> Any:
    masks = [part.mask for part in parts]
    if all(mask is None for mask in masks):
        return None
    sizes = {tuple(int(side) for side in mask.shape[1:]) for mask in masks if mask is not None}
    if len(sizes) > 1:
        raise ValueError(
            f"masks that are joined must lie in one image, got (height, width) {sorted(sizes)}"
        )
    if all(isinstance(mask, np.ndarray) for mask in masks):
        return np.concatenate(masks)  # type: ignore[arg-type]
    from supervision import CompactMask

    return CompactMask.merge([as_compact(mask) for mask in masks])  # type: ignore[arg-type]


def _all_keys(parts: Sequence[sv.Detections]) -> list[str]:
    return list(dict.fromkeys(key for part in parts for key in part.data))


def _column(parts: Sequence[sv.Detections], key: str) -> Any:
    given = [None if key not in part.data else _as_array(part.data[key]) for part in parts]
    # The type comes from parts with rows; a part without rows decides only when there is no other.
    present = [
        values
        for part, values in zip(parts, given, strict=True)
        if values is not None and len(part)
    ] or [values for values in given if values is not None]
    kinds = {values.dtype.kind for values in present}
    if "O" in kinds or (len(kinds) > 1 and not kinds <= set("iufb")):
        return _object_column(parts, given)
    dtype = np.result_type(*present)
    inner = _inner_shape(present)
    if inner is None:
        return _object_column(parts, given)
    pieces = []
    for part, values in zip(parts, given, strict=True):
        if values is None or not len(part):
            pieces.append(np.full((len(part), *inner), _missing(key, dtype), dtype))
        else:
            pieces.append(_padded(values.astype(dtype), inner, _missing(key, dtype)))
    return np.concatenate(pieces)


def _as_array(values: Any) -> NDArray[Any]:
    if isinstance(values, np.ndarray):
        return values
    try:
        return np.asarray(values)
    except ValueError:
        return np.fromiter(values, object, len(values))


def _inner_shape(present: Sequence[NDArray[Any]]) -> tuple[int, ...] | None:
    """Shape behind the rows that all columns fit in, None when they differ in dimensions."""
    if len({values.ndim for values in present}) > 1:
        return None
    return tuple(
        max(sides) for sides in zip(*(values.shape[1:] for values in present), strict=True)
    )


def _padded(values: NDArray[Any], inner: tuple[int, ...], missing: Any) -> NDArray[Any]:
    if values.shape[1:] == inner:
        return values
    result = np.full((len(values), *inner), missing, values.dtype)
    result[tuple(slice(side) for side in values.shape)] = values
    return result


def _missing(key: str, dtype: np.dtype[Any]) -> Any:
    if key in (keys.KEYPOINTS_XY, keys.KEYPOINTS_CONFIDENCE, keys.KEYPOINTS_CLASS_ID):
        return 0
    return {"f": np.nan, "i": -1, "b": False, "U": "", "S": b""}.get(dtype.kind, 0)


def _object_column(
    parts: Sequence[sv.Detections], given: Sequence[NDArray[Any] | None]
) -> NDArray[Any]:
    result = np.empty(sum(map(len, parts)), dtype=object)
    row = 0
    for part, values in zip(parts, given, strict=True):
        for index in range(len(part)):
            result[row] = None if values is None else values[index]
            row += 1
    return result


def _metadata(parts: Sequence[sv.Detections], keep_image_level: bool) -> dict[str, Any]:
    result: dict[str, Any] = {}
    disputed = set()
    for part in parts:
        for key, value in part.metadata.items():
            if key in keys.IMAGE_LEVEL:
                if keep_image_level:
                    result.setdefault(key, value)
            elif key in result and not _equal(result[key], value):
                disputed.add(key)
            else:
                result.setdefault(key, value)
    return {key: value for key, value in result.items() if key not in disputed}


def _equal(first: Any, second: Any) -> bool:
    try:
        return bool(np.array_equal(first, second))
    except (TypeError, ValueError):
        return first is second
