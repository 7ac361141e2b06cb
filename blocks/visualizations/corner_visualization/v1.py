"""Draws the corners of each box."""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal

from pydantic import Field

from blocks.visualizations.limits import line_thickness, pixels
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


class CornerVisualizationManifest(ColouredDetectionsManifest):
    model_config = describe(
        "Corner Visualization",
        "Draw the corners of boxes.",
        ("Draws two short lines at each corner of a box and leaves its sides open."),
        ["brackets", "box"],
    )
    type: Literal["roboflow_core/corner_visualization@v1", "CornerVisualization"]
    thickness: WholeNumberFrom0 = Field(
        default=4,
        title="Thickness",
        description="Thickness of the lines, px.",
        examples=[2, "$inputs.thickness"],
    )
    corner_length: WholeNumberFrom0 = Field(
        default=15,
        title="Corner Length",
        description="Length of the lines, px.",
        examples=[15, "$inputs.corner_length"],
    )


class CornerVisualizationBlockV1(VisualizationBlock):
    @classmethod
    def get_manifest(cls) -> type[WorkflowBlockManifest]:
        return CornerVisualizationManifest

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
        corner_length: int,
    ) -> BlockResult:
        """`image`: a BGR copy of the image with the drawing."""
        colours = self.colours(color_palette, palette_size, custom_colors, color_axis)
        annotator = self._prepared.get(_annotator, colours, thickness, corner_length)
        return self.annotate(image, predictions, annotator, colours)


def _annotator(colours: RowColours, thickness: int, corner_length: int) -> sv.BoxCornerAnnotator:
    import supervision as sv

    return sv.BoxCornerAnnotator(
        color=colours.palette(),
        thickness=line_thickness("thickness", thickness),
        corner_length=pixels("corner_length", corner_length),
    )
