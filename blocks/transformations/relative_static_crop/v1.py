"""Cuts a rectangle given in fractions of the image size out of images."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import AliasChoices, ConfigDict, Field

from blocks.parameters import number
from blocks.transformations.static_crop import crop_around
from blocks.transformations.windows import numpy_window
from execution_engine.block_api import (
    Batch,
    BlockResult,
    OutputDefinition,
    Selector,
    WorkflowBlock,
    WorkflowBlockManifest,
    WorkflowImageData,
)
from execution_engine.kinds.catalogue import FLOAT_ZERO_TO_ONE_KIND, IMAGE_KIND

Fraction = Annotated[float, Field(ge=0.0, le=1.0)]


class RelativeStaticCropManifest(WorkflowBlockManifest):
    model_config = ConfigDict(
        json_schema_extra={
            "name": "Relative Static Crop",
            "version": "v1",
            "short_description": "Cut a rectangle at a fixed place, in fractions of the image.",
            "long_description": (
                "Cuts the rectangle around a point out of every image, all in fractions of the "
                "image's width and height, so that one setting serves images of any size. What of "
                "the rectangle lies outside the image is left out. Later steps can move what they "
                "find in the crop back to the image."
            ),
            "license": "Apache-2.0",
            "block_type": "transformation",
            "search_keywords": ["region of interest", "roi", "cut"],
        }
    )
    # The spelling of this id is a typing error of old that definitions in the field depend on.
    type: Literal["roboflow_core/relative_statoic_crop@v1", "RelativeStaticCrop"]
    images: Selector(kind=[IMAGE_KIND]) = Field(
        title="Images",
        description="Images to cut from.",
        examples=["$inputs.image"],
        validation_alias=AliasChoices("images", "image"),
    )
    x_center: Fraction | Selector(kind=[FLOAT_ZERO_TO_ONE_KIND]) = Field(
        title="Centre x",
        description="Middle of the rectangle as a fraction of the image's width.",
        examples=[0.5, "$inputs.center_x"],
    )
    y_center: Fraction | Selector(kind=[FLOAT_ZERO_TO_ONE_KIND]) = Field(
        title="Centre y",
        description="Middle of the rectangle as a fraction of the image's height.",
        examples=[0.5, "$inputs.center_y"],
    )
    width: Fraction | Selector(kind=[FLOAT_ZERO_TO_ONE_KIND]) = Field(
        title="Width",
        description="Width of the rectangle as a fraction of the image's width.",
        examples=[0.25, "$inputs.crop_width"],
    )
    height: Fraction | Selector(kind=[FLOAT_ZERO_TO_ONE_KIND]) = Field(
        title="Height",
        description="Height of the rectangle as a fraction of the image's height.",
        examples=[0.25, "$inputs.crop_height"],
    )

    @classmethod
    def get_parameters_accepting_batches(cls) -> list[str]:
        return ["images"]

    @classmethod
    def describe_outputs(cls) -> list[OutputDefinition]:
        return [OutputDefinition("crops", [IMAGE_KIND])]

    @classmethod
    def get_execution_engine_compatibility(cls) -> str | None:
        return ">=1.3.0,<2.0.0"


class RelativeStaticCropBlockV1(WorkflowBlock):
    returns_futures = False
    window = staticmethod(numpy_window)

    @classmethod
    def get_manifest(cls) -> type[WorkflowBlockManifest]:
        return RelativeStaticCropManifest

    def run(
        self,
        images: Batch[WorkflowImageData],
        x_center: float,
        y_center: float,
        width: float,
        height: float,
    ) -> BlockResult:
        """`crops`: one crop an image, None where less than a pixel is left."""
        fractions = {"x_center": x_center, "y_center": y_center, "width": width, "height": height}
        for name, value in fractions.items():
            number(name, value, 0, 1)
        return [{"crops": self._crop(image, x_center, y_center, width, height)} for image in images]

    def _crop(
        self,
        image: WorkflowImageData,
        x_center: float,
        y_center: float,
        width: float,
        height: float,
    ) -> WorkflowImageData | None:
        image_height, image_width = image.size
        crop_width, crop_height = round(image_width * width), round(image_height * height)
        if crop_width < 1 or crop_height < 1:
            return None
        return crop_around(
            image,
            round(image_width * x_center),
            round(image_height * y_center),
            crop_width,
            crop_height,
            "relative_static_crop",
            self.window,
        )
