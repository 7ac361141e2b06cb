"""Morphological Transformation, version 2: keeps colour and adds opening followed by closing."""

from __future__ import annotations

from typing import Literal

import cv2
from pydantic import ConfigDict, Field

from blocks.classical_cv.channels import to_bgr
from blocks.classical_cv.morphological_transformation.family import (
    OPERATIONS,
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

OPERATIONS_V2 = {**OPERATIONS, "Opening then Closing": (cv2.MORPH_OPEN, cv2.MORPH_CLOSE)}


class MorphologicalTransformationManifestV2(MorphologicalTransformationManifest):
    """Fields of a Morphological Transformation step, version 2."""

    model_config = ConfigDict(
        json_schema_extra={
            "name": "Morphological Transformation",
            "version": "v2",
            "short_description": "Grows, shrinks or cleans bright regions of an image in colour.",
            "long_description": (
                "Applies erosion, dilation or an operation built from them to every channel. The "
                "result is always a colour image; a single-channel image is turned into one first."
            ),
            "license": "Apache-2.0",
            "block_type": "classical_computer_vision",
            "search_keywords": ["erode", "dilate", "open", "close", "top hat", "black hat"],
        }
    )
    type: Literal["roboflow_core/morphological_transformation@v2"]
    operation: (
        Selector(kind=[STRING_KIND])
        | Literal[
            "Erosion",
            "Dilation",
            "Opening",
            "Closing",
            "Opening then Closing",
            "Gradient",
            "Top Hat",
            "Black Hat",
        ]
    ) = Field(
        default="Opening then Closing",
        description="What is done to every channel.",
        examples=["Opening then Closing", "$inputs.operation"],
    )


class MorphologicalTransformationBlockV2(WorkflowBlock):
    """Morphology on every channel of a colour image."""

    returns_futures = False

    @classmethod
    def get_manifest(cls) -> type[WorkflowBlockManifest]:
        """The manifest of this version."""
        return MorphologicalTransformationManifestV2

    def run(self, image: WorkflowImageData, kernel_size: int, operation: str) -> BlockResult:
        """`image`: (h, w, 3) BGR uint8."""
        result = transform(to_bgr(image.numpy_image), kernel_size, operation, OPERATIONS_V2)
        return {"image": WorkflowImageData.copy_and_replace(image, numpy_image=result)}
