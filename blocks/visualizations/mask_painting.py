"""Paints masks crop by crop: one label map of the image instead of a canvas for each mask.

`sv.MaskAnnotator`, `sv.HaloAnnotator` and `sv.BackgroundOverlayAnnotator` give the same pictures,
many times slower for large images with many masks. Boxes and lines are not drawn here.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

import cv2
import numpy as np
from numpy.typing import NDArray

if TYPE_CHECKING:
    import supervision as sv
    from supervision import CompactMask

Size = tuple[int, int]
Labels = NDArray[np.uint8] | NDArray[np.uint16]

_ROWS_AT_A_TIME = 256
_LABELS_OF_A_BYTE = 255


def mask_labels(masks: CompactMask, values: NDArray[np.integer], image_size: Size) -> Labels:
    """(h, w) value of the mask on top of each pixel, 0 where there is none; small masks on top.

    Args:
        masks: n masks on the grid of the image.
        values: (n,) label of each mask, from 1 up.
        image_size: (height, width), px.
    """
    small = len(values) == 0 or int(values.max()) <= _LABELS_OF_A_BYTE
    labels = np.zeros(image_size, np.uint8 if small else np.uint16)
    for row in _largest_first(masks.area):
        crop, (x, y) = mask_crop(masks, row)
        height, width = crop.shape
        np.copyto(labels[y : y + height, x : x + width], int(values[row]), where=crop)
    return labels


def mask_crop(masks: CompactMask, row: int) -> tuple[NDArray[np.bool_], tuple[int, int]]:
    """The mask of a row as a contiguous crop (h, w), and the (x, y) of its corner."""
    x, y = masks.offsets[row].tolist()
    return np.ascontiguousarray(masks.crop(row)), (x, y)


def _largest_first(areas: NDArray[np.integer]) -> list[int]:
    return np.flip(np.argsort(areas, kind="stable")).tolist()


def covered_area(detections: sv.Detections, image_size: Size) -> NDArray[np.uint8]:
    """(h, w) 1 where a mask lies, or a box when there are no masks; 0 elsewhere.

    Args:
        detections: their masks, if any, are a `sv.CompactMask` on the grid of the image.
        image_size: (height, width), px.
    """
    area = np.zeros(image_size, np.uint8)
    if len(detections) == 0:
        return area
    masks = detections.mask
    if masks is None:
        for x0, y0, x1, y1 in clipped_boxes(detections.xyxy, image_size):
            area[y0:y1, x0:x1] = 1
        return area
    for row in range(len(masks)):
        crop, (x, y) = mask_crop(masks, row)  # type: ignore[arg-type]
        height, width = crop.shape
        area[y : y + height, x : x + width] |= crop.view(np.uint8)
    return area


def clipped_boxes(boxes: NDArray[Any], image_size: Size) -> list[tuple[int, ...]]:
    """Boxes (x0, y0, x1, y1) as whole pixels inside the image; the ends are exclusive."""
    height, width = image_size
    clipped = np.clip(np.asarray(boxes), 0, np.array([width, height, width, height]))
    return [tuple(box) for box in clipped.astype(np.int64).tolist()]


def blend_labels(
    pixels: NDArray[np.uint8], labels: Labels, colours: NDArray[np.uint8], opacity: float
) -> None:
    """Blends a colour into every labelled pixel, in place.

    Args:
        pixels: (h, w, 3) BGR.
        labels: (h, w); 0 leaves a pixel as it is, i stands for `colours[i - 1]`.
        colours: (k, 3) BGR.
        opacity: share of the colour, 0 to 1.
    """
    table = np.concatenate([np.zeros((1, 3), np.uint8), colours])
    for rows in _bands(pixels.shape[0]):
        band, marked = pixels[rows], labels[rows]
        if not marked.any():
            continue
        blended = cv2.addWeighted(_coloured(marked, table), opacity, band, 1 - opacity, 0)
        mask = marked if marked.dtype == np.uint8 else (marked > 0).view(np.uint8)
        cv2.copyTo(blended, mask, band)


def _coloured(labels: Labels, table: NDArray[np.uint8]) -> NDArray[np.uint8]:
    if labels.dtype != np.uint8:
        return table[labels]
    full = np.zeros((256, 3), np.uint8)
    full[: len(table)] = table[:256]
    channels = [cv2.LUT(labels, full[:, channel]) for channel in range(3)]
    return cv2.merge(channels)  # type: ignore[return-value]


def _bands(height: int) -> Iterator[slice]:
    for start in range(0, height, _ROWS_AT_A_TIME):
        yield slice(start, min(start + _ROWS_AT_A_TIME, height))


def paint_masks(
    pixels: NDArray[np.uint8],
    masks: CompactMask,
    colour_indices: NDArray[np.integer],
    colours: NDArray[np.uint8],
    opacity: float,
) -> None:
    """Fills masks with their colours, in place; where they overlap, the smallest is seen.

    Args:
        pixels: (h, w, 3) BGR.
        masks: n masks on the grid of the image.
        colour_indices: (n,) rows of `colours`.
        colours: (k, 3) BGR.
        opacity: share of the colour, 0 to 1.
    """
    used, numbers = np.unique(colour_indices, return_inverse=True)
    labels = mask_labels(masks, numbers + 1, (pixels.shape[0], pixels.shape[1]))
    blend_labels(pixels, labels, colours[used], opacity)


def paint_halos(
    pixels: NDArray[np.uint8],
    masks: CompactMask,
    colour_indices: NDArray[np.integer],
    colours: NDArray[np.uint8],
    opacity: float,
    kernel_size: int,
) -> None:
    """Draws a glow in the colour of each mask around it, in place; the masks stay clear.

    The glow is the blurred masks; it is strongest (`opacity`) where their brightness is highest.

    Args:
        pixels: (h, w, 3) BGR.
        masks: n masks on the grid of the image.
        colour_indices: (n,) rows of `colours`.
        colours: (k, 3) BGR.
        opacity: largest share of the colour, 0 to 1.
        kernel_size: side of the window of the blur, px.
    """
    size = (pixels.shape[0], pixels.shape[1])
    area = _area_of(masks, kernel_size, size)
    if area is None:
        return
    used, numbers = np.unique(colour_indices, return_inverse=True)
    labels = mask_labels(masks, numbers + 1, size)[area]
    glow = np.zeros((*labels.shape, 3), np.uint8)
    blend_labels(glow, labels, colours[used], 1.0)
    glow[:] = cv2.blur(glow, (kernel_size, kernel_size))
    brightness = cv2.cvtColor(glow, cv2.COLOR_BGR2GRAY)
    np.copyto(brightness, 0, where=labels > 0)
    brightest = int(brightness.max())
    if brightest == 0:
        return
    target = pixels[area]
    for rows in _bands(target.shape[0]):
        if brightness[rows].any():
            share = brightness[rows].astype(np.float32) * np.float32(opacity / brightest)
            target[rows] = cv2.blendLinear(target[rows], glow[rows], 1 - share, share)


def _area_of(masks: CompactMask, margin: int, image_size: Size) -> tuple[slice, slice] | None:
    """Rows and columns that hold all masks and a margin around them; None without foreground."""
    boxes = np.asarray(masks.bbox_xyxy)[np.asarray(masks.area) > 0]
    if len(boxes) == 0:
        return None
    x0, y0 = np.maximum(boxes[:, :2].min(axis=0) - margin, 0).tolist()
    x1, y1 = (boxes[:, 2:].max(axis=0) + 1 + margin).tolist()
    return slice(y0, min(y1, image_size[0])), slice(x0, min(x1, image_size[1]))
