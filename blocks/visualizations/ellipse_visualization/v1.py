"""Draws an arc at the foot of each box."""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal

from pydantic import Field

from blocks.parameters import whole_number
from blocks.visualizations.limits import line_thickness
from blocks.visualizations.manifest import (
    ColouredDetectionsManifest,
    WholeNumber,
    WholeNumberFrom0,
    describe,
)
from blocks.visualizations.palettes import RowColours
from blocks.visualizations.visualization_block import VisualizationBlock
from execution_engine.block_api import BlockResult, WorkflowBlockManifest, WorkflowImageData

if TYPE_CHECKING:
    import supervision as sv

# OpenCV turns angles back into one turn one turn at a time.
FULL_TURNS = 360_000


class EllipseVisualizationManifest(ColouredDetectionsManifest):
    model_config = describe(
        "Ellipse Visualization",
        "Draw arcs at the feet of detections.",
        (
            "Draws an arc of an ellipse around the middle of the lower side of each box, as if it "
            "lay on the ground. Angles are degrees, clockwise from the right."
        ),
        ["arc", "sports", "ground"],
    )
    type: Literal["roboflow_core/ellipse_visualization@v1", "EllipseVisualization"]
    thickness: WholeNumberFrom0 = Field(
        default=2,
        title="Thickness",
        description="Thickness of the lines, px.",
        examples=[2, "$inputs.thickness"],
    )
    start_angle: WholeNumber = Field(
        default=-45,
        title="Start Angle",
        description="Where the arc begins, degrees.",
        examples=[-45, "$inputs.start_angle"],
    )
    end_angle: WholeNumber = Field(
        default=235,
        title="End Angle",
        description="Where the arc ends, degrees.",
        examples=[235, "$inputs.end_angle"],
    )


class EllipseVisualizationBlockV1(VisualizationBlock):
    @classmethod
    def get_manifest(cls) -> type[WorkflowBlockManifest]:
        return EllipseVisualizationManifest

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
        start_angle: int,
        end_angle: int,
    ) -> BlockResult:
        """`image`: a BGR copy of the image with the drawing."""
        colours = self.colours(color_palette, palette_size, custom_colors, color_axis)
        annotator = self._prepared.get(_annotator, colours, thickness, start_angle, end_angle)
        return self.annotate(image, predictions, annotator, colours)


def _annotator(
    colours: RowColours, thickness: int, start_angle: int, end_angle: int
) -> sv.EllipseAnnotator:
    import supervision as sv

    return sv.EllipseAnnotator(
        color=colours.palette(),
        thickness=line_thickness("thickness", thickness),
        start_angle=whole_number("start_angle", start_angle, -FULL_TURNS, FULL_TURNS),
        end_angle=whole_number("end_angle", end_angle, -FULL_TURNS, FULL_TURNS),
    )
