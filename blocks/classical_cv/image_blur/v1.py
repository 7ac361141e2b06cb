"""Image Blur, version 1. The filters are in `family`."""

from __future__ import annotations

from typing import Literal

from pydantic import ConfigDict, Field

from blocks.classical_cv.image_blur.family import blur
from blocks.classical_cv.image_manifest import ImageInputManifest
from execution_engine.block_api import (
    BlockResult,
    OutputDefinition,
    Selector,
    WorkflowBlock,
    WorkflowBlockManifest,
    WorkflowImageData,
)
from execution_engine.kinds.catalogue import IMAGE_KIND, INTEGER_KIND, STRING_KIND


class ImageBlurManifest(ImageInputManifest):
    """Fields of an Image Blur step."""

    model_config = ConfigDict(
        json_schema_extra={
            "name": "Image Blur",
            "version": "v1",
            "short_description": "Smooths an image.",
            "long_description": (
                "Replaces every pixel by an average (`average`, `gaussian`), the median "
                "(`median`) or an average that stops at edges (`bilateral`) of its neighbourhood."
            ),
            "license": "Apache-2.0",
            "block_type": "classical_computer_vision",
            "search_keywords": ["smooth", "gaussian", "median", "bilateral", "noise"],
        }
    )
    type: Literal["roboflow_core/image_blur@v1"]
    blur_type: (
        Selector(kind=[STRING_KIND]) | Literal["average", "gaussian", "median", "bilateral"]
    ) = Field(
        default="gaussian",
        description="Kind of smoothing.",
        examples=["average", "$inputs.blur_type"],
    )
    kernel_size: Selector(kind=[INTEGER_KIND]) | int = Field(
        default=5,
        description="Side of the window in px; odd for `gaussian` and `median`.",
        examples=[5, "$inputs.kernel_size"],
    )

    @classmethod
    def describe_outputs(cls) -> list[OutputDefinition]:
        """The smoothed image."""
        return [OutputDefinition("image", [IMAGE_KIND])]


class ImageBlurBlockV1(WorkflowBlock):
    """Smooths an image."""

    returns_futures = False

    @classmethod
    def get_manifest(cls) -> type[WorkflowBlockManifest]:
        """The manifest of this version."""
        return ImageBlurManifest

    def run(self, image: WorkflowImageData, blur_type: str, kernel_size: int) -> BlockResult:
        """`image`: the smoothed image, shape and dtype of the input."""
        smoothed = blur(image.numpy_image, blur_type, kernel_size)
        return {"image": WorkflowImageData.copy_and_replace(image, numpy_image=smoothed)}
