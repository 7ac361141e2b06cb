"""Draws a dot at a place of each box."""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal

from pydantic import Field

from blocks.visualizations.anchors import position_of
from blocks.visualizations.limits import pixels
from blocks.visualizations.manifest import (
    AnchorName,
    ColouredDetectionsManifest,
    WholeNumberFrom0,
    describe,
)
from blocks.visualizations.palettes import RowColours
from blocks.visualizations.visualization_block import VisualizationBlock
from execution_engine.block_api import BlockResult, WorkflowBlockManifest, WorkflowImageData

if TYPE_CHECKING:
    import supervision as sv


class DotVisualizationManifest(ColouredDetectionsManifest):
    model_config = describe(
        "Dot Visualization",
        "Draw dots on detections.",
        ("Draws a filled circle at a place of each box, or at the centre of gravity of each mask."),
        ["point", "marker"],
    )
    type: Literal["roboflow_core/dot_visualization@v1", "DotVisualization"]
    position: AnchorName = Field(
        default="CENTER",
        title="Position",
        description="Place of the dot.",
        examples=["CENTER", "$inputs.position"],
    )
    radius: WholeNumberFrom0 = Field(
        default=4,
        title="Radius",
        description="Radius of the dot, px.",
        examples=[4, "$inputs.radius"],
    )
    outline_thickness: WholeNumberFrom0 = Field(
        default=0,
        title="Outline Thickness",
        description="Thickness of the black line around the dot, px; 0 for none.",
        examples=[2, "$inputs.outline_thickness"],
    )


class DotVisualizationBlockV1(VisualizationBlock):
    @classmethod
    def get_manifest(cls) -> type[WorkflowBlockManifest]:
        return DotVisualizationManifest

    def run(
        self,
        image: WorkflowImageData,
        predictions: sv.Detections,
        copy_image: bool,
        color_palette: str,
        palette_size: int,
        custom_colors: list[str],
        color_axis: str,
        position: str,
        radius: int,
        outline_thickness: int,
    ) -> BlockResult:
        """`image`: a BGR copy of the image with the drawing."""
        colours = self.colours(color_palette, palette_size, custom_colors, color_axis)
        annotator = self._prepared.get(_annotator, colours, position, radius, outline_thickness)
        return self.annotate(image, predictions, annotator, colours, anchor=position)


def _annotator(
    colours: RowColours, position: str, radius: int, outline_thickness: int
) -> sv.DotAnnotator:
    import supervision as sv

    return sv.DotAnnotator(
        color=colours.palette(),
        radius=pixels("radius", radius),
        position=position_of("position", position),
        outline_thickness=pixels("outline_thickness", outline_thickness),
        outline_color=sv.Color.BLACK,
    )
