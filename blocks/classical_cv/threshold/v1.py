"""Image Threshold, version 1. The rules are in `family`."""

from __future__ import annotations

from typing import Literal

from pydantic import ConfigDict, Field

from blocks.classical_cv.image_manifest import ImageInputManifest
from blocks.classical_cv.threshold.family import threshold
from execution_engine.block_api import (
    BlockResult,
    OutputDefinition,
    Selector,
    WorkflowBlock,
    WorkflowBlockManifest,
    WorkflowImageData,
)
from execution_engine.kinds.catalogue import IMAGE_KIND, INTEGER_KIND, STRING_KIND


class ImageThresholdManifest(ImageInputManifest):
    """Fields of an Image Threshold step."""

    model_config = ConfigDict(
        json_schema_extra={
            "name": "Image Threshold",
            "version": "v1",
            "short_description": "Compares every pixel with a threshold.",
            "long_description": (
                "Splits an image into pixels above and below a threshold that is given, chosen "
                "from the histogram (`otsu`) or taken from the neighbourhood (`adaptive_mean`, "
                "`adaptive_gaussian`). `otsu` and the adaptive types return a single channel; the "
                "others keep the channels of the image."
            ),
            "license": "Apache-2.0",
            "block_type": "classical_computer_vision",
            "search_keywords": ["binarize", "otsu", "adaptive", "segment"],
        }
    )
    type: Literal["roboflow_core/threshold@v1"]
    threshold_type: (
        Selector(kind=[STRING_KIND])
        | Literal[
            "binary",
            "binary_inv",
            "trunc",
            "tozero",
            "tozero_inv",
            "adaptive_mean",
            "adaptive_gaussian",
            "otsu",
        ]
    ) = Field(
        default="binary",
        description="Rule that turns a pixel and the threshold into the new pixel.",
        examples=["binary", "$inputs.threshold_type"],
    )
    thresh_value: Selector(kind=[INTEGER_KIND]) | int = Field(
        description="Threshold in gray levels; `otsu` and the adaptive types find their own.",
        examples=[127, "$inputs.thresh_value"],
    )
    max_value: Selector(kind=[INTEGER_KIND]) | int = Field(
        default=255,
        description="Value of the pixels that pass, for the two-valued types.",
        examples=[255, "$inputs.max_value"],
    )

    @classmethod
    def describe_outputs(cls) -> list[OutputDefinition]:
        """The thresholded image."""
        return [OutputDefinition("image", [IMAGE_KIND])]


class ImageThresholdBlockV1(WorkflowBlock):
    """Compares every pixel with a threshold."""

    returns_futures = False

    @classmethod
    def get_manifest(cls) -> type[WorkflowBlockManifest]:
        """The manifest of this version."""
        return ImageThresholdManifest

    def run(
        self, image: WorkflowImageData, threshold_type: str, thresh_value: int, max_value: int
    ) -> BlockResult:
        """`image`: the thresholded image, uint8."""
        result = threshold(image.numpy_image, threshold_type, thresh_value, max_value)
        return {"image": WorkflowImageData.copy_and_replace(image, numpy_image=result)}
