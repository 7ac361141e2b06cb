"""Covers everything but the detections with a colour."""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal

import numpy as np
from pydantic import Field

from blocks.visualizations.colour_text import colour_of
from blocks.visualizations.drawable import drawable
from blocks.visualizations.limits import fraction
from blocks.visualizations.manifest import (
    COLOUR_EXAMPLES,
    DetectionsVisualizationManifest,
    Fraction,
    Text,
    describe,
)
from blocks.visualizations.mask_painting import blend_labels, covered_area
from blocks.visualizations.visualization_block import VisualizationBlock, colour_copy, drawn
from execution_engine.block_api import BlockResult, WorkflowBlockManifest, WorkflowImageData

if TYPE_CHECKING:
    import supervision as sv


class BackgroundColorManifest(DetectionsVisualizationManifest):
    model_config = describe(
        "Background Color Visualization",
        "Cover everything but the detections with a colour.",
        (
            "Blends a colour into all of the image that lies outside the masks of the detections, "
            "or outside their boxes when there are no masks. Without detections that is the whole "
            "image."
        ),
        ["dim", "focus", "mask"],
    )
    type: Literal["roboflow_core/background_color_visualization@v1", "BackgroundColorVisualization"]
    color: Text = Field(
        default="BLACK",
        title="Color",
        description="Colour of the background.",
        examples=COLOUR_EXAMPLES,
    )
    opacity: Fraction = Field(
        default=0.5,
        title="Opacity",
        description="How much of the background the colour hides, 0 to 1.",
        examples=[0.5, "$inputs.opacity"],
    )


class BackgroundColorVisualizationBlockV1(VisualizationBlock):
    @classmethod
    def get_manifest(cls) -> type[WorkflowBlockManifest]:
        return BackgroundColorManifest

    def run(
        self,
        image: WorkflowImageData,
        predictions: sv.Detections,
        copy_image: bool,
        color: str,
        opacity: float,
    ) -> BlockResult:
        """`image`: a BGR copy of the image with the background covered."""
        colour, share = colour_of("color", color), fraction("opacity", opacity)
        pixels = colour_copy(image.numpy_image)
        size = pixels.shape[:2]
        detections = drawable(predictions, size, masks=True)
        background = 1 - covered_area(detections, size)
        blend_labels(pixels, background, np.array([colour], np.uint8), share)
        return drawn(image, pixels)
