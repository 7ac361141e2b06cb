"""Cuts a rectangle given in pixels out of images."""

from __future__ import annotations

from typing import Literal

from pydantic import AliasChoices, ConfigDict, Field, PositiveInt

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
from execution_engine.kinds.catalogue import IMAGE_KIND, INTEGER_KIND


class AbsoluteStaticCropManifest(WorkflowBlockManifest):
    model_config = ConfigDict(
        json_schema_extra={
            "name": "Absolute Static Crop",
            "version": "v1",
            "short_description": "Cut a rectangle at a fixed place, in pixels.",
            "long_description": (
                "Cuts the rectangle around a point out of every image, all in pixels. What of the "
                "rectangle lies outside the image is left out; a rectangle that lies outside as a "
                "whole gives no crop. Later steps can move what they find in the crop back to the "
                "image."
            ),
            "license": "Apache-2.0",
            "block_type": "transformation",
            "search_keywords": ["region of interest", "roi", "cut"],
        }
    )
    type: Literal["roboflow_core/absolute_static_crop@v1", "AbsoluteStaticCrop"]
    images: Selector(kind=[IMAGE_KIND]) = Field(
        title="Images",
        description="Images to cut from.",
        examples=["$inputs.image"],
        validation_alias=AliasChoices("images", "image"),
    )
    x_center: int | Selector(kind=[INTEGER_KIND]) = Field(
        title="Centre x",
        description="Middle of the rectangle, px from the left edge.",
        examples=[320, "$inputs.center_x"],
    )
    y_center: int | Selector(kind=[INTEGER_KIND]) = Field(
        title="Centre y",
        description="Middle of the rectangle, px from the top edge.",
        examples=[240, "$inputs.center_y"],
    )
    width: PositiveInt | Selector(kind=[INTEGER_KIND]) = Field(
        title="Width",
        description="Width of the rectangle, px.",
        examples=[200, "$inputs.crop_width"],
    )
    height: PositiveInt | Selector(kind=[INTEGER_KIND]) = Field(
        title="Height",
        description="Height of the rectangle, px.",
        examples=[100, "$inputs.crop_height"],
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


class AbsoluteStaticCropBlockV1(WorkflowBlock):
    returns_futures = False
    window = staticmethod(numpy_window)

    @classmethod
    def get_manifest(cls) -> type[WorkflowBlockManifest]:
        return AbsoluteStaticCropManifest

    def run(
        self,
        images: Batch[WorkflowImageData],
        x_center: int,
        y_center: int,
        width: int,
        height: int,
    ) -> BlockResult:
        """`crops`: one crop an image, None where the rectangle lies outside."""
        return [
            {
                "crops": crop_around(
                    image, x_center, y_center, width, height, "absolute_static_crop", self.window
                )
            }
            for image in images
        ]
