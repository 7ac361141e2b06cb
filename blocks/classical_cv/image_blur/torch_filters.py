"""The four ways of smoothing in torch, for pixels in the memory of a GPU. Knows no manifest.

The median is OpenCV's. `average` and `bilateral` differ from it by at most one gray level, by
rounding. OpenCV rounds the weights of `gaussian` to 8 bits: there it differs by up to 2 levels for
windows up to 31 px, by 5 at 301 px, and the values here are the truer ones.
"""

from __future__ import annotations

from typing import Any

import cv2
import numpy as np

from blocks.classical_cv.image_blur.family import (
    BILATERAL_SIGMA_COLOR,
    BILATERAL_SIGMA_SPACE,
    LARGEST_BILATERAL_WINDOW,
    LARGEST_WINDOW,
)
from blocks.parameters import choice, odd_number, whole_number

# Values of a median that are sorted at a time.
_MOST_SORTED = 1 << 26


def tensor_blur(pixels: Any, blur_type: str, kernel_size: int) -> Any:
    """A smoothed copy of (c, h, w) uint8 pixels; arguments and errors as for `family.blur`."""
    return choice("blur_type", blur_type, _BLURS)(pixels, kernel_size)


def _average(pixels: Any, kernel_size: int) -> Any:
    size = whole_number("kernel_size", kernel_size, minimum=1, maximum=LARGEST_WINDOW)
    return _separable(pixels, np.full(size, 1 / size))


def _gaussian(pixels: Any, kernel_size: int) -> Any:
    size = odd_number("kernel_size", kernel_size, "a gaussian blur", LARGEST_WINDOW)
    return _separable(pixels, cv2.getGaussianKernel(size, 0)[:, 0])


def _separable(pixels: Any, weights: np.ndarray) -> Any:
    """The same weights along rows and columns; the image is mirrored at its border pixels."""
    import torch
    from torch.nn import functional

    size = len(weights)
    kernel = torch.from_numpy(weights).to(pixels.device)
    padded = _mirrored(pixels, size // 2, size - 1 - size // 2).double()[:, None]
    rows = functional.conv2d(padded, kernel[None, None, None])
    smoothed = functional.conv2d(rows, kernel[None, None, :, None])[:, 0]
    return smoothed.round().clamp(0, 255).to(torch.uint8)


def _median(pixels: Any, kernel_size: int) -> Any:
    import torch

    size = odd_number("kernel_size", kernel_size, "a median blur", LARGEST_WINDOW)
    channels, height, width = pixels.shape
    half = size // 2
    rows = torch.arange(-half, height + half, device=pixels.device).clamp(0, height - 1)
    columns = torch.arange(-half, width + half, device=pixels.device).clamp(0, width - 1)
    padded = pixels[:, rows][:, :, columns]
    step = max(1, _MOST_SORTED // (channels * width * size * size))
    bands = []
    for top in range(0, height, step):
        band = padded[:, top : min(top + step, height) + size - 1]
        windows = band.unfold(1, size, 1).unfold(2, size, 1).flatten(3)
        bands.append(windows.median(dim=3).values)
    return torch.cat(bands, dim=1)


def _bilateral(pixels: Any, kernel_size: int) -> Any:
    import torch

    diameter = whole_number("kernel_size", kernel_size, minimum=1, maximum=LARGEST_BILATERAL_WINDOW)
    radius = max(diameter // 2, 1)
    _, height, width = pixels.shape
    centre = pixels.double()
    padded = _mirrored(pixels, radius, radius).double()
    total, weight_sum = torch.zeros_like(centre), torch.zeros_like(centre[:1])
    for down in range(-radius, radius + 1):
        for right in range(-radius, radius + 1):
            distance = down * down + right * right
            if distance > radius * radius:
                continue
            top, left = down + radius, right + radius
            moved = padded[:, top : top + height, left : left + width]
            apart = (moved - centre).abs().sum(dim=0, keepdim=True)
            space = distance * -0.5 / BILATERAL_SIGMA_SPACE**2
            weight = torch.exp(apart * apart * (-0.5 / BILATERAL_SIGMA_COLOR**2) + space)
            total += moved * weight
            weight_sum += weight
    return (total / weight_sum).round().clamp(0, 255).to(torch.uint8)


def _mirrored(pixels: Any, before: int, after: int) -> Any:
    """The pixels with a margin on each side, mirrored at the border pixels as often as needed."""
    return pixels[:, _mirror(pixels, 1, before, after)][:, :, _mirror(pixels, 2, before, after)]


def _mirror(pixels: Any, axis: int, before: int, after: int) -> Any:
    import torch

    length = pixels.shape[axis]
    places = torch.arange(-before, length + after, device=pixels.device)
    if length == 1:
        return torch.zeros_like(places)
    period = 2 * (length - 1)
    places = places.remainder(period)
    return torch.minimum(places, period - places)


_BLURS = {"average": _average, "gaussian": _gaussian, "median": _median, "bilateral": _bilateral}
