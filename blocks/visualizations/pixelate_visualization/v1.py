"""Makes the boxes of detections coarse."""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal

from pydantic import Field

from blocks.visualizations.limits import pixels
from blocks.visualizations.manifest import (
    DetectionsVisualizationManifest,
    WholeNumberFrom1,
    describe,
)
from blocks.visualizations.visualization_block import VisualizationBlock
from execution_engine.block_api import BlockResult, WorkflowBlockManifest, WorkflowImageData

if TYPE_CHECKING:
    import supervision as sv


class PixelateVisualizationManifest(DetectionsVisualizationManifest):
    model_config = describe(
        "Pixelate Visualization",
        "Make detections unrecognisable with coarse pixels.",
        (
            "Replaces each box by coarse squares of one colour; a box smaller than a square "
            "becomes its mean colour."
        ),
        ["privacy", "anonymise", "mosaic", "redact"],
    )
    type: Literal["roboflow_core/pixelate_visualization@v1", "PixelateVisualization"]
    pixel_size: WholeNumberFrom1 = Field(
        default=20,
        title="Pixel Size",
        description="Side of a square, px.",
        examples=[20, "$inputs.pixel_size"],
    )


class PixelateVisualizationBlockV1(VisualizationBlock):
    @classmethod
    def get_manifest(cls) -> type[WorkflowBlockManifest]:
        return PixelateVisualizationManifest

    def run(
        self,
        image: WorkflowImageData,
        predictions: sv.Detections,
        copy_image: bool,
        pixel_size: int,
    ) -> BlockResult:
        """`image`: a BGR copy of the image with coarse boxes."""
        return self.annotate(image, predictions, self._prepared.get(_annotator, pixel_size))


def _annotator(pixel_size: int) -> sv.PixelateAnnotator:
    import supervision as sv

    return sv.PixelateAnnotator(pixels("pixel_size", pixel_size, minimum=1))
