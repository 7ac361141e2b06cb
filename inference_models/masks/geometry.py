"""Where a model's mask grid lies on the image and at which size masks come out. Holds no mask
values.

Sizes are (height, width), offsets (y, x), pads (left, top, right, bottom). `factor` is the mask
resolution factor.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt

from inference_models.masks.errors import MaskError

if TYPE_CHECKING:
    from inference_models.preprocessing.geometry import ImageTransform

Size = tuple[int, int]


@dataclass(frozen=True, slots=True)
class MaskGeometry:
    """The way from a model's raw mask grid to the grid its masks are delivered on.

    The raw grid loses what stands for padding (or, with negative pads, gains rows and columns of
    zeros), is resized to `target_size`, and lies at `origin` on a grid of `mask_size` that covers
    the whole image.

    Attributes:
        grid_size: the model's raw mask grid.
        inference_size: the network's input, px.
        image_size: the image, px.
        trim: rows or columns of the raw grid to drop at (left, top, right, bottom); negative ones
            are added as zeros.
        inner_size: the raw grid after trimming.
        target_size: size the inner grid is resized to.
        origin: place of the resized grid on the delivered grid.
        mask_size: the delivered grid.
        pads: padding of the network's input, network px.
        scale_wh: network px per px of the statically cropped image along x and y.
        crop_size: the image after the static crop.
    """

    grid_size: Size
    inference_size: Size
    image_size: Size
    trim: tuple[int, int, int, int]
    inner_size: Size
    target_size: Size
    origin: tuple[int, int]
    mask_size: Size
    pads: tuple[int, int, int, int]
    scale_wh: tuple[float, float]
    crop_size: Size

    @classmethod
    def from_transform(
        cls, transform: ImageTransform, grid_size: Size, factor: float = 1.0
    ) -> MaskGeometry:
        """Geometry of a `grid_size` mask grid of a network whose input was made by `transform`."""
        return plan_mask_geometry(
            grid_size,
            inference_size=transform.network_size,
            image_size=transform.original_size,
            pads=transform.pads,
            scale_wh=transform.scale_wh,
            crop_offset=transform.crop_offset,
            crop_size=transform.crop_size,
            factor=factor,
        )

    def place_boxes(self, boxes: npt.ArrayLike) -> npt.NDArray[np.float32] | npt.NDArray[np.int32]:
        """Moves network boxes to the delivered grid, clipped to it.

        Args:
            boxes: (n, 4) xyxy in network px.

        Returns:
            (n, 4) xyxy on `mask_size`: int32 (rounded half to even) when that grid is the image's
            own, otherwise float32 and not rounded.
        """
        corners = np.asarray(boxes, np.float32).reshape(-1, 2, 2)
        scale = np.asarray(self.scale_wh, np.float64)
        if self.target_size != self.crop_size:
            scale = scale * [
                self.crop_size[1] / self.target_size[1],
                self.crop_size[0] / self.target_size[0],
            ]
        left, top = self.pads[:2]
        placed = (corners - np.array([left, top], np.float32)) / scale.astype(np.float32)
        placed += np.array(self.origin[::-1], np.float32)
        height, width = self.mask_size
        placed = np.clip(placed, 0, np.array([width, height], np.float32)).reshape(-1, 4)
        if self.mask_size == self.image_size:
            return np.rint(placed).astype(np.int32)
        return placed.astype(np.float32)

    def crop_windows(self, boxes: npt.ArrayLike) -> npt.NDArray[np.int64]:
        """The window of the raw grid that each network box covers.

        Args:
            boxes: (n, 4) xyxy in network px.

        Returns:
            (n, 4) x0, y0, x1, y1 on `grid_size`, half-open, corners rounded half to even and
            clipped to the grid.
        """
        (rows, columns), (height, width) = self.grid_size, self.inference_size
        scale = np.array([columns / width, rows / height] * 2, np.float32)
        corners = np.rint(np.asarray(boxes, np.float32).reshape(-1, 4) * scale)
        return np.clip(np.nan_to_num(corners), 0, [columns, rows] * 2).astype(np.int64)


def plan_mask_geometry(
    grid_size: Size,
    *,
    inference_size: Size,
    image_size: Size,
    pads: tuple[int, int, int, int] = (0, 0, 0, 0),
    scale_wh: tuple[float, float] | None = None,
    crop_offset: tuple[int, int] = (0, 0),
    crop_size: Size | None = None,
    factor: float = 1.0,
) -> MaskGeometry:
    """Decides sizes and places of the masks of one image.

    Args:
        grid_size: the model's raw mask grid.
        inference_size: the network's input, px.
        image_size: the original image, px.
        pads: padding of the input in network px; negative where the input was cut.
        scale_wh: network px per image px along x and y; follows from the sizes when None.
        crop_offset: place of the static crop on the image, px.
        crop_size: size of the static crop; the image when None.
        factor: 1 delivers masks at the size of the (cropped) image, 0 on the model's own grid,
            values between blend the two sizes. Each axis blends alone, and a grid finer than the
            image makes lower factors larger.

    Raises:
        MaskError: the factor is not a finite number in [0, 1], or a size is not positive.
    """
    factor = checked_factor(factor)
    crop_size = image_size if crop_size is None else crop_size
    for name, size in (
        ("grid_size", grid_size),
        ("inference_size", inference_size),
        ("image_size", image_size),
        ("crop_size", crop_size),
    ):
        if len(size) != 2 or min(size) < 1:
            raise MaskError(f"{name} must be (height, width) of at least 1, got {tuple(size)}")
    left, top, right, bottom = pads
    if scale_wh is None:
        scale_wh = (
            (inference_size[1] - left - right) / crop_size[1],
            (inference_size[0] - top - bottom) / crop_size[0],
        )
    if left + right >= inference_size[1] or top + bottom >= inference_size[0]:
        raise MaskError(f"pads {tuple(pads)} leave nothing of the {tuple(inference_size)} input")
    x0, x1 = _trim_axis(grid_size[1] / inference_size[1], left, right, grid_size[1])
    y0, y1 = _trim_axis(grid_size[0] / inference_size[0], top, bottom, grid_size[0])
    trim = (x0, y0, x1, y1)
    inner = (grid_size[0] - y0 - y1, grid_size[1] - x0 - x1)
    target = crop_size if factor >= 1 else _blend(inner, crop_size, factor)
    mask_size, origin = target, (0, 0)
    if crop_size != image_size or crop_offset != (0, 0):
        per_row, per_column = target[0] / crop_size[0], target[1] / crop_size[1]
        origin = (round(crop_offset[0] * per_row), round(crop_offset[1] * per_column))
        # Size and offset round apart from each other: the canvas must still hold the resized grid.
        mask_size = (
            max(1, round(image_size[0] * per_row), origin[0] + target[0]),
            max(1, round(image_size[1] * per_column), origin[1] + target[1]),
        )
    return MaskGeometry(
        grid_size=grid_size,
        inference_size=inference_size,
        image_size=image_size,
        trim=trim,
        inner_size=inner,
        target_size=target,
        origin=origin,
        mask_size=mask_size,
        pads=pads,
        scale_wh=scale_wh,
        crop_size=crop_size,
    )


def checked_factor(factor: float) -> float:
    """The mask resolution factor as a float.

    Raises:
        MaskError: it is not a finite number in [0, 1].
    """
    number = isinstance(factor, (int, float, np.integer, np.floating))
    if isinstance(factor, bool) or not number or not math.isfinite(factor) or not 0 <= factor <= 1:
        raise MaskError(f"masks_resolution_factor must be finite and in [0.0, 1.0], got {factor!r}")
    return float(factor)


def _trim_axis(scale: float, before: int, after: int, length: int) -> tuple[int, int]:
    """Grid cells to drop before and after; an image thinner than a cell keeps the cell it lies
    in."""
    first, last = round(scale * before), round(scale * after)
    if first + last < length:
        return first, last
    first = min(first, length - 1)
    return first, length - 1 - first


def _blend(inner: Size, full: Size, factor: float) -> Size:
    return (
        max(1, round(inner[0] * (1 - factor) + full[0] * factor)),
        max(1, round(inner[1] * (1 - factor) + full[1] * factor)),
    )
