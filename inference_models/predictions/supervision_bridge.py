"""Predictions to supervision and back. The only module that builds or reads supervision objects.

Everything on supervision's side is in px of the image. `CompactMask` is made from the crops as they
are, its `image_shape` always the image's size; no dense canvas is built on the way there. Uses of
supervision beyond its public names: the list of run lengths inside of `CompactMask`.
"""

from __future__ import annotations

from itertools import pairwise
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from inference_models.masks.carrier import InstanceMasks, Size
from inference_models.masks.rle import (
    crop_counts,
    decode_rle_on_any_grid,
    encode_masks,
    masks_of_crop_counts,
)
from inference_models.predictions.columns import PredictionError, as_array
from inference_models.predictions.detections import (
    Detections,
    InstanceDetections,
    OrientedDetections,
    ScoredRows,
)
from inference_models.predictions.keypoints import KeyPoints, missing_points

if TYPE_CHECKING:
    import supervision as sv

CLASS_NAME = "class_name"
CORNERS = "xyxyxyxy"
RLE_MASK = "rle_mask"
_POINT_COLUMNS = (
    "keypoints_xy",
    "keypoints_confidence",
    "keypoints_class_id",
    "keypoints_class_name",
)


def detections_to_supervision(detections: Detections) -> sv.Detections:
    """`supervision.Detections` without masks; `data["class_name"]` where names are known."""
    return _to_supervision(detections, as_array(detections.xyxy))


def detections_from_supervision(
    detections: sv.Detections,
    image_size: Size | None = None,
    class_names: tuple[str, ...] | None = None,
) -> Detections:
    """The rows as `Detections`.

    Args:
        detections: any; a missing confidence becomes 1, a missing class id 0.
        image_size: (h, w) of the image; needed unless masks tell it.
        class_names: name of each class by id. When None, `data["class_name"]` stays a column of
            `data`.

    Raises:
        PredictionError: nothing says how large the image is.
    """
    return Detections(xyxy=detections.xyxy, **_shared(detections, image_size, class_names))


def instances_to_supervision(
    instances: InstanceDetections, *, with_rle: bool = False
) -> sv.Detections:
    """`supervision.Detections` with a `CompactMask`, boxes and masks in px of the image."""
    masks = instances.masks
    data: dict[str, Any] = {}
    if with_rle or masks.on_own_grid:
        codes = np.empty(len(masks), object)
        codes[:] = encode_masks(masks)
        data[RLE_MASK] = codes
    return _to_supervision(
        instances, as_array(instances.xyxy), mask=compact_mask(masks.on_image_grid()), data=data
    )


def instances_from_supervision(
    detections: sv.Detections,
    image_size: Size | None = None,
    class_names: tuple[str, ...] | None = None,
) -> InstanceDetections:
    """The rows with their masks: those of `mask`, otherwise those of the codes in
    `data["rle_mask"]`.

    Args:
        detections: rows with masks or codes; codes may be on a grid of their own, which the masks
            then keep if it is the same for all.
        image_size: (h, w) of the image; needed where only codes tell of masks, as their size names
            their own grid.
        class_names: as in `detections_from_supervision`.

    Raises:
        PredictionError: there are rows but neither masks nor codes, or `image_size` is not that of
            the masks.
        MalformedRLEError: a code is broken.
    """
    shared = _shared(detections, image_size, class_names)
    size: Size = shared["image_size"]
    codes = shared["data"].pop(RLE_MASK, None)
    if detections.mask is not None:
        masks = masks_from_supervision(detections.mask)
        if masks.mask_size != size:
            raise PredictionError(f"masks of size {masks.mask_size} do not cover the image, {size}")
    elif codes is not None and len(codes):
        masks = decode_rle_on_any_grid(list(codes), size)
    elif len(detections) == 0:
        masks = InstanceMasks.empty(size)
    else:
        raise PredictionError(
            f'{len(detections)} rows have neither masks nor codes in data["{RLE_MASK}"]'
        )
    return InstanceDetections(xyxy=detections.xyxy, masks=masks, **shared)


def oriented_to_supervision(oriented: OrientedDetections) -> sv.Detections:
    """`supervision.Detections` of the upright boxes with the corners in `data["xyxyxyxy"]`."""
    data = {CORNERS: as_array(oriented.corners)}
    return _to_supervision(oriented, as_array(oriented.xyxy), data=data)


def oriented_from_supervision(
    detections: sv.Detections,
    image_size: Size | None = None,
    class_names: tuple[str, ...] | None = None,
) -> OrientedDetections:
    """The rows with the corners of `data["xyxyxyxy"]`.

    Raises:
        PredictionError: there are rows without corners, or nothing says how large the image is.
    """
    shared = _shared(detections, image_size, class_names)
    corners = shared["data"].pop(CORNERS, None)
    if corners is None:
        if len(detections):
            raise PredictionError(f'{len(detections)} rows have no corners in data["{CORNERS}"]')
        corners = np.zeros((0, 4, 2), np.float32)
    return OrientedDetections(corners=np.asarray(corners).reshape(-1, 4, 2), **shared)


def keypoints_to_supervision(points: KeyPoints) -> sv.KeyPoints:
    """`supervision.KeyPoints`; boxes in `data["xyxy"]`, invisible points keep their position."""
    import supervision as sv

    data: dict[str, Any] = {"xyxy": as_array(points.xyxy), **_data(points)}
    return sv.KeyPoints(
        xy=as_array(points.xy),
        class_id=as_array(points.class_id).astype(np.int64),
        keypoint_confidence=as_array(points.keypoint_confidence),
        detection_confidence=as_array(points.confidence),
        visible=as_array(points.visible),
        data=data,
    )


