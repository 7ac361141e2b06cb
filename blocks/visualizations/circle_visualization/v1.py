"""Draws a circle through the corners of each box."""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal

from pydantic import Field

from blocks.visualizations.limits import line_thickness
from blocks.visualizations.manifest import (
    ColouredDetectionsManifest,
    WholeNumberFrom0,
    describe,
)
from blocks.visualizations.palettes import RowColours
from blocks.visualizations.visualization_block import VisualizationBlock
from execution_engine.block_api import BlockResult, WorkflowBlockManifest, WorkflowImageData

if TYPE_CHECKING:
    import supervision as sv


class CircleVisualizationManifest(ColouredDetectionsManifest):
    model_config = describe(
        "Circle Visualization",
        "Draw circles around detections.",
        ("Draws a circle around the middle of each box, through its corners."),
        ["round", "highlight"],
    )
    type: Literal["roboflow_core/circle_visualization@v1", "CircleVisualization"]
    thickness: WholeNumberFrom0 = Field(
        default=2,
        title="Thickness",
        description="Thickness of the lines, px.",
        examples=[2, "$inputs.thickness"],
    )


class CircleVisualizationBlockV1(VisualizationBlock):
    @classmethod
    def get_manifest(cls) -> type[WorkflowBlockManifest]:
        return CircleVisualizationManifest

    def run(
        self,
        image: WorkflowImageData,
        predictions: sv.Detections,
        copy_image: bool,
        color_palette: str,
        palette_size: int,
        custom_colors: list[str],
        color_axis: str,
        thickness: int,
    ) -> BlockResult:
        """`image`: a BGR copy of the image with the drawing."""
        colours = self.colours(color_palette, palette_size, custom_colors, color_axis)
        annotator = self._prepared.get(_annotator, colours, thickness)
        return self.annotate(image, predictions, annotator, colours)


def _annotator(colours: RowColours, thickness: int) -> sv.CircleAnnotator:
    import supervision as sv

    return sv.CircleAnnotator(colours.palette(), line_thickness("thickness", thickness))
