"""Fills the mask of each detection with its colour."""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal

from pydantic import Field

from blocks.visualizations.drawable import drawable
from blocks.visualizations.limits import fraction
from blocks.visualizations.manifest import (
    MASK_KINDS,
    PREDICTIONS_EXAMPLES,
    ColourManifest,
    Fraction,
    describe,
)
from blocks.visualizations.mask_painting import paint_masks
from blocks.visualizations.visualization_block import VisualizationBlock, colour_copy, drawn
from execution_engine.block_api import (
    BlockResult,
    Selector,
    WorkflowBlockManifest,
    WorkflowImageData,
)
from execution_engine.kinds.catalogue import SEMANTIC_SEGMENTATION_PREDICTION_KIND

if TYPE_CHECKING:
    import supervision as sv


class MaskVisualizationManifest(ColourManifest):
    model_config = describe(
        "Mask Visualization",
        "Fill masks with colours.",
        (
            "Fills the mask of each detection with its colour. Where masks overlap, the smallest "
            "is seen. Detections without masks are not drawn."
        ),
        ["segmentation", "fill"],
    )
    type: Literal["roboflow_core/mask_visualization@v1", "MaskVisualization"]
    predictions: Selector(kind=[*MASK_KINDS, SEMANTIC_SEGMENTATION_PREDICTION_KIND]) = Field(
        title="Predictions",
        description="Detections with masks, or the areas of a semantic segmentation.",
        examples=PREDICTIONS_EXAMPLES,
    )
    opacity: Fraction = Field(
        default=0.5,
        title="Opacity",
        description="How much of the image a mask hides, 0 to 1.",
        examples=[0.5, "$inputs.opacity"],
    )


class MaskVisualizationBlockV1(VisualizationBlock):
    @classmethod
    def get_manifest(cls) -> type[WorkflowBlockManifest]:
        return MaskVisualizationManifest

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
        """`image`: a BGR copy of the image with the masks."""
        colours = self.colours(color_palette, palette_size, custom_colors, color_axis)
        share = fraction("opacity", opacity)
        pixels = colour_copy(image.numpy_image)
        detections = drawable(self.rows(predictions), pixels.shape[:2], masks=True)
        if len(detections) and detections.mask is not None:
            indices = colours.indices(detections)
            paint_masks(pixels, detections.mask, indices, colours.with_grey, share)  # type: ignore[arg-type]
        return drawn(image, pixels)
