"""Cutting the boxes of detections out of their image. Knows no manifest and no batch."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from blocks.kinds.detections import keys
from blocks.kinds.detections.columns import with_columns
from blocks.kinds.detections.lineage import lineage_of, repeated
from blocks.kinds.detections.masks import instance_masks
from blocks.kinds.detections.moving import moved_into
from blocks.transformations.dynamic_crop.mask_windows import MaskWindows
from blocks.transformations.windows import Window, numpy_window
from execution_engine.block_api import WorkflowImageData
from execution_engine.errors import InvalidFieldValueError

if TYPE_CHECKING:
    import supervision as sv

Bgr = tuple[int, int, int]
Crop = tuple[WorkflowImageData, "sv.Detections"]


class Pixels(NamedTuple):
    """How the pixels of crops are got at in one representation.

    Attributes:
        window: gives the pixels of a rectangle.
        cover: (pixels, (h, w) bool where, opacity, colour) to new pixels under a colour.
    """

    window: Window
    cover: Callable[[Any, NDArray[np.bool_], float, Bgr], Any]


def cut_out(
    image: WorkflowImageData,
    detections: sv.Detections,
    mask_opacity: float,
    background: Bgr,
    pixels_of: Pixels | None = None,
) -> list[Crop | None]:
    """A crop and the detection in px of the crop for each detection, None where nothing is left.

    Corners of boxes are rounded to whole px (halves to even) and clipped to the image. The id of a
    crop is the `detection_id` of its detection, which is moved as it is: its box may reach over the
    crop, its mask is cut at the edge.

    Args:
        image: the image the detections were made on.
        detections: n rows with ids; not changed.
        mask_opacity: 0 to 1, how much of the background colour covers what is outside a mask; no
            effect without masks.
        background: blue, green, red, 0 to 255.
        pixels_of: how the pixels are got at; as arrays when None.

    Raises:
        ValueError: the detections have no ids, or their masks do not cover the image.
    """
    if len(detections) == 0:
        return []
    if keys.DETECTION_ID not in detections.data:
        raise InvalidFieldValueError(
            f"the detections must carry `{keys.DETECTION_ID}`, the ids of the crops"
        )
    windows = _windows(detections, image.size)
    masks = instance_masks(detections, image.size)
    if masks is not None and masks.mask_size != image.size:
        raise InvalidFieldValueError(
            f"the masks lie in an image of (height, width) {masks.mask_size}, but the image to cut "
            f"has {image.size}"
        )
    cut = None if masks is None else MaskWindows(masks, windows)
    moved = _moved(image, detections, windows)
    window, cover = pixels_of or Pixels(numpy_window, on_background)
    with_rle = keys.RLE_MASK in detections.data
    crops: list[Crop | None] = []
    for row, (left, top, right, bottom) in enumerate(windows.tolist()):
        if right <= left or bottom <= top:
            crops.append(None)
            continue
        pixels = window(image, (top, bottom), (left, right))
        fields: dict[str, Any] = {}
        if cut is not None:
            fields["mask"], columns = cut.fields(row, with_rle)
            fields.update(columns)
            if mask_opacity > 0:
                pixels = cover(pixels, cut.outside(row), mask_opacity, background)
        crop = WorkflowImageData.create_crop(
            origin_image_data=image,
            crop_identifier=str(detections.data[keys.DETECTION_ID][row]),
            cropped_image=pixels,
            offset_x=left,
            offset_y=top,
        )
        crops.append((crop, _one_row(moved, row, fields)))
    return crops


def _windows(detections: sv.Detections, image_size: tuple[int, int]) -> NDArray[np.int64]:
    """(n, 4) left, top, exclusive right and bottom of the crops in the image, px."""
    height, width = image_size
    limits = np.array([width, height, width, height])
    corners = np.round(np.asarray(detections.xyxy, dtype=np.float64))
    return np.clip(corners, 0, limits).astype(np.int64)


def _moved(
    image: WorkflowImageData, detections: sv.Detections, windows: NDArray[np.int64]
) -> sv.Detections:
    """All rows, each in px of its own crop and with its lineage, without masks."""
    import supervision as sv

    corners = windows[:, :2]
    sizes = windows[:, [3, 2]] - windows[:, [1, 0]]
    bare = sv.Detections(
        xyxy=detections.xyxy,
        confidence=detections.confidence,
        class_id=detections.class_id,
        tracker_id=detections.tracker_id,
        data={key: item for key, item in detections.data.items() if key != keys.RLE_MASK},
        metadata=dict(detections.metadata),
    )
    moved = moved_into(bare, -corners, sizes)
    lineage = lineage_of(image)
    root_corner = np.array(lineage[keys.ROOT_PARENT_COORDINATES])
    same = {
        key: lineage[key]
        for key in (
            keys.ROOT_PARENT_ID,
            keys.ROOT_PARENT_DIMENSIONS,
            keys.SCALING_RELATIVE_TO_PARENT,
            keys.SCALING_RELATIVE_TO_ROOT_PARENT,
        )
    }
    columns = repeated({**same, keys.PARENT_DIMENSIONS: image.size}, len(detections))
    columns[keys.PARENT_ID] = np.asarray(detections.data[keys.DETECTION_ID])
    columns[keys.IMAGE_DIMENSIONS] = sizes
    columns[keys.PARENT_COORDINATES] = corners
    columns[keys.ROOT_PARENT_COORDINATES] = corners + root_corner
    return with_columns(moved, columns)


def _one_row(detections: sv.Detections, row: int, fields: dict[str, Any]) -> sv.Detections:
    """One row as new detections that share no memory, with further fields and columns."""
    import supervision as sv

    def part(values: Any) -> Any:
        return None if values is None else values[row : row + 1].copy()

    mask = fields.pop("mask", None)
    return sv.Detections(
        xyxy=part(detections.xyxy),
        mask=mask,
        confidence=part(detections.confidence),
        class_id=part(detections.class_id),
        tracker_id=part(detections.tracker_id),
        data={**{key: part(values) for key, values in detections.data.items()}, **fields},
        metadata=dict(detections.metadata),
    )


def brightness(colour: Bgr) -> float:
    """What one channel takes of a colour (ITU-R BT.601)."""
    blue, green, red = colour
    return 0.114 * blue + 0.587 * green + 0.299 * red


def on_background(
    pixels: NDArray[np.uint8], outside: NDArray[np.bool_], opacity: float, colour: Bgr
) -> NDArray[np.uint8]:
    """The pixels with the colour over all that is outside a mask."""
    coloured = pixels.ndim == 3 and pixels.shape[2] == 3
    shade: Any = colour if coloured else brightness(colour)
    covered = pixels[outside] * (1 - opacity) + np.asarray(shade) * opacity
    result = pixels.copy()
    result[outside] = np.clip(np.round(covered), 0, 255).astype(np.uint8)
    return result
