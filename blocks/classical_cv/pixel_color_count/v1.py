"""Pixel Color Count, version 1. Counting is in `family`."""

from __future__ import annotations

from typing import Any, Literal

from pydantic import ConfigDict, Field

from blocks.classical_cv.image_manifest import ImageInputManifest
from blocks.classical_cv.pixel_color_count.family import count_color
from execution_engine.block_api import (
    BlockResult,
    OutputDefinition,
    Selector,
    WorkflowBlock,
    WorkflowBlockManifest,
    WorkflowImageData,
)
from execution_engine.kinds.catalogue import INTEGER_KIND, RGB_COLOR_KIND, STRING_KIND


class PixelColorCountManifest(ImageInputManifest):
    """Fields of a Pixel Color Count step."""

    model_config = ConfigDict(
        json_schema_extra={
            "name": "Pixel Color Count",
            "version": "v1",
            "short_description": "Counts the pixels near a colour.",
            "long_description": (
                "A pixel counts when each of its channels differs from that of the colour by at "
                "most the tolerance."
            ),
            "license": "Apache-2.0",
            "block_type": "classical_computer_vision",
            "search_keywords": ["color", "count", "area", "match"],
        }
    )
    type: Literal["roboflow_core/pixel_color_count@v1"]
    target_color: Selector(kind=[RGB_COLOR_KIND, STRING_KIND]) | str | tuple[int, int, int] = Field(
        description="The colour as `#rrggbb`, `#rgb`, `(r, g, b)`, a name, or three numbers.",
        examples=["#431112", "$inputs.target_color", [18, 17, 67]],
    )
    tolerance: Selector(kind=[INTEGER_KIND]) | int = Field(
        default=10,
        description="Largest difference a channel may have.",
        examples=[10, "$inputs.tolerance"],
    )

    @classmethod
    def describe_outputs(cls) -> list[OutputDefinition]:
        """The number of pixels."""
        return [OutputDefinition("matching_pixels_count", [INTEGER_KIND])]


class PixelColorCountBlockV1(WorkflowBlock):
    """Counts the pixels near a colour."""

    returns_futures = False

    @classmethod
    def get_manifest(cls) -> type[WorkflowBlockManifest]:
        """The manifest of this version."""
        return PixelColorCountManifest

    def run(self, image: WorkflowImageData, target_color: Any, tolerance: int) -> BlockResult:
        """`matching_pixels_count`: int."""
        return {"matching_pixels_count": count_color(image.numpy_image, target_color, tolerance)}
