"""Shades zones given as polygons."""

from __future__ import annotations

from typing import Any, Literal

import cv2
import numpy as np
from pydantic import Field

from blocks.visualizations.colour_text import colour_of
from blocks.visualizations.limits import fraction
from blocks.visualizations.manifest import (
    COLOUR_EXAMPLES,
    Fraction,
    Text,
    VisualizationManifest,
    describe,
)
from blocks.visualizations.mask_painting import blend_labels
from blocks.visualizations.visualization_block import VisualizationBlock, colour_copy, drawn
from blocks.visualizations.zone_points import read_polygons
from execution_engine.block_api import (
    BlockResult,
    Selector,
    WorkflowBlockManifest,
    WorkflowImageData,
)
from execution_engine.kinds.catalogue import LIST_OF_VALUES_KIND


class PolygonZoneManifest(VisualizationManifest):
    model_config = describe(
        "Polygon Zone Visualization",
        "Shade a zone of the image.",
        "Fills a polygon, or several, with a colour that lets the image shine through.",
        ["zone", "area", "region"],
    )
    type: Literal["roboflow_core/polygon_zone_visualization@v1"]
    zone: list[Any] | Selector(kind=[LIST_OF_VALUES_KIND]) = Field(
        title="Zone",
        description="Points (x, y) of the polygon, px, three or more; or a list of polygons.",
        examples=[[[0, 0], [0, 100], [100, 100]], "$inputs.zone"],
    )
    color: Text = Field(
        default="#5bb573",
        title="Color",
        description="Colour of the zone.",
        examples=COLOUR_EXAMPLES,
    )
    opacity: Fraction = Field(
        default=0.3,
        title="Opacity",
        description="How much of the image the zone hides, 0 to 1.",
        examples=[0.3, "$inputs.opacity"],
    )


class PolygonZoneVisualizationBlockV1(VisualizationBlock):
    @classmethod
    def get_manifest(cls) -> type[WorkflowBlockManifest]:
        return PolygonZoneManifest

    def run(
        self,
        image: WorkflowImageData,
        copy_image: bool,
        zone: list[Any],
        color: str,
        opacity: float,
    ) -> BlockResult:
        """`image`: a BGR copy of the image with the zone.

        Raises:
            ValueError: the zone is no polygon; the text says what of it is wrong.
        """
        colour, share = colour_of("color", color), fraction("opacity", opacity)
        polygons = read_polygons("zone", zone)
        pixels = colour_copy(image.numpy_image)
        labels = np.zeros(pixels.shape[:2], np.uint8)
        for polygon in polygons:
            cv2.fillPoly(labels, [polygon], 1)
        blend_labels(pixels, labels, np.array([colour], np.uint8), share)
        return drawn(image, pixels)
