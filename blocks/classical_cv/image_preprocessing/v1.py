"""Image Preprocessing, version 1. The three tasks are in `family`."""

from __future__ import annotations

from typing import Literal

from pydantic import ConfigDict, Field

from blocks.classical_cv.image_manifest import ImageInputManifest
from blocks.classical_cv.image_preprocessing.family import flip, resize, rotate
from execution_engine.block_api import (
    BlockResult,
    OutputDefinition,
    Selector,
    WorkflowBlock,
    WorkflowBlockManifest,
    WorkflowImageData,
)
from execution_engine.kinds.catalogue import IMAGE_KIND, INTEGER_KIND, STRING_KIND


class ImagePreprocessingManifest(ImageInputManifest):
    """Fields of an Image Preprocessing step."""

    model_config = ConfigDict(
        json_schema_extra={
            "name": "Image Preprocessing",
            "version": "v1",
            "short_description": "Resizes, rotates or flips an image.",
            "long_description": (
                "`resize` stretches the image to the given width and height, `rotate` turns it "
                "counter-clockwise on a canvas that holds all of it, `flip` turns it over. Fields "
                "of the other tasks are not read."
            ),
            "license": "Apache-2.0",
            "block_type": "classical_computer_vision",
            "search_keywords": ["resize", "scale", "rotate", "flip", "mirror"],
        }
    )
    type: Literal["roboflow_core/image_preprocessing@v1"]
    task_type: Literal["resize", "rotate", "flip"] = Field(description="What is done.")
    width: int | Selector(kind=[INTEGER_KIND]) = Field(
        default=640,
        description="New width in px, for `resize`.",
        examples=[640, "$inputs.width"],
        json_schema_extra={"relevant_for": {"task_type": {"values": ["resize"], "required": True}}},
    )
    height: int | Selector(kind=[INTEGER_KIND]) = Field(
        default=640,
        description="New height in px, for `resize`.",
        examples=[640, "$inputs.height"],
        json_schema_extra={"relevant_for": {"task_type": {"values": ["resize"], "required": True}}},
    )
    rotation_degrees: int | Selector(kind=[INTEGER_KIND]) = Field(
        default=90,
        description="Angle in degrees, counter-clockwise, for `rotate`.",
        examples=[90, "$inputs.degrees"],
        json_schema_extra={"relevant_for": {"task_type": {"values": ["rotate"], "required": True}}},
    )
    flip_type: Selector(kind=[STRING_KIND]) | Literal["vertical", "horizontal", "both"] = Field(
        default="vertical",
        description="Direction, for `flip`: `vertical` swaps top and bottom.",
        examples=["vertical", "$inputs.flip_type"],
        json_schema_extra={"relevant_for": {"task_type": {"values": ["flip"], "required": True}}},
    )

    @classmethod
    def describe_outputs(cls) -> list[OutputDefinition]:
        """The changed image."""
        return [OutputDefinition("image", [IMAGE_KIND])]


class ImagePreprocessingBlockV1(WorkflowBlock):
    """Resizes, rotates or flips an image."""

    returns_futures = False

    @classmethod
    def get_manifest(cls) -> type[WorkflowBlockManifest]:
        """The manifest of this version."""
        return ImagePreprocessingManifest

    def run(
        self,
        image: WorkflowImageData,
        task_type: str,
        width: int,
        height: int,
        rotation_degrees: int,
        flip_type: str,
    ) -> BlockResult:
        """`image`: the changed image, channels and dtype of the input."""
        if task_type == "resize":
            result = resize(image.numpy_image, width, height)
        elif task_type == "rotate":
            result = rotate(image.numpy_image, rotation_degrees)
        else:
            result = flip(image.numpy_image, flip_type)
        return {"image": WorkflowImageData.copy_and_replace(image, numpy_image=result)}
