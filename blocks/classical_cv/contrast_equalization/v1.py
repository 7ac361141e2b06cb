"""Contrast Equalization, version 1. The three mappings are in `family`."""

from __future__ import annotations

from typing import Literal

from pydantic import ConfigDict, Field

from blocks.classical_cv.contrast_equalization.family import equalize
from blocks.classical_cv.image_manifest import ImageInputManifest
from execution_engine.block_api import (
    BlockResult,
    OutputDefinition,
    Selector,
    WorkflowBlock,
    WorkflowBlockManifest,
    WorkflowImageData,
)
from execution_engine.kinds.catalogue import IMAGE_KIND, STRING_KIND


class ContrastEqualizationManifest(ImageInputManifest):
    """Fields of a Contrast Equalization step."""

    model_config = ConfigDict(
        json_schema_extra={
            "name": "Contrast Equalization",
            "version": "v1",
            "short_description": "Spreads the gray levels of an image.",
            "long_description": (
                "`Contrast Stretching` spreads the levels between the 2nd and 98th percentile "
                "linearly, `Histogram Equalization` makes all levels about equally frequent, "
                "`Adaptive Equalization` does so tile by tile with a limit on the contrast."
            ),
            "license": "Apache-2.0",
            "block_type": "classical_computer_vision",
            "search_keywords": ["contrast", "histogram", "clahe", "brightness", "normalize"],
        }
    )
    type: Literal["roboflow_core/contrast_equalization@v1"]
    equalization_type: (
        Selector(kind=[STRING_KIND])
        | Literal["Contrast Stretching", "Histogram Equalization", "Adaptive Equalization"]
    ) = Field(
        default="Histogram Equalization",
        description="How the levels are spread.",
        examples=["Histogram Equalization", "$inputs.type"],
    )

    @classmethod
    def describe_outputs(cls) -> list[OutputDefinition]:
        """The image with its contrast raised."""
        return [OutputDefinition("image", [IMAGE_KIND])]


class ContrastEqualizationBlockV1(WorkflowBlock):
    """Spreads the gray levels of an image."""

    returns_futures = False

    @classmethod
    def get_manifest(cls) -> type[WorkflowBlockManifest]:
        """The manifest of this version."""
        return ContrastEqualizationManifest

    def run(self, image: WorkflowImageData, equalization_type: str) -> BlockResult:
        """`image`: uint8 of the input's shape."""
        result = equalize(image.numpy_image, equalization_type)
        return {"image": WorkflowImageData.copy_and_replace(image, numpy_image=result)}
