"""Moves predictions through a homography. Knows no manifest and no polygon of a user."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import cv2
import numpy as np

from blocks.kinds.detections import keys
from blocks.kinds.detections.compact import compact_from_crops, compact_from_dense
from blocks.kinds.detections.lineage import image_size_of, keep_image_level
from blocks.kinds.detections.rle import compact_from_rles, rles_from_compact
from blocks.transformations.perspective_correction.quadrilateral import Rectification

if TYPE_CHECKING:
    import supervision as sv

# Places whose depth is below this share of that in the middle of the quadrilateral lie at or beyond
# the horizon of the plane and have no useful place in the rectangle.
HORIZON = 1e-3
POINT_COLUMNS = (keys.KEYPOINTS_XY, keys.ORIENTED_BOX, keys.POLYGON)
# Measures of a rotated rectangle, which is none any more after the correction.
DROPPED_COLUMNS = (keys.RECT, keys.WIDTH, keys.HEIGHT, keys.ANGLE)


def correct_predictions(detections: sv.Detections, rectification: Rectification) -> sv.Detections:
    """Predictions in px of the rectangle.

    Boxes become the bounds of their warped corners (with a mask, of the warped mask; with an
    oriented box, of that) and may reach over the rectangle; masks are cut at its edge. Keypoints,
    oriented boxes and polygons are moved point by point. The columns of a rotated rectangle
    (`rect`, `width`, `height`, `angle`) and detections wholly beyond the horizon of the plane are
    left out.

    Args:
        detections: boxes (n, 4) xyxy in px of the image; masks dense, compact or as `rle_mask`.
        rectification: from px of the image to px of the rectangle.

    Returns:
        New detections; boxes float32, masks compact on a canvas of the size of the rectangle.
    """
    import supervision as sv

    homography = rectification.homography
    masks = _compact_masks(detections)
    warped = [_warp_outline(outline, homography) for outline in _outlines(detections, masks)]
    kept = np.array([len(outline) > 0 for outline in warped], dtype=bool)
    rows = detections.select(kept)
    boxes = [[*outline.min(axis=0), *outline.max(axis=0)] for outline in warped if len(outline) > 0]
    data = {
        name: _warp_column(column, homography) if name in POINT_COLUMNS else column
        for name, column in rows.data.items()
        if name not in DROPPED_COLUMNS
    }
    mask = None
    if masks is not None:
        mask = _warp_masks(masks[kept], rectification)
        if keys.RLE_MASK in data:
            data[keys.RLE_MASK] = _column_of(rles_from_compact(mask))
    corrected = sv.Detections(
        xyxy=np.array(boxes, dtype=np.float32).reshape(-1, 4),
        mask=mask,
        confidence=rows.confidence,
        class_id=rows.class_id,
        tracker_id=rows.tracker_id,
        data=data,
        metadata=dict(rows.metadata),
    )
    return keep_image_level(corrected, detections)


def warp_points(points: np.ndarray, homography: np.ndarray) -> np.ndarray:
    """Points (n, 2) moved by a homography (3, 3): (n, 2) float64; infinite at depth 0."""
    moved = np.asarray(points, dtype=np.float64) @ homography[:, :2].T + homography[:, 2]
    with np.errstate(divide="ignore", invalid="ignore"):
        return moved[:, :2] / moved[:, 2:]


def _compact_masks(detections: sv.Detections) -> sv.CompactMask | None:
    mask = detections.mask
    if mask is None and keys.RLE_MASK in detections.data and len(detections):
        rles = list(detections.data[keys.RLE_MASK])
        size = image_size_of(detections) or tuple(rles[0]["size"])
        return compact_from_rles(rles, size)
    if isinstance(mask, np.ndarray):
        return compact_from_dense(mask.astype(bool, copy=False))
    return mask


def _outlines(detections: sv.Detections, masks: sv.CompactMask | None) -> list[np.ndarray]:
    """For each row the vertices (m, 2) of a polygon with the bounds of the object."""
    left, top, right, bottom = detections.xyxy.astype(np.float64).T
    corners = np.stack(
        [
            np.stack([left, top], axis=1),
            np.stack([right, top], axis=1),
            np.stack([right, bottom], axis=1),
            np.stack([left, bottom], axis=1),
        ],
        axis=1,
    )
    if keys.ORIENTED_BOX in detections.data:
        corners = np.asarray(detections.data[keys.ORIENTED_BOX], dtype=np.float64)
    outlines = list(corners)
    if masks is not None:
        for row, (x, y) in enumerate(masks.offsets.tolist()):
            crop = masks.crop(row)
            if crop.any():
                outlines[row] = _mask_outline(crop) + np.array([x, y])
    return outlines


def _mask_outline(mask: np.ndarray) -> np.ndarray:
    """First and last pixel (x, y) of every row of a mask, down the left side and up the right."""
    rows = np.flatnonzero(mask.any(axis=1))
    first = mask[rows].argmax(axis=1)
    last = mask.shape[1] - 1 - mask[rows, ::-1].argmax(axis=1)
    left, right = np.stack([first, rows], axis=1), np.stack([last, rows], axis=1)
    return np.concatenate([left, right[::-1]]).astype(np.float64)


def _warp_outline(outline: np.ndarray, homography: np.ndarray) -> np.ndarray:
    """The outline moved, without what lies beyond the horizon; empty when all of it does."""
    depth = outline @ homography[2, :2] + homography[2, 2]
    if (depth >= HORIZON).all():
        return warp_points(outline, homography)
    clipped: list[np.ndarray] = []
    following = zip(np.roll(outline, -1, axis=0), np.roll(depth, -1), strict=True)
    for here, depth_here, (there, depth_there) in zip(outline, depth, following, strict=True):
        if depth_here >= HORIZON:
            clipped.append(here)
        if (depth_here >= HORIZON) != (depth_there >= HORIZON):
            share = (HORIZON - depth_here) / (depth_there - depth_here)
            clipped.append(here + share * (there - here))
    return warp_points(np.array(clipped).reshape(-1, 2), homography)


def _warp_column(column: Any, homography: np.ndarray) -> Any:
    """A column of points (n, k, 2), or of n arrays of points or None, moved."""
    if isinstance(column, np.ndarray) and column.dtype != object:
        moved = warp_points(column.reshape(-1, 2), homography)
        return moved.reshape(column.shape).astype(np.float32)
    entries = [
        None
        if points is None
        else warp_points(np.asarray(points, dtype=np.float64).reshape(-1, 2), homography)
        for points in column
    ]
    return _column_of(entries)


def _column_of(entries: list[Any]) -> np.ndarray:
    column = np.empty(len(entries), dtype=object)
    for row, entry in enumerate(entries):
        column[row] = entry
    return column


def _warp_masks(masks: sv.CompactMask, to: Rectification) -> sv.CompactMask:
    """Each mask on the canvas of the rectangle; a pixel belongs to it whose origin does."""
    width, height = to.size_wh
    crops, offsets = [], []
    for row, (x, y) in enumerate(masks.offsets.tolist()):
        crop = masks.crop(row)
        left, top, right, bottom = _reach(crop.shape, x, y, to)
        part = np.zeros((0, 0), dtype=bool)
        if right > left and bottom > top:
            into_crop = np.array([[1, 0, x], [0, 1, y], [0, 0, 1]], dtype=np.float64)
            into_part = np.array([[1, 0, -left], [0, 1, -top], [0, 0, 1]], dtype=np.float64)
            part = cv2.warpPerspective(
                crop.astype(np.uint8),
                into_part @ to.homography @ into_crop,
                (right - left, bottom - top),
                flags=cv2.INTER_NEAREST,
            ).astype(bool)
        crops.append(part)
        offsets.append((left, top))
    return compact_from_crops(crops, offsets, (height, width))


def _reach(
    crop_hw: tuple[int, ...], x: int, y: int, to: Rectification
) -> tuple[int, int, int, int]:
    """The part of the canvas a crop can cover: left, top, and exclusive right and bottom."""
    # Pixels are squares around their centres.
    left, top, right, bottom = x - 0.5, y - 0.5, x + crop_hw[1] - 0.5, y + crop_hw[0] - 0.5
    corners = np.array([[left, top], [right, top], [right, bottom], [left, bottom]])
    warped = _warp_outline(corners, to.homography)
    if len(warped) == 0:
        return 0, 0, 0, 0
    limits = np.array(to.size_wh)
    low = np.clip(np.floor(warped.min(axis=0)), 0, limits).astype(int)
    high = np.clip(np.ceil(warped.max(axis=0)) + 1, 0, limits).astype(int)
    return int(low[0]), int(low[1]), int(high[0]), int(high[1])
