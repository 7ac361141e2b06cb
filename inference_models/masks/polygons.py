"""Outlines of masks, and masks from outlines. All work is done on the crops.

A polygon is (k, 2) float32 x, y. Vertices taken from a mask are centres of its border pixels,
counted so that the top left pixel is (0, 0); drawing such a polygon filled, border included, gives
the mask back unless it has holes. Several polygons of one mask mean their union: a hole cannot be
written down this way, only as a run-length code.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Literal

import cv2
import numpy as np
import numpy.typing as npt

from inference_models.masks.carrier import InstanceMasks, Size, checked_size
from inference_models.masks.errors import MaskError

Polygon = npt.NDArray[np.float32]


@dataclass(frozen=True, slots=True, eq=False)
class LargestPolygons:
    """One polygon a mask, and what that leaves out.

    Attributes:
        polygons: n outlines, (k, 2) float32; (0, 2) for a mask without set pixels.
        masks: the n masks.
        parts: contour of the part that was taken, on the masks' grid, of masks with several.
    """

    polygons: list[Polygon]
    masks: InstanceMasks = field(repr=False)
    parts: Mapping[int, npt.NDArray[np.int32]] = field(repr=False)

    def lost_area(self) -> npt.NDArray[np.int64]:
        """(n,) set pixels of each mask, on its grid, that the polygon does not cover."""
        return self._differences()[0]

    def filled_area(self) -> npt.NDArray[np.int64]:
        """(n,) pixels that each polygon covers and its mask does not have: its holes."""
        return self._differences()[1]

    def _differences(self) -> npt.NDArray[np.int64]:
        areas = np.zeros((2, len(self.polygons)), np.int64)
        for index, part in self.parts.items():
            areas[:, index] = _difference(self.masks, index, part)
        return areas


def mask_polygons(masks: InstanceMasks, *, image_px: bool = True) -> list[list[Polygon]]:
    """The outer outlines of all parts of every mask, islands inside of holes among them.

    Args:
        masks: n masks.
        image_px: scale vertices from the masks' grid to px of the image by plain factors; on the
            grid when False.
    """
    scale = _scale(masks) if image_px else None
    result = []
    for index in range(len(masks)):
        contours, tree = _contours(masks, index)
        outer = [contour for contour, links in zip(contours, tree, strict=True) if links[3] < 0]
        result.append([_placed(contour, scale) for contour in outer])
    return result


def largest_polygons(
    masks: InstanceMasks, *, image_px: bool = True, min_points: int = 1
) -> LargestPolygons:
    """The outline of the largest part of every mask, for formats that hold one polygon an object.

    Args:
        masks: n masks.
        image_px: scale vertices from the masks' grid to px of the image by plain factors; on the
            grid when False.
        min_points: outlines with fewer vertices repeat their last one up to this number.
    """
    scale = _scale(masks) if image_px else None
    polygons: list[Polygon] = []
    parts: dict[int, npt.NDArray[np.int32]] = {}
    for index in range(len(masks)):
        contours, _ = _contours(masks, index)
        if not contours:
            polygons.append(np.zeros((0, 2), np.float32))
            continue
        largest = contours[0]
        if len(contours) > 1:
            largest = parts[index] = max(contours, key=cv2.contourArea)
        polygon = _placed(largest, scale)
        if len(polygon) < min_points:
            padding = np.repeat(polygon[-1:], min_points - len(polygon), axis=0)
            polygon = np.concatenate([polygon, padding])
        polygons.append(polygon)
    return LargestPolygons(polygons, masks, parts)


def masks_from_polygons(
    polygons: Sequence[Sequence[npt.ArrayLike]],
    image_size: Size,
    *,
    convention: Literal["pixels", "coco"] = "pixels",
) -> InstanceMasks:
    """Masks on the image's own pixels; several polygons of one object are their union.

    Args:
        polygons: for each object, its polygons as (k, 2) or flat x, y lists in px of the image.
        image_size: (h, w) of the image.
        convention: "pixels" takes vertices as pixel centres, truncates them and fills with the
            border, as outlines of masks want it; "coco" takes them as points between pixels and
            fills as `pycocotools` does.

    Raises:
        MaskError: a polygon has an odd number of coordinates or one that is not finite.
    """
    height, width = checked_size("image_size", image_size)
    parts = [
        [_vertices(polygon, index) for polygon in outlines]
        for index, outlines in enumerate(polygons)
    ]
    if convention == "coco":
        return _coco_masks(parts, (height, width))
    if convention != "pixels":
        raise MaskError(f'convention must be "pixels" or "coco", got {convention!r}')
    crops, offsets = [], []
    for outlines in parts:
        crop, offset = _filled(outlines, (height, width))
        crops.append(crop)
        offsets.append(offset)
    return InstanceMasks.from_crops(crops, np.array(offsets).reshape(-1, 2), (height, width))


def _contours(
    masks: InstanceMasks, index: int
) -> tuple[Sequence[npt.NDArray[np.int32]], npt.NDArray[np.int32]]:
    x0, y0, x1, _ = masks.boxes[index].tolist()
    if x1 <= x0:
        return (), np.zeros((0, 4), np.int32)
    found, tree = cv2.findContours(
        masks.bitmap(index), cv2.RETR_CCOMP, cv2.CHAIN_APPROX_SIMPLE, offset=(x0, y0)
    )
    return [np.asarray(contour, np.int32) for contour in found], tree[0]


def _placed(contour: npt.NDArray[np.int32], scale: npt.NDArray[np.float32] | None) -> Polygon:
    polygon = contour.reshape(-1, 2).astype(np.float32)
    return polygon if scale is None else polygon * scale


def _scale(masks: InstanceMasks) -> npt.NDArray[np.float32] | None:
    if not masks.on_own_grid:
        return None
    (height, width), (rows, columns) = masks.image_size, masks.mask_size
    return np.array([width / columns, height / rows], np.float32)


def _difference(
    masks: InstanceMasks, index: int, contour: npt.NDArray[np.int32]
) -> tuple[int, int]:
    crop = masks.bitmap(index)
    x0, y0 = masks.boxes[index, :2].tolist()
    covered = np.zeros_like(crop)
    cv2.drawContours(covered, [contour], 0, 1, cv2.FILLED, offset=(-x0, -y0))
    both = int(np.count_nonzero(covered & crop))
    return int(np.count_nonzero(crop)) - both, int(np.count_nonzero(covered)) - both


def _vertices(polygon: npt.ArrayLike, index: int) -> npt.NDArray[np.float64]:
    points = np.asarray(polygon, np.float64).reshape(-1)
    if len(points) % 2:
        raise MaskError(f"a polygon of object {index} has {len(points)} coordinates, an odd number")
    if not np.isfinite(points).all():
        raise MaskError(f"a polygon of object {index} has a coordinate that is not finite")
    return points.reshape(-1, 2)


def _filled(
    outlines: list[npt.NDArray[np.float64]], size: Size
) -> tuple[npt.NDArray[np.uint8], tuple[int, int]]:
    """Bitmap of the union of outlines around them, within the image, and its place (x, y)."""
    points = [np.trunc(outline).astype(np.int64) for outline in outlines if len(outline)]
    if not points:
        return np.zeros((0, 0), np.uint8), (0, 0)
    every = np.concatenate(points)
    x0, y0 = np.maximum(every.min(axis=0), 0).tolist()
    x1, y1 = np.minimum(every.max(axis=0) + 1, size[::-1]).tolist()
    if x1 <= x0 or y1 <= y0:
        return np.zeros((0, 0), np.uint8), (0, 0)
    crop = np.zeros((y1 - y0, x1 - x0), np.uint8)
    limit = 1 << 30
    for outline in points:
        local = np.clip(outline - [x0, y0], -limit, limit).astype(np.int32)
        # One call a polygon: together they would count as one outline, and overlaps would turn into
        # holes.
        cv2.fillPoly(crop, [local], 1)
    return crop, (x0, y0)


def _coco_masks(parts: list[list[npt.NDArray[np.float64]]], size: Size) -> InstanceMasks:
    from pycocotools import mask as coco

    from inference_models.masks.rle import decode_rle

    codes = []
    for outlines in parts:
        flat = [outline.reshape(-1).tolist() for outline in outlines if len(outline) >= 3]
        if flat:
            codes.append(coco.merge(coco.frPyObjects(flat, *size)))
        else:
            codes.append({"size": list(size), "counts": [size[0] * size[1]]})
    return decode_rle(codes, mask_size=size)
