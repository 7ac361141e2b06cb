"""Morphological Transformation, version 1: works on and returns a single channel."""

from __future__ import annotations

from typing import Literal

from pydantic import ConfigDict, Field

from blocks.classical_cv.channels import to_gray
from blocks.classical_cv.morphological_transformation.family import (
    MorphologicalTransformationManifest,
    transform,
)
from execution_engine.block_api import (
    BlockResult,
    Selector,
    WorkflowBlock,
    WorkflowBlockManifest,
    WorkflowImageData,
)
from execution_engine.kinds.catalogue import STRING_KIND


class MorphologicalTransformationManifestV1(MorphologicalTransformationManifest):
    """Fields of a Morphological Transformation step, version 1."""

    model_config = ConfigDict(
        json_schema_extra={
            "name": "Morphological Transformation",
            "version": "v1",
            "short_description": "Grows, shrinks or cleans bright regions of a gray image.",
            "long_description": (
                "Turns the image into one channel and applies erosion, dilation or an operation "
                "built from them. The result is single-channel."
            ),
            "license": "Apache-2.0",
            "block_type": "classical_computer_vision",
            "search_keywords": ["erode", "dilate", "open", "close", "top hat", "black hat"],
        }
    )
    type: Literal["roboflow_core/morphological_transformation@v1"]
    operation: (
        Selector(kind=[STRING_KIND])
        | Literal["Erosion", "Dilation", "Opening", "Closing", "Gradient", "Top Hat", "Black Hat"]
    ) = Field(
        default="Closing",
        description="What is done.",
        examples=["Closing", "$inputs.operation"],
    )


class MorphologicalTransformationBlockV1(WorkflowBlock):
    """Morphology on a single channel."""

    returns_futures = False

    @classmethod
    def get_manifest(cls) -> type[WorkflowBlockManifest]:
        """The manifest of this version."""
        return MorphologicalTransformationManifestV1

    def run(self, image: WorkflowImageData, kernel_size: int, operation: str) -> BlockResult:
        """`image`: (h, w) uint8."""
        result = transform(to_gray(image.numpy_image), kernel_size, operation)
        return {"image": WorkflowImageData.copy_and_replace(image, numpy_image=result)}
