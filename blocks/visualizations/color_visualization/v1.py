"""Fills detections with their colour."""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal

from pydantic import Field

from blocks.visualizations.drawable import drawable
from blocks.visualizations.limits import fraction
from blocks.visualizations.manifest import ColouredDetectionsManifest, Fraction, describe
from blocks.visualizations.mask_painting import paint_masks
from blocks.visualizations.palettes import RowColours
from blocks.visualizations.visualization_block import VisualizationBlock, colour_copy, drawn
from execution_engine.block_api import BlockResult, WorkflowBlockManifest, WorkflowImageData

if TYPE_CHECKING:
    import supervision as sv


class ColorVisualizationManifest(ColouredDetectionsManifest):
    model_config = describe(
        "Color Visualization",
        "Fill detections with colours.",
        "Fills the mask of each detection with its colour, or its box when there are no masks.",
        ["fill", "paint", "highlight"],
    )
    type: Literal["roboflow_core/color_visualization@v1", "ColorVisualization"]
    opacity: Fraction = Field(
        default=0.5,
        title="Opacity",
        description="How much of the image the colour hides, 0 to 1.",
        examples=[0.5, "$inputs.opacity"],
    )


class ColorVisualizationBlockV1(VisualizationBlock):
    @classmethod
    def get_manifest(cls) -> type[WorkflowBlockManifest]:
        return ColorVisualizationManifest

    def run(
        self,
        image: WorkflowImageData,
        predictions: sv.Detections,
        copy_image: bool,
        color_palette: str,
        palette_size: int,
        custom_colors: list[str],
        color_axis: str,
        opacity: float,
    ) -> BlockResult:
        """`image`: a BGR copy of the image with the colours."""
        colours = self.colours(color_palette, palette_size, custom_colors, color_axis)
        annotator = self._prepared.get(_annotator, colours, opacity)
        pixels = colour_copy(image.numpy_image)
        detections = drawable(predictions, pixels.shape[:2], masks=True)
        if len(detections):
            indices = colours.indices(detections)
            if detections.mask is None:
                annotator.annotate(pixels, detections, custom_color_lookup=indices)
            else:
                table = colours.with_grey
                paint_masks(pixels, detections.mask, indices, table, annotator.opacity)  # type: ignore[arg-type]
        return drawn(image, pixels)


def _annotator(colours: RowColours, opacity: float) -> sv.ColorAnnotator:
    import supervision as sv

    return sv.ColorAnnotator(colours.palette(), fraction("opacity", opacity))
