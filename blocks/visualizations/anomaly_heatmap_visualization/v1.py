"""Colours an image by the anomaly of its parts."""

from __future__ import annotations

from typing import Any, Literal

import cv2
import numpy as np
from numpy.typing import NDArray
from pydantic import Field

from blocks.parameters import choice, number
from blocks.visualizations.limits import fraction
from blocks.visualizations.manifest import Fraction, Number, VisualizationManifest, describe
from blocks.visualizations.visualization_block import VisualizationBlock, colour_copy, drawn
from execution_engine.block_api import (
    BlockResult,
    Selector,
    WorkflowBlockManifest,
    WorkflowImageData,
)
from execution_engine.errors import InvalidFieldValueError
from execution_engine.kinds.catalogue import NUMPY_ARRAY_KIND, STRING_KIND

ColourMap = Literal["ROBOFLOW", "JET", "TURBO", "INFERNO", "VIRIDIS", "HOT"]

_OPAQUE_MAPS = {
    "JET": cv2.COLORMAP_JET,
    "TURBO": cv2.COLORMAP_TURBO,
    "INFERNO": cv2.COLORMAP_INFERNO,
    "VIRIDIS": cv2.COLORMAP_VIRIDIS,
    "HOT": cv2.COLORMAP_HOT,
}
_LEVELS = 256
_ROWS_AT_A_TIME = 256


class AnomalyHeatmapManifest(VisualizationManifest):
    model_config = describe(
        "Anomaly Heatmap Visualization",
        "Colour an image by its anomaly.",
        (
            "Stretches an anomaly map over the image and colours it by value / (value + "
            "threshold): nothing at 0, the middle of the colours at the threshold, the end for "
            "values far above. The scale is the same for all images. ROBOFLOW runs from yellow to "
            "red and fades out where there is little anomaly; the other colour maps cover the "
            "image evenly."
        ),
        ["anomaly", "defect", "inspection", "heat"],
    )
    type: Literal["roboflow_core/anomaly_heatmap_visualization@v1"]
    anomaly_map: Selector(kind=[NUMPY_ARRAY_KIND]) = Field(
        title="Anomaly Map",
        description="Anomaly (h, w) of parts of the image, at any resolution; 0 is none.",
        examples=["$steps.anomaly.anomaly_map"],
    )
    anomaly_threshold: Number = Field(
        title="Anomaly Threshold",
        description="Anomaly in the middle of the colours, above 0.",
        examples=[0.5, "$steps.anomaly.anomaly_threshold"],
    )
    color_map: ColourMap | Selector(kind=[STRING_KIND]) = Field(
        default="ROBOFLOW",
        title="Color Map",
        description="Colours from no anomaly to much.",
        examples=["JET", "$inputs.color_map"],
    )
    opacity: Fraction = Field(
        default=0.75,
        title="Opacity",
        description="How much of the image the colours hide, 0 to 1.",
        examples=[0.75, "$inputs.opacity"],
    )


class AnomalyHeatmapVisualizationBlockV1(VisualizationBlock):
    @classmethod
    def get_manifest(cls) -> type[WorkflowBlockManifest]:
        return AnomalyHeatmapManifest

    def run(
        self,
        image: WorkflowImageData,
        copy_image: bool,
        anomaly_map: Any,
        anomaly_threshold: float,
        color_map: str,
        opacity: float,
    ) -> BlockResult:
        """`image`: a BGR copy of the image with the heat.

        Raises:
            ValueError: the map is no plane of numbers, or the threshold is not above 0.
        """
        colours, shares = self._prepared.get(colour_scale, color_map)
        threshold = number("anomaly_threshold", anomaly_threshold)
        if not 0 < threshold < np.inf:
            raise InvalidFieldValueError(
                f"Field `anomaly_threshold` must be a number above 0, got {anomaly_threshold!r}."
            )
        plane = anomaly_plane(anomaly_map)
        pixels = colour_copy(image.numpy_image)
        height, width = pixels.shape[:2]
        stretched = cv2.resize(plane, (width, height), interpolation=cv2.INTER_LINEAR)
        shares = shares * np.float32(fraction("opacity", opacity))
        for start in range(0, height, _ROWS_AT_A_TIME):
            rows = slice(start, start + _ROWS_AT_A_TIME)
            level = levels(np.asarray(stretched[rows], np.float32), threshold)
            _colour(pixels[rows], level, colours, shares)
        return drawn(image, pixels)


def anomaly_plane(anomaly_map: Any) -> NDArray[np.float32]:
    """(h, w) of a map that may have axes of length 1 around it.

    Raises:
        ValueError: the map has other axes, no values, or values that are not finite.
    """
    plane = np.asarray(anomaly_map)
    if plane.dtype.kind not in "biuf":
        raise InvalidFieldValueError(f"Field `anomaly_map` must hold numbers, got {plane.dtype}.")
    shape = plane.shape
    while plane.ndim > 2 and 1 in (plane.shape[0], plane.shape[-1]):
        plane = plane[0] if plane.shape[0] == 1 else plane[..., 0]
    if plane.ndim != 2 or plane.size == 0:
        raise InvalidFieldValueError(
            f"Field `anomaly_map` must have the shape (h, w), got {shape}."
        )
    if not np.isfinite(plane).all():
        raise InvalidFieldValueError("Field `anomaly_map` holds values that are not finite.")
    return np.ascontiguousarray(plane, np.float32)


def levels(plane: NDArray[np.float32], threshold: float) -> NDArray[np.uint8]:
    """(h, w) level 0 to 255 of anomalies; those below 0 count as 0."""
    evidence = np.maximum(plane, 0)
    scale = evidence / (evidence + np.float32(threshold))
    return np.rint(scale * (_LEVELS - 1)).astype(np.uint8)


def colour_scale(color_map: str) -> tuple[NDArray[np.uint8], NDArray[np.float32]]:
    """(256, 3) BGR of each level and (256,) how much of the image it may hide.

    Raises:
        ValueError: there is no such colour map.
    """
    ramp = np.linspace(0, 1, _LEVELS, dtype=np.float32)
    opaque = choice("color_map", color_map, {"ROBOFLOW": None, **_OPAQUE_MAPS})
    if opaque is None:
        # Yellow to red; at the threshold, the middle, the colour is no longer faded.
        green = np.arange(_LEVELS, dtype=np.uint8)[::-1]
        colours = np.column_stack([np.zeros_like(green), green, np.full_like(green, 255)])
        return colours, np.minimum(1, 2 * ramp)
    steps = np.arange(_LEVELS, dtype=np.uint8)[:, None]
    return np.array(cv2.applyColorMap(steps, opaque)[:, 0], np.uint8), np.ones_like(ramp)


def _colour(
    pixels: NDArray[np.uint8],
    level: NDArray[np.uint8],
    colours: NDArray[np.uint8],
    shares: NDArray[np.float32],
) -> None:
    heat = cv2.merge([cv2.LUT(level, colours[:, channel]) for channel in range(3)])
    share = cv2.LUT(level, shares)
    pixels[:] = cv2.blendLinear(pixels, heat, 1 - share, share)
