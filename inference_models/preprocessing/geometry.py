"""Where an image lies in the network's input, forth and back. Holds no pixels.

Every size is (height, width) in px. Coordinates are continuous: pixel (0, 0) covers [0, 1) x [0,
1), so an image of width w ends at x = w, which is also how the resize operator maps them.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from inference_models.packages.network_config import (
    NetworkInput,
    PadToBeDivisible,
    ResizeMode,
    StaticCrop,
)


@dataclass(frozen=True, slots=True)
class ImageTransform:
    """The one placement that the pixels, the boxes and the masks of an image all follow.

    The image is cut to `crop`, resized to `resized_size`, then padded (or, where a pad is negative,
    cut) to `network_size`. Scales follow from the sizes after rounding, so the maps agree with the
    pixels exactly.

    Attributes:
        original_size: size of the image.
        crop_offset: (y, x) of the static crop in the image; (0, 0) without one.
        crop_size: size of the static crop; the size of the image without one.
        resized_size: size of the crop after resizing.
        network_size: size of the network's input.
        pads: (left, top, right, bottom) in network px; negative values are cut away.
    """

    original_size: tuple[int, int]
    crop_offset: tuple[int, int]
    crop_size: tuple[int, int]
    resized_size: tuple[int, int]
    network_size: tuple[int, int]
    pads: tuple[int, int, int, int]

    @property
    def scale_wh(self) -> tuple[float, float]:
        """Network px per image px along x and y."""
        (height, width), (resized_height, resized_width) = self.crop_size, self.resized_size
        return resized_width / width, resized_height / height

    def points_to_network(self, points: np.ndarray) -> np.ndarray:
        """Maps (..., 2) points x, y from the image to the network's input; float64."""
        return (points - self._crop_xy()) * self.scale_wh + self._pad_xy()

    def points_to_image(self, points: np.ndarray) -> np.ndarray:
        """Maps (..., 2) points x, y from the network's input to the image; float64, not clipped."""
        return (points - self._pad_xy()) / self.scale_wh + self._crop_xy()

    def boxes_to_network(self, boxes: np.ndarray) -> np.ndarray:
        """Maps (n, 4) xyxy boxes from the image to the network's input; float64."""
        corners = self.points_to_network(np.asarray(boxes, dtype=np.float64).reshape(-1, 2, 2))
        return corners.reshape(-1, 4)

    def boxes_to_image(self, boxes: np.ndarray) -> np.ndarray:
        """Maps (n, 4) xyxy boxes from the network's input to the image, clipped to it; float32."""
        corners = self.points_to_image(np.asarray(boxes, dtype=np.float64).reshape(-1, 2, 2))
        height, width = self.original_size
        return np.clip(corners, 0.0, (width, height)).reshape(-1, 4).astype(np.float32)

    def _crop_xy(self) -> np.ndarray:
        return np.array(self.crop_offset[::-1], dtype=np.float64)

    def _pad_xy(self) -> np.ndarray:
        return np.array(self.pads[:2], dtype=np.float64)


def plan_transform(
    image_size: tuple[int, int],
    network: NetworkInput,
    static_crop: StaticCrop | None = None,
    fixed_size: tuple[int, int] | None = None,
) -> ImageTransform:
    """Decides where an image lies in the network's input.

    Args:
        image_size: size of the image.
        network: description of the input.
        static_crop: the part of the image to look at, None for all of it.
        fixed_size: size the graph insists on; wins over the description.
    """
    offset, crop_size = _crop(image_size, static_crop)
    target = fixed_size or _target_size(crop_size, network)
    resized = _resized_size(crop_size, target, network.resize_mode)
    if network.resize_mode == "fit-longer-edge":
        target = resized
    # Truncation towards zero splits an odd margin the same way for padding and for cutting.
    left = int((target[1] - resized[1]) / 2)
    top = int((target[0] - resized[0]) / 2)
    pads = (left, top, target[1] - resized[1] - left, target[0] - resized[0] - top)
    return ImageTransform(image_size, offset, crop_size, resized, target, pads)


def _crop(
    image_size: tuple[int, int], static_crop: StaticCrop | None
) -> tuple[tuple[int, int], tuple[int, int]]:
    if static_crop is None or not static_crop.enabled:
        return (0, 0), image_size
    height, width = image_size
    x0, x1 = int(static_crop.x_min / 100 * width), int(static_crop.x_max / 100 * width)
    y0, y1 = int(static_crop.y_min / 100 * height), int(static_crop.y_max / 100 * height)
    # A crop of a tiny image still has a pixel.
    x0, y0 = min(x0, width - 1), min(y0, height - 1)
    return (y0, x0), (max(y1 - y0, 1), max(x1 - x0, 1))


def _target_size(crop_size: tuple[int, int], network: NetworkInput) -> tuple[int, int]:
    if network.training_input_size is not None:
        return network.training_input_size.height, network.training_input_size.width
    mode = network.dynamic_spatial_size_mode
    if isinstance(mode, PadToBeDivisible):
        height, width = (-(-side // mode.value) * mode.value for side in crop_size)
        return height, width
    return crop_size


def _resized_size(
    size: tuple[int, int], target: tuple[int, int], mode: ResizeMode
) -> tuple[int, int]:
    """Size after resizing. Ratios are compared and divided as integers: no float can move a border
    by a pixel."""
    (height, width), (target_height, target_width) = size, target
    if mode == "stretch":
        return target
    if mode == "center-crop":
        return size
    height_decides = target_height * width <= target_width * height
    if mode == "fit-shorter-edge-center-crop":
        height_decides = not height_decides
    if mode in ("letterbox", "letterbox-reflect-edges"):
        if height_decides:
            return target_height, max(1, width * target_height // height)
        return max(1, height * target_width // width), target_width
    if height_decides:
        return target_height, max(1, _round_ratio(width * target_height, height))
    return max(1, _round_ratio(height * target_width, width)), target_width


def _round_ratio(numerator: int, denominator: int) -> int:
    return (2 * numerator + denominator) // (2 * denominator)
