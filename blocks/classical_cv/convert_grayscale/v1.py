"""Convert Grayscale, version 1. The conversion itself is in `blocks.classical_cv.channels`."""

from __future__ import annotations

from typing import Literal

from pydantic import ConfigDict

from blocks.classical_cv.channels import to_gray
from blocks.classical_cv.image_manifest import ImageInputManifest
from execution_engine.block_api import (
    BlockResult,
    OutputDefinition,
    WorkflowBlock,
    WorkflowBlockManifest,
    WorkflowImageData,
)
from execution_engine.kinds.catalogue import IMAGE_KIND


class ConvertGrayscaleManifest(ImageInputManifest):
    """Fields of a Convert Grayscale step."""

    model_config = ConfigDict(
        json_schema_extra={
            "name": "Image Convert Grayscale",
            "version": "v1",
            "short_description": "Turns a colour image into a single-channel one.",
            "long_description": (
                "Weighs blue, green and red as the eye does (ITU-R BT.601) and returns one "
                "channel. An image that already has one channel stays as it is."
            ),
            "license": "Apache-2.0",
            "block_type": "classical_computer_vision",
            "search_keywords": ["gray", "grey", "luminance", "monochrome", "colour"],
        }
    )
    type: Literal["roboflow_core/convert_grayscale@v1"]

    @classmethod
    def describe_outputs(cls) -> list[OutputDefinition]:
        """The image as one channel."""
        return [OutputDefinition("image", [IMAGE_KIND])]


class ConvertGrayscaleBlockV1(WorkflowBlock):
    """Turns a colour image into a single-channel one."""

    returns_futures = False

    @classmethod
    def get_manifest(cls) -> type[WorkflowBlockManifest]:
        """The manifest of this version."""
        return ConvertGrayscaleManifest

    def run(self, image: WorkflowImageData) -> BlockResult:
        """`image`: (h, w) uint8."""
        gray = to_gray(image.numpy_image)
        return {"image": WorkflowImageData.copy_and_replace(image, numpy_image=gray)}
