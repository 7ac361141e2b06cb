"""Draws a path given as points."""

from __future__ import annotations

from typing import Any, Literal

import cv2
from pydantic import Field

from blocks.visualizations.colour_text import colour_of
from blocks.visualizations.limits import line_thickness
from blocks.visualizations.manifest import (
    COLOUR_EXAMPLES,
    Text,
    VisualizationManifest,
    WholeNumberFrom0,
    describe,
)
from blocks.visualizations.visualization_block import VisualizationBlock, colour_copy, drawn
from blocks.visualizations.zone_points import read_points
from execution_engine.block_api import (
    BlockResult,
    Selector,
    WorkflowBlockManifest,
    WorkflowImageData,
)
from execution_engine.kinds.catalogue import LIST_OF_VALUES_KIND


class ReferencePathManifest(VisualizationManifest):
    model_config = describe(
        "Reference Path Visualization",
        "Draw a path.",
        "Draws lines from point to point, such as the path that objects should follow.",
        ["path", "route", "polyline", "trajectory"],
    )
    type: Literal["roboflow_core/reference_path_visualization@v1"]
    reference_path: list[Any] | Selector(kind=[LIST_OF_VALUES_KIND]) = Field(
        title="Reference Path",
        description="Points (x, y) of the path, px, two or more.",
        examples=[[[0, 0], [50, 80], [200, 90]], "$inputs.reference_path"],
    )
    color: Text = Field(
        default="#5bb573",
        title="Color",
        description="Colour of the path.",
        examples=COLOUR_EXAMPLES,
    )
    thickness: WholeNumberFrom0 = Field(
        default=2,
        title="Thickness",
        description="Thickness of the path, px.",
        examples=[2, "$inputs.thickness"],
    )


class ReferencePathVisualizationBlockV1(VisualizationBlock):
    @classmethod
    def get_manifest(cls) -> type[WorkflowBlockManifest]:
        return ReferencePathManifest

    def run(
        self,
        image: WorkflowImageData,
        copy_image: bool,
        reference_path: list[Any],
        color: str,
        thickness: int,
    ) -> BlockResult:
        """`image`: a BGR copy of the image with the path.

        Raises:
            ValueError: the path is no list of points; the text says what of it is wrong.
        """
        colour = colour_of("color", color)
        width = line_thickness("thickness", thickness)
        points = read_points("reference_path", reference_path, at_least=2)
        pixels = colour_copy(image.numpy_image)
        cv2.polylines(pixels, [points], isClosed=False, color=colour, thickness=width)
        return drawn(image, pixels)
