"""Draws the box of each detection."""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal

from pydantic import Field

from blocks.visualizations.limits import fraction, line_thickness
from blocks.visualizations.manifest import (
    ColouredDetectionsManifest,
    Fraction,
    WholeNumberFrom0,
    describe,
)
from blocks.visualizations.palettes import RowColours
from blocks.visualizations.visualization_block import VisualizationBlock
from execution_engine.block_api import BlockResult, WorkflowBlockManifest, WorkflowImageData

if TYPE_CHECKING:
    import supervision as sv


class BoundingBoxVisualizationManifest(ColouredDetectionsManifest):
    model_config = describe(
        "Bounding Box Visualization",
        "Draw boxes around detections.",
        ("Draws the box of each detection, with round corners if wanted."),
        ["bbox", "rectangle", "object detection"],
    )
    type: Literal["roboflow_core/bounding_box_visualization@v1", "BoundingBoxVisualization"]
    thickness: WholeNumberFrom0 = Field(
        default=2,
        title="Thickness",
        description="Thickness of the lines, px.",
        examples=[2, "$inputs.thickness"],
    )
    roundness: Fraction = Field(
        default=0.0,
        title="Roundness",
        description="How round the corners are, from 0 (square) to 1.",
        examples=[0.0, 0.5, "$inputs.roundness"],
    )


class BoundingBoxVisualizationBlockV1(VisualizationBlock):
    @classmethod
    def get_manifest(cls) -> type[WorkflowBlockManifest]:
        return BoundingBoxVisualizationManifest

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
        roundness: float,
    ) -> BlockResult:
        """`image`: a BGR copy of the image with the drawing."""
        colours = self.colours(color_palette, palette_size, custom_colors, color_axis)
        annotator = self._prepared.get(_annotator, colours, thickness, roundness)
        return self.annotate(image, predictions, annotator, colours)


def _annotator(
    colours: RowColours, thickness: int, roundness: float
) -> sv.BoxAnnotator | sv.RoundBoxAnnotator:
    import supervision as sv

    width, roundness = line_thickness("thickness", thickness), fraction("roundness", roundness)
    if roundness == 0:
        return sv.BoxAnnotator(colours.palette(), width)
    return sv.RoundBoxAnnotator(colours.palette(), width, roundness=roundness)
