"""Masks against masks: union, intersection, IoU and boundary IoU. Only windows where crops meet are
looked at."""

from __future__ import annotations

import math

import cv2
import numpy as np
import numpy.typing as npt

from inference_models.masks.carrier import InstanceMasks
from inference_models.masks.errors import MaskError
from inference_models.masks.runs import mask_of_runs, union_of_runs


def union(masks: InstanceMasks, groups: npt.ArrayLike | None = None) -> InstanceMasks:
    """The union of all masks as one mask, or of each group of them.

    Args:
        masks: n masks.
        groups: (n,) number of the group of each mask, counted from 0; all masks form one group when
            None.

    Returns:
        One mask a group, on the same grid; a group without members is a mask without set pixels.

    Raises:
        MaskError: there are not n group numbers, or one is negative.
    """
    if groups is None:
        members = np.zeros(len(masks), np.int64)
        count = 1
    else:
        members = np.asarray(groups, np.int64).reshape(-1)
        if len(members) != len(masks) or (len(members) and members.min() < 0):
            raise MaskError(
                f"groups must be {len(masks)} numbers of at least 0, got {groups!r:.80}"
            )
        count = int(members.max()) + 1 if len(members) else 0
    height, width = masks.mask_size
    owners = members[mask_of_runs(masks.splits)]
    runs, splits = union_of_runs(masks.grid_runs(), owners, height, width, count)
    return InstanceMasks.from_runs(
        runs, splits, mask_size=masks.mask_size, image_size=masks.image_size
    )


def intersection_areas(first: InstanceMasks, second: InstanceMasks) -> npt.NDArray[np.int64]:
    """Pixels set in both, for every pair: (n, m) int64.

    Raises:
        MaskGridError: the two live on different grids.
    """
    first.require_same_grid(second)
    areas = np.zeros((len(first), len(second)), np.int64)
    one, other = first.boxes[:, None], second.boxes[None]
    low = np.maximum(one[..., :2], other[..., :2])
    high = np.minimum(one[..., 2:], other[..., 2:])
    rows, columns = np.nonzero((high > low).all(axis=2))
    same = first is second
    crops: dict[int, npt.NDArray[np.bool_]] = {}
    others: dict[int, npt.NDArray[np.bool_]] = crops if same else {}
    for i, j in zip(rows.tolist(), columns.tolist(), strict=True):
        if same and j < i:
            areas[i, j] = areas[j, i]
            continue
        x0, y0 = low[i, j].tolist()
        x1, y1 = high[i, j].tolist()
        a = _window(first, i, crops, x0, y0, x1, y1)
        b = _window(second, j, others, x0, y0, x1, y1)
        areas[i, j] = np.count_nonzero(a & b)
    return areas


def mask_iou(first: InstanceMasks, second: InstanceMasks) -> npt.NDArray[np.float64]:
    """Intersection over union of every pair, (n, m) float64; 0 for two masks without set pixels.

    Raises:
        MaskGridError: the two live on different grids.
    """
    shared = intersection_areas(first, second)
    total = first.areas[:, None] + second.areas[None] - shared
    return shared / np.maximum(total, 1)


def boundaries(masks: InstanceMasks, width_ratio: float = 0.02) -> InstanceMasks:
    """The inner border of each mask: its pixels that are at most d px (in rows and columns) from a
    pixel outside.

    d is `width_ratio` times the diagonal of the grid, rounded, at least 1; what lies beyond the
    grid counts as outside. Follows Cheng et al., "Boundary IoU" (CVPR 2021).

    Raises:
        MaskError: the ratio is not a positive number.
    """
    if not (math.isfinite(width_ratio) and width_ratio > 0):
        raise MaskError(f"width_ratio must be a positive number, got {width_ratio!r}")
    distance = max(1, round(width_ratio * math.hypot(*masks.mask_size)))
    window = 2 * distance + 1
    crops = []
    for index in range(len(masks)):
        crop = masks.bitmap(index)
        # A mask narrower than the window is all border. Beyond a crop nothing is set, so its edge
        # counts as outside.
        if min(crop.shape) >= window:
            around = cv2.boxFilter(
                crop, cv2.CV_32S, (window, window), normalize=False, borderType=cv2.BORDER_CONSTANT
            )
            crop = crop & (around < window * window)
        crops.append(crop)
    return InstanceMasks.from_crops(crops, masks.boxes[:, :2], masks.mask_size, masks.image_size)


def boundary_iou(
    first: InstanceMasks, second: InstanceMasks, width_ratio: float = 0.02
) -> npt.NDArray[np.float64]:
    """Intersection over union of the inner borders of every pair, (n, m) float64.

    Raises:
        MaskGridError: the two live on different grids.
    """
    first.require_same_grid(second)
    return mask_iou(boundaries(first, width_ratio), boundaries(second, width_ratio))


def _window(
    masks: InstanceMasks,
    index: int,
    crops: dict[int, npt.NDArray[np.bool_]],
    x0: int,
    y0: int,
    x1: int,
    y1: int,
) -> npt.NDArray[np.bool_]:
    if index not in crops:
        crops[index] = masks.crop(index)
    left, top = masks.boxes[index, :2].tolist()
    return crops[index][y0 - top : y1 - top, x0 - left : x1 - left]
