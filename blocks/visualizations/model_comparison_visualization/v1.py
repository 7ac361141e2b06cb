"""Shows where the detections of two models differ."""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal

import numpy as np
from pydantic import Field

from blocks.visualizations.colour_text import colour_of
from blocks.visualizations.drawable import drawable
from blocks.visualizations.limits import fraction
from blocks.visualizations.manifest import (
    COLOUR_EXAMPLES,
    Detections,
    Fraction,
    Text,
    VisualizationManifest,
    describe,
)
from blocks.visualizations.mask_painting import blend_labels, covered_area
from blocks.visualizations.visualization_block import VisualizationBlock, colour_copy, drawn
from execution_engine.block_api import BlockResult, WorkflowBlockManifest, WorkflowImageData

if TYPE_CHECKING:
    import supervision as sv

# Label of a pixel by 2 x (found by model B) + (found by model A); 0 leaves it clear.
_LABELS = np.array([3, 1, 2, 0], np.uint8)


class ModelComparisonManifest(VisualizationManifest):
    model_config = describe(
        "Model Comparison Visualization",
        "Show where two models differ.",
        (
            "Colours what only model A found, what only model B found, and what neither found; "
            "what both found stays clear. Masks are compared where there are some, boxes otherwise."
        ),
        ["difference", "compare", "evaluation"],
    )
    type: Literal["roboflow_core/model_comparison_visualization@v1"]
    predictions_a: Detections = Field(
        title="Predictions of Model A",
        description="Detections of one model.",
        examples=["$steps.model_a.predictions"],
    )
    color_a: Text = Field(
        default="GREEN",
        title="Color of Model A",
        description="Colour of what only model A found.",
        examples=COLOUR_EXAMPLES,
    )
    predictions_b: Detections = Field(
        title="Predictions of Model B",
        description="Detections of the other model.",
        examples=["$steps.model_b.predictions"],
    )
    color_b: Text = Field(
        default="RED",
        title="Color of Model B",
        description="Colour of what only model B found.",
        examples=COLOUR_EXAMPLES,
    )
    background_color: Text = Field(
        default="BLACK",
        title="Background Color",
        description="Colour of what neither model found.",
        examples=COLOUR_EXAMPLES,
    )
    opacity: Fraction = Field(
        default=0.7,
        title="Opacity",
        description="How much of the image the colours hide, 0 to 1.",
        examples=[0.7, "$inputs.opacity"],
    )


class ModelComparisonVisualizationBlockV1(VisualizationBlock):
    @classmethod
    def get_manifest(cls) -> type[WorkflowBlockManifest]:
        return ModelComparisonManifest

    def run(
        self,
        image: WorkflowImageData,
        copy_image: bool,
        predictions_a: sv.Detections,
        color_a: str,
        predictions_b: sv.Detections,
        color_b: str,
        background_color: str,
        opacity: float,
    ) -> BlockResult:
        """`image`: a BGR copy of the image with the differences coloured."""
        colours = [
            colour_of("color_a", color_a),
            colour_of("color_b", color_b),
            colour_of("background_color", background_color),
        ]
        share = fraction("opacity", opacity)
        pixels = colour_copy(image.numpy_image)
        size = pixels.shape[:2]
        found_a, found_b = (
            covered_area(drawable(value, size, masks=True, field=field), size)
            for field, value in (("predictions_a", predictions_a), ("predictions_b", predictions_b))
        )
        labels = _LABELS[found_a + 2 * found_b]
        blend_labels(pixels, labels, np.array(colours, np.uint8), share)
        return drawn(image, pixels)
