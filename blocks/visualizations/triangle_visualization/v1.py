"""Draws a triangle that points at a place of each box."""

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


class TriangleVisualizationManifest(ColouredDetectionsManifest):
    model_config = describe(
        "Triangle Visualization",
        "Draw triangles that point at detections.",
        (
            "Draws a filled triangle whose tip points down at a place of each box, or at the "
            "centre of gravity of each mask."
        ),
        ["marker", "pointer", "arrow"],
    )
    type: Literal["roboflow_core/triangle_visualization@v1", "TriangleVisualization"]
    position: AnchorName = Field(
        default="TOP_CENTER",
        title="Position",
        description="Place of the tip.",
        examples=["CENTER", "$inputs.position"],
    )
    base: WholeNumberFrom0 = Field(
        default=10,
        title="Base",
        description="Width of the triangle, px.",
        examples=[10, "$inputs.base"],
    )
    height: WholeNumberFrom0 = Field(
        default=10,
        title="Height",
        description="Height of the triangle, px.",
        examples=[10, "$inputs.height"],
    )
    outline_thickness: WholeNumberFrom0 = Field(
        default=0,
        title="Outline Thickness",
        description="Thickness of the black line around the triangle, px; 0 for none.",
        examples=[2, "$inputs.outline_thickness"],
    )


class TriangleVisualizationBlockV1(VisualizationBlock):
    @classmethod
    def get_manifest(cls) -> type[WorkflowBlockManifest]:
        return TriangleVisualizationManifest

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
        base: int,
        height: int,
        outline_thickness: int,
    ) -> BlockResult:
        """`image`: a BGR copy of the image with the drawing."""
        colours = self.colours(color_palette, palette_size, custom_colors, color_axis)
        annotator = self._prepared.get(
            _annotator, colours, position, base, height, outline_thickness
        )
        return self.annotate(image, predictions, annotator, colours, anchor=position)


def _annotator(
    colours: RowColours, position: str, base: int, height: int, outline_thickness: int
) -> sv.TriangleAnnotator:
    import supervision as sv

    return sv.TriangleAnnotator(
        color=colours.palette(),
        base=pixels("base", base),
        height=pixels("height", height),
        position=position_of("position", position),
        outline_thickness=pixels("outline_thickness", outline_thickness),
        outline_color=sv.Color.BLACK,
    )
