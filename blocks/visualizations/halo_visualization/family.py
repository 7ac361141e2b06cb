"""A glow around masks: the fields and the drawing that the versions share."""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar

from pydantic import Field

from blocks.visualizations.drawable import drawable, masks_of_boxes
from blocks.visualizations.limits import fraction
from blocks.visualizations.limits import pixels as whole_pixels
from blocks.visualizations.manifest import ColouredMasksManifest, Fraction, WholeNumberFrom1
from blocks.visualizations.mask_painting import paint_halos
from blocks.visualizations.visualization_block import VisualizationBlock, colour_copy, drawn
from execution_engine.block_api import BlockResult, WorkflowImageData

if TYPE_CHECKING:
    import supervision as sv

NAME = "Halo Visualization"
SHORT_DESCRIPTION = "Draw a glow around masks."
LONG_DESCRIPTION = (
    "Draws a glow in the colour of each detection around its mask; the masks stay clear."
)
SEARCH_KEYWORDS = ["glow", "segmentation", "highlight"]


class HaloManifest(ColouredMasksManifest):
    """The fields of all versions."""

    opacity: Fraction = Field(
        default=0.8,
        title="Opacity",
        description="How much of the image the glow hides where it is strongest, 0 to 1.",
        examples=[0.8, "$inputs.opacity"],
    )
    kernel_size: WholeNumberFrom1 = Field(
        default=40,
        title="Kernel Size",
        description="Side of the window of the blur, px; the glow reaches half of it far.",
        examples=[40, "$inputs.kernel_size"],
    )


class HaloBlock(VisualizationBlock):
    """The drawing of all versions.

    Attributes:
        draws_boxes_without_masks: whether detections without masks glow around their boxes; they
            are not drawn otherwise.
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
        opacity: float,
        kernel_size: int,
    ) -> BlockResult:
        """`image`: a BGR copy of the image with the glow."""
        colours = self.colours(color_palette, palette_size, custom_colors, color_axis)
        share = fraction("opacity", opacity)
        window = whole_pixels("kernel_size", kernel_size, minimum=1)
        pixels = colour_copy(image.numpy_image)
        size = pixels.shape[:2]
        detections = drawable(predictions, size, masks=True)
        masks = detections.mask
        if len(detections) and masks is None and self.draws_boxes_without_masks:
            masks = masks_of_boxes(detections.xyxy, size)
        if len(detections) and masks is not None:
            indices = colours.indices(detections)
            paint_halos(pixels, masks, indices, colours.with_grey, share, window)  # type: ignore[arg-type]
        return drawn(image, pixels)
