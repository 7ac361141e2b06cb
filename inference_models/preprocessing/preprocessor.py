"""Writes images into the network's input as the package describes it. Runs no network and keeps no
state."""

from __future__ import annotations

from dataclasses import dataclass

import cv2
import numpy as np

from inference_models.packages.network_config import InferenceConfig, NetworkInput, StaticCrop
from inference_models.preprocessing.contrast import enhance_contrast
from inference_models.preprocessing.geometry import ImageTransform, plan_transform


@dataclass(frozen=True, slots=True)
class PreProcessingOverrides:
    """Steps of the package that one call leaves out."""

    disable_static_crop: bool = False
    disable_grayscale: bool = False
    disable_contrast_enhancement: bool = False


class PreProcessor:
    """Pre-processing of one network.

    Args:
        config: the description of the package.
        fixed_size: (height, width) the graph insists on; wins over the description.
        dtype: type of the graph's input; the description's when None.
        stretched: images are placed by the description on a canvas of its
            `dataset_version_resize_dimensions`, and that canvas is stretched to the input.
            Transforms then end at the canvas.
    """

    def __init__(
        self,
        config: InferenceConfig,
        fixed_size: tuple[int, int] | None = None,
        dtype: np.dtype | None = None,
        stretched: bool = False,
    ) -> None:
        self.network: NetworkInput = config.network_input
        self.dtype = dtype or np.dtype(self.network.dtype)
        self._steps = config.image_pre_processing
        self._fixed_size = fixed_size
        self._input_size: tuple[int, int] | None = None
        if stretched:
            canvas = self.network.dataset_version_resize_dimensions
            size = self.network.training_input_size
            if canvas is None or (size is None and fixed_size is None):
                raise ValueError("a stretched input needs the sizes of the canvas and of the input")
            self._input_size = fixed_size or (size.height, size.width)  # type: ignore[union-attr]
            self._fixed_size = (canvas.height, canvas.width)
        self._tables = _value_tables(self.network, self.dtype)
        self._interleaved_table = (
            np.stack(self._tables, axis=-1)[None] if len(self._tables) > 1 else self._tables[0]
        )

    def plan(
        self, image: np.ndarray, overrides: PreProcessingOverrides | None = None
    ) -> ImageTransform:
        """Where an image will lie in the network's input."""
        height, width = image.shape[:2]
        return plan_transform(
            (height, width), self.network, self._static_crop(overrides), self._fixed_size
        )

    def allocate(self, batch_size: int, network_size: tuple[int, int]) -> np.ndarray:
        """A zeroed input for a batch, (b, c, h, w) or (b, h, w, c) as the graph wants it.

        Args:
            batch_size: images.
            network_size: size of the transforms; an input that is stretched has its own.
        """
        channels = self.network.input_channels
        network_size = self._input_size or network_size
        if self.network.layout == "nchw":
            return np.zeros((batch_size, channels, *network_size), dtype=self.dtype)
        return np.zeros((batch_size, *network_size, channels), dtype=self.dtype)

    def write(
        self,
        image: np.ndarray,
        transform: ImageTransform,
        out: np.ndarray,
        overrides: PreProcessingOverrides | None = None,
    ) -> None:
        """Writes one image into its row of the network's input.

        Args:
            image: (h, w, 3) BGR or (h, w), uint8; not changed.
            transform: its placement, from `plan` with the same overrides.
            out: (c, h, w) or (h, w, c), the row of the array from `allocate`.
            overrides: steps to leave out.
        """
        pixels = _resized(self._prepare(image, transform, overrides), transform.resized_size)
        if self._input_size is not None:
            canvas = self._on_canvas(pixels, transform)
            pixels, region = _resized(canvas, self._input_size), (slice(None), slice(None))
        elif self.network.resize_mode == "letterbox-reflect-edges":
            pixels, region = self._reflect(pixels, transform), (slice(None), slice(None))
        else:
            pixels, region = _cut(pixels, transform)
            self._fill_margin(out, region)
        if self.network.layout == "nchw":
            self._write_planes(pixels, out, region)
        else:
            self._write_interleaved(pixels, out, region)

    def _static_crop(self, overrides: PreProcessingOverrides | None) -> StaticCrop | None:
        if self._steps is None or (overrides is not None and overrides.disable_static_crop):
            return None
        return self._steps.static_crop

    def _prepare(
        self,
        image: np.ndarray,
        transform: ImageTransform,
        overrides: PreProcessingOverrides | None,
    ) -> np.ndarray:
        (top, left), (height, width) = transform.crop_offset, transform.crop_size
        pixels = image[top : top + height, left : left + width]
        if pixels.strides[-1] != 1 or (pixels.ndim == 3 and pixels.strides[1] != 3):
            pixels = np.ascontiguousarray(pixels)
        steps = self._steps
        if self.network.input_channels == 1 and pixels.ndim == 3:
            pixels = cv2.cvtColor(pixels, cv2.COLOR_BGR2GRAY)
        if steps is None:
            return pixels
        overrides = overrides or PreProcessingOverrides()
        grayscale = steps.grayscale is not None and steps.grayscale.enabled
        if grayscale and pixels.ndim == 3 and not overrides.disable_grayscale:
            # One channel stands for three equal ones from here on.
            pixels = cv2.cvtColor(pixels, cv2.COLOR_BGR2GRAY)
        contrast = steps.contrast
        if contrast and contrast.enabled and not overrides.disable_contrast_enhancement:
            pixels = enhance_contrast(pixels, contrast.type)
        return pixels

    def _on_canvas(self, pixels: np.ndarray, transform: ImageTransform) -> np.ndarray:
        """The resized image with its margin, or without what is cut, uint8."""
        if self.network.resize_mode == "letterbox-reflect-edges":
            return self._reflect(pixels, transform)
        visible, region = _cut(pixels, transform)
        shape = (*transform.network_size, *pixels.shape[2:])
        canvas = np.full(shape, self.network.padding_value or 0, np.uint8)
        canvas[region] = visible
        return canvas

    @staticmethod
    def _reflect(pixels: np.ndarray, transform: ImageTransform) -> np.ndarray:
        left, top, right, bottom = transform.pads
        return cv2.copyMakeBorder(pixels, top, bottom, left, right, cv2.BORDER_REFLECT)

    def _fill_margin(self, out: np.ndarray, region: tuple[slice, slice]) -> None:
        """Writes the padding value around the region the image goes to."""
        rows, columns = region
        padding = self.network.padding_value or 0
        for channel, table in enumerate(self._tables):
            plane = out[channel] if self.network.layout == "nchw" else out[:, :, channel]
            value = table[padding]
            plane[: rows.start] = value
            plane[rows.stop :] = value
            plane[rows, : columns.start] = value
            plane[rows, columns.stop :] = value

    def _write_planes(
        self, pixels: np.ndarray, out: np.ndarray, region: tuple[slice, slice]
    ) -> None:
        for channel, table in enumerate(self._tables):
            plane = pixels
            if pixels.ndim == 3:
                source = 2 - channel if self.network.color_mode == "rgb" else channel
                plane = cv2.extractChannel(pixels, source)
            _look_up(plane, table, out[channel][region])

    def _write_interleaved(
        self, pixels: np.ndarray, out: np.ndarray, region: tuple[slice, slice]
    ) -> None:
        if pixels.ndim == 3 and self.network.color_mode == "rgb":
            pixels = cv2.cvtColor(pixels, cv2.COLOR_BGR2RGB)
        elif pixels.ndim == 2 and self.network.input_channels == 3:
            pixels = cv2.cvtColor(pixels, cv2.COLOR_GRAY2BGR)
        target = out[region]
        if self.network.input_channels == 1:
            target = target[:, :, 0]
        _look_up(pixels, self._interleaved_table, target)


