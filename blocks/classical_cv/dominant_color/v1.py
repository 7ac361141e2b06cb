"""Dominant Color, version 1. The clustering is in `family`."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import ConfigDict, Field

from blocks.classical_cv.dominant_color.family import (
    MAX_CLUSTERS,
    MAX_ITERATIONS,
    MAX_TARGET_SIZE,
    dominant_color,
)
from blocks.classical_cv.image_manifest import ImageInputManifest
from execution_engine.block_api import (
    BlockResult,
    OutputDefinition,
    Selector,
    WorkflowBlock,
    WorkflowBlockManifest,
    WorkflowImageData,
)
from execution_engine.kinds.catalogue import INTEGER_KIND, RGB_COLOR_KIND


class DominantColorManifest(ImageInputManifest):
    """Fields of a Dominant Color step."""

    model_config = ConfigDict(
        json_schema_extra={
            "name": "Dominant Color",
            "version": "v1",
            "short_description": "Names the colour that most of an image has.",
            "long_description": (
                "Groups the colours of the image by k-means and returns the mean of the largest "
                "group as (red, green, blue). The same image always gives the same colour."
            ),
            "license": "Apache-2.0",
            "block_type": "classical_computer_vision",
            "search_keywords": ["color", "palette", "k-means", "cluster"],
        }
    )
    type: Literal["roboflow_core/dominant_color@v1"]
    color_clusters: Annotated[int, Field(gt=0, le=MAX_CLUSTERS)] | Selector(
        kind=[INTEGER_KIND]
    ) = Field(
        default=4,
        title="Color Clusters",
        description="Number of groups of colours.",
        examples=[4, "$inputs.color_clusters"],
    )
    max_iterations: Annotated[int, Field(gt=0, le=MAX_ITERATIONS)] | Selector(
        kind=[INTEGER_KIND]
    ) = Field(
        default=100,
        title="Max Iterations",
        description="Most rounds of k-means; it ends earlier once nothing moves.",
        examples=[100, "$inputs.max_iterations"],
    )
    target_size: Annotated[int, Field(gt=0, le=MAX_TARGET_SIZE)] | Selector(
        kind=[INTEGER_KIND]
    ) = Field(
        default=100,
        title="Target Size",
        description="The shorter side is first thinned out to about this many px.",
        examples=[100, "$inputs.target_size"],
    )

    @classmethod
    def describe_outputs(cls) -> list[OutputDefinition]:
        """The colour."""
        return [OutputDefinition("rgb_color", [RGB_COLOR_KIND])]


class DominantColorBlockV1(WorkflowBlock):
    """Names the colour that most of an image has."""

    returns_futures = False

    @classmethod
    def get_manifest(cls) -> type[WorkflowBlockManifest]:
        """The manifest of this version."""
        return DominantColorManifest

    def run(
        self, image: WorkflowImageData, color_clusters: int, max_iterations: int, target_size: int
    ) -> BlockResult:
        """`rgb_color`: (red, green, blue), 0..255 each."""
        color = dominant_color(image.numpy_image, color_clusters, max_iterations, target_size)
        return {"rgb_color": color}
