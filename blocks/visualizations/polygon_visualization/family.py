"""Outlines of masks: the fields and the drawing that the versions share."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, ClassVar

from pydantic import Field

from blocks.visualizations.drawable import drawable
from blocks.visualizations.limits import line_thickness
from blocks.visualizations.manifest import ColouredMasksManifest, WholeNumberFrom0
from blocks.visualizations.palettes import RowColours
from blocks.visualizations.visualization_block import VisualizationBlock, colour_copy, drawn
from execution_engine.block_api import BlockResult, WorkflowImageData

if TYPE_CHECKING:
    import supervision as sv

NAME = "Polygon Visualization"
SHORT_DESCRIPTION = "Draw the outlines of masks."
LONG_DESCRIPTION = "Draws the outline of each mask, that of its holes included."
SEARCH_KEYWORDS = ["contour", "outline", "segmentation"]


class PolygonManifest(ColouredMasksManifest):
    """The fields of all versions."""

    thickness: WholeNumberFrom0 = Field(
        default=2,
        title="Thickness",
        description="Thickness of the lines, px.",
        examples=[2, "$inputs.thickness"],
    )


class PolygonBlock(VisualizationBlock):
    """The drawing of all versions.

    Attributes:
        draws_boxes_without_masks: whether detections without masks are drawn as boxes; they are not
            drawn otherwise.
    """

    draws_boxes_without_masks: ClassVar[bool]

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
        """`image`: a BGR copy of the image with the outlines."""
        colours = self.colours(color_palette, palette_size, custom_colors, color_axis)
        outlines, boxes = self._prepared.get(_annotators, colours, thickness)
        pixels = colour_copy(image.numpy_image)
        detections = drawable(predictions, pixels.shape[:2], masks=True)
        annotator = outlines
        if detections.mask is None:
            annotator = boxes if self.draws_boxes_without_masks else None
        if len(detections) and annotator is not None:
            indices = colours.indices(detections)
            annotator.annotate(pixels, detections, custom_color_lookup=indices)
        return drawn(image, pixels)


def _annotators(colours: RowColours, thickness: int) -> tuple[Any, Any]:
    import supervision as sv

    palette, width = colours.palette(), line_thickness("thickness", thickness)
    return sv.PolygonAnnotator(palette, width), sv.BoxAnnotator(palette, width)