def _look_up(pixels: np.ndarray, table: np.ndarray, out: np.ndarray) -> None:
    """Writes table[pixels] into a view of the input: one read of bytes, one write of numbers.

    The table is (256,), or (1, 256, 3) with a column for each channel.
    """
    if table.dtype == np.float16:
        # OpenCV's look-up has no half precision.
        channels = np.arange(pixels.shape[2]) if pixels.ndim == 3 else ()
        out[...] = table[0, pixels, channels] if pixels.ndim == 3 else table[pixels]
        return
    result = cv2.LUT(pixels, table, dst=out)
    if result.ctypes.data != out.ctypes.data:
        # OpenCV made an array of its own because it cannot write into this view.
        out[...] = result


def _resized(pixels: np.ndarray, size: tuple[int, int]) -> np.ndarray:
    if pixels.shape[:2] == size:
        return pixels
    return cv2.resize(pixels, size[::-1], interpolation=cv2.INTER_LINEAR)


def _cut(pixels: np.ndarray, transform: ImageTransform) -> tuple[np.ndarray, tuple[slice, slice]]:
    """The part of the resized image that the network sees, and where it goes."""
    left, top, right, bottom = transform.pads
    height, width = pixels.shape[:2]
    visible = pixels[
        max(-top, 0) : height - max(-bottom, 0), max(-left, 0) : width - max(-right, 0)
    ]
    y, x = max(top, 0), max(left, 0)
    return visible, (slice(y, y + visible.shape[0]), slice(x, x + visible.shape[1]))


def _value_tables(network: NetworkInput, dtype: np.dtype) -> tuple[np.ndarray, ...]:
    """For each channel of the network, the input value of each of the 256 pixel values."""
    values = np.arange(256, dtype=np.float64) / (network.scaling_factor or 1.0)
    tables = []
    for channel in range(network.input_channels):
        normalised = values
        if network.normalization is not None:
            means, deviations = network.normalization
            normalised = (values - means[channel]) / deviations[channel]
        tables.append(normalised.astype(dtype))
    return tuple(tables)