def keypoints_to_detections(points: KeyPoints) -> sv.Detections:
    """`supervision.Detections` of the boxes; points in `keypoints_xy` (n, k, 2),
    `keypoints_confidence` (n, k), `keypoints_class_id` (n, k) and `keypoints_class_name` (n, k), ""
    for slots a class does not use."""
    count, slots = as_array(points.visible).shape
    data = dict(
        zip(
            _POINT_COLUMNS,
            (
                as_array(points.xy),
                as_array(points.keypoint_confidence),
                np.tile(np.arange(slots), (count, 1)),
                points.point_names(),
            ),
            strict=True,
        )
    )
    return _to_supervision(points, as_array(points.xyxy), data=data)


def keypoints_from_supervision(
    key_points: sv.KeyPoints,
    image_size: Size,
    class_names: tuple[str, ...] | None = None,
    keypoint_names: tuple[tuple[str, ...], ...] | None = None,
) -> KeyPoints:
    """The rows of `supervision.KeyPoints`; a missing box is the one around the visible points."""
    xy = np.asarray(key_points.xy, np.float32)
    count, slots = xy.shape[:2]
    visible = key_points.visible
    if visible is None:
        visible = ~as_array(missing_points(xy))
    data: dict[str, Any] = dict(key_points.data)
    boxes = data.pop("xyxy", None)
    if class_names is not None:
        data.pop(CLASS_NAME, None)
    return KeyPoints(
        xy=xy,
        keypoint_confidence=_or_filled(key_points.keypoint_confidence, (count, slots), 1.0),
        visible=visible,
        xyxy=_boxes_around(xy, visible) if boxes is None else boxes,
        confidence=_or_filled(key_points.detection_confidence, (count,), 1.0),
        class_id=_or_filled(key_points.class_id, (count,), 0),
        image_size=image_size,
        class_names=class_names,
        keypoint_names=keypoint_names,
        data=data,
    )


def compact_mask(masks: InstanceMasks) -> sv.CompactMask:
    """The masks as `supervision.CompactMask` with their own crops; a mask without set pixels
    becomes one unset pixel.

    Raises:
        PredictionError: the masks live on a grid of their own, which `CompactMask` cannot say.
    """
    import supervision as sv

    if masks.on_own_grid:
        raise PredictionError(
            f"CompactMask must have the image's size {masks.image_size}, got masks on a "
            f"{masks.mask_size} grid"
        )
    counts, splits = crop_counts(masks)
    small = counts.astype(np.int32)
    bounds = splits.tolist()
    lengths = [small[start:stop] for start, stop in pairwise(bounds)]
    shapes = (masks.boxes[:, [3, 2]] - masks.boxes[:, [1, 0]]).astype(np.int32)
    for index in np.flatnonzero(shapes[:, 0] == 0).tolist():
        lengths[index] = np.ones(1, np.int32)
        shapes[index] = 1
    return sv.CompactMask(lengths, shapes, masks.boxes[:, :2].copy(), masks.mask_size)


def masks_from_supervision(mask: sv.CompactMask | npt.NDArray[np.bool_]) -> InstanceMasks:
    """Masks of a `supervision.CompactMask` or of a dense (n, h, w) array, on a grid of the same
    size."""
    if isinstance(mask, np.ndarray):
        return InstanceMasks.from_dense(mask)
    height, width = mask.image_shape
    return masks_of_crop_counts(mask._rles, mask._crop_shapes, mask.offsets, (height, width))


def _to_supervision(
    rows: ScoredRows,
    xyxy: npt.NDArray[np.float32],
    mask: sv.CompactMask | None = None,
    data: dict[str, Any] | None = None,
) -> sv.Detections:
    import supervision as sv

    tracker_id = getattr(rows, "tracker_id", None)
    return sv.Detections(
        xyxy=xyxy,
        mask=mask,
        confidence=as_array(rows.confidence),
        class_id=as_array(rows.class_id).astype(np.int64),
        tracker_id=None if tracker_id is None else as_array(tracker_id),
        data={**_data(rows), **(data or {})},
        metadata=dict(rows.metadata),
    )


def _data(rows: ScoredRows) -> dict[str, Any]:
    data: dict[str, Any] = {name: as_array(value) for name, value in rows.data.items()}
    if rows.class_names is not None:
        data[CLASS_NAME] = rows.class_name
    return data


def _shared(
    detections: sv.Detections, image_size: Size | None, class_names: tuple[str, ...] | None
) -> dict[str, Any]:
    count = len(detections)
    if image_size is None:
        if detections.mask is None:
            raise PredictionError(
                "without masks nothing says how large the image is: pass image_size"
            )
        height, width = detections.mask.shape[1:]
        image_size = (int(height), int(width))
    data = dict(detections.data)
    if class_names is not None:
        data.pop(CLASS_NAME, None)
    return {
        "confidence": _or_filled(detections.confidence, (count,), 1.0),
        "class_id": _or_filled(detections.class_id, (count,), 0),
        "image_size": image_size,
        "class_names": class_names,
        "tracker_id": detections.tracker_id,
        "data": data,
        "metadata": dict(detections.metadata),
    }


def _or_filled(value: Any, shape: tuple[int, ...], default: float) -> npt.NDArray[Any]:
    return np.full(shape, default) if value is None else np.asarray(value)


def _boxes_around(
    xy: npt.NDArray[np.float32], visible: npt.NDArray[np.bool_]
) -> npt.NDArray[np.float32]:
    seen = visible[..., None]
    low = np.where(seen, xy, np.inf).min(axis=1, initial=np.inf)
    high = np.where(seen, xy, -np.inf).max(axis=1, initial=-np.inf)
    boxes = np.concatenate([low, high], axis=1)
    boxes[~np.isfinite(boxes).all(axis=1)] = 0
    return boxes.astype(np.float32)
