"""Class maps of whole images from raw scores: semantic segmentation and matting. Detections have
their own modules."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import cv2
import numpy as np

from inference_models.errors import ModelRuntimeError
from inference_models.families.activation import sigmoid
from inference_models.families.request import ClassTable
from inference_models.masks.taps import axis_taps
from inference_models.packages.package import ModelPackage
from inference_models.preprocessing.geometry import ImageTransform

_BACKGROUND = "background"


@dataclass(frozen=True, slots=True)
class ClassMap:
    """What a network says of every pixel of an image.

    Attributes:
        class_ids: (h, w) int32 class of each pixel; the background's id, or -1 when no class is
            named background.
        confidence: (h, w) float32 score of that class, 0 in the background.
    """

    class_ids: np.ndarray
    confidence: np.ndarray


class SemanticDecoder:
    """Turns raw scores into a class map of the image.

    A graph with one channel answers with the score of the one class that is not background. A graph
    with a channel less than there are class names has no channel for the background.

    Args:
        package: class names, activation and layout.
        classes: which of the network's classes are classes of the model.
    """

    def __init__(self, package: ModelPackage, classes: ClassTable) -> None:
        self._package = package
        self._channels_last = package.inference.network_input.layout == "nhwc"
        post = package.inference.post_processing
        self._fused = post is not None and post.type != "nms" and post.fused
        self._each_for_itself = post is not None and post.type == "sigmoid"
        names = [name.lower() for name in package.class_names]
        self._background = names.index(_BACKGROUND) if _BACKGROUND in names else None
        self._to_model = classes.to_model.astype(np.int32)
        model_names = [name.lower() for name in classes.names]
        self.background_id = model_names.index(_BACKGROUND) if _BACKGROUND in model_names else -1

    def decode(self, scores: np.ndarray, transform: ImageTransform, threshold: float) -> ClassMap:
        """The class map of one image.

        Scores are enlarged before they become probabilities and classes, so borders are as fine as
        the image.

        Args:
            scores: (k, h, w) raw output of the image, (h, w, k) for a channels-last graph.
            transform: where the image lies in the network's input.
            threshold: pixels with a lower score become background.

        Raises:
            ModelRuntimeError: the output has not the shape of the package's classes.
        """
        network_ids = self._channel_classes(scores)
        planes = np.moveaxis(scores, -1, 0) if self._channels_last else scores
        top, left, height, width = _seen_part(transform)
        cells = _cells_of_image(planes.shape[1:], transform)
        enlarged = (_resize(plane[cells], (height, width)) for plane in planes)
        channel, confidence = self._best(enlarged, len(planes))
        seen = self._to_model[network_ids][channel]
        below = (confidence < threshold) | (seen == self.background_id)
        # A class that is no class of the model has the id -1, as has a background without a name.
        below |= seen == -1
        seen[below] = self.background_id
        confidence[below] = 0.0
        if (height, width) == transform.original_size:
            return ClassMap(seen, confidence)
        class_ids = np.full(transform.original_size, self.background_id, dtype=np.int32)
        canvas = np.zeros(transform.original_size, dtype=np.float32)
        region = (slice(top, top + height), slice(left, left + width))
        class_ids[region], canvas[region] = seen, confidence
        return ClassMap(class_ids, canvas)

    def _channel_classes(self, scores: np.ndarray) -> np.ndarray:
        """The network's class of each channel."""
        names = self._package.class_names
        channels = scores.shape[-1 if self._channels_last else 0] if scores.ndim == 3 else None
        if channels == len(names):
            return np.arange(len(names))
        if channels == len(names) - 1 and channels:
            return np.delete(np.arange(len(names)), self._background or 0)
        axes = "[h, w, k]" if self._channels_last else "[k, h, w]"
        raise ModelRuntimeError(
            f"{self._package.location}: its output must be {axes} with k = {len(names)} classes, "
            f"or one less without background, got {list(scores.shape)}"
        )

    def _best(self, planes: Iterator[np.ndarray], count: int) -> tuple[np.ndarray, np.ndarray]:
        """The best channel of each pixel and its probability; one plane is in memory at a time."""
        if count == 1:
            plane = next(planes)
            probability = plane.astype(np.float32) if self._fused else sigmoid(plane)
            return np.zeros(plane.shape, dtype=np.int64), probability
        best = next(planes).astype(np.float32)
        channel = np.zeros(best.shape, dtype=np.int64)
        # Sum of exp(score - best score) over the channels so far.
        total = np.ones(best.shape, dtype=np.float32)
        for index, plane in enumerate(planes, start=1):
            difference = plane - best
            better = difference > 0
            channel[better] = index
            if not self._fused and not self._each_for_itself:
                share = np.exp(-np.abs(difference))
                total = np.where(better, total * share + 1, total + share)
            np.maximum(best, plane, out=best)
        if self._fused:
            return channel, best
        return channel, sigmoid(best) if self._each_for_itself else 1 / total


def _seen_part(transform: ImageTransform) -> tuple[int, int, int, int]:
    """(top, left, height, width) in image px of what the network saw: all but what a centre crop
    cut away."""
    left, top, right, bottom = transform.pads
    scale_x, scale_y = transform.scale_wh
    (crop_top, crop_left), (crop_height, crop_width) = transform.crop_offset, transform.crop_size
    x0, x1 = round(max(-left, 0) / scale_x), crop_width - round(max(-right, 0) / scale_x)
    y0, y1 = round(max(-top, 0) / scale_y), crop_height - round(max(-bottom, 0) / scale_y)
    return crop_top + y0, crop_left + x0, max(y1 - y0, 1), max(x1 - x0, 1)


def _cells_of_image(grid_size: tuple[int, ...], transform: ImageTransform) -> tuple[slice, slice]:
    """The cells of the network's output grid that are no padding; at least one along each axis."""
    left, top, right, bottom = transform.pads
    axes = zip(grid_size, transform.network_size, ((top, bottom), (left, right)), strict=True)
    slices = []
    for cells, side, (before, after) in axes:
        first = min(round(max(before, 0) * cells / side), cells - 1)
        last = max(cells - round(max(after, 0) * cells / side), first + 1)
        slices.append(slice(first, last))
    return slices[0], slices[1]


def _resize(plane: np.ndarray, size: tuple[int, int]) -> np.ndarray:
    """Bilinear with half-pixel centres, antialiased where a side shrinks; float32."""
    plane = np.ascontiguousarray(plane, dtype=np.float32)
    if plane.shape == size:
        return plane
    if size[0] >= plane.shape[0] and size[1] >= plane.shape[1]:
        return cv2.resize(plane, size[::-1], interpolation=cv2.INTER_LINEAR)
    rows = axis_taps(plane.shape[0], size[0]).matrix()
    columns = axis_taps(plane.shape[1], size[1]).matrix()
    return rows @ plane @ columns.T
