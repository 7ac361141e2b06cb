"""Image slicer whose slices are all of one size; those at the border overlap more."""

from __future__ import annotations

from typing import Literal

from pydantic import ConfigDict

from blocks.transformations.image_slicer.family import (
    ImageSlicer,
    ImageSlicerManifest,
    Interval,
    equal_intervals,
)
from execution_engine.block_api import WorkflowBlockManifest


class ImageSlicerV2Manifest(ImageSlicerManifest):
    model_config = ConfigDict(
        json_schema_extra={
            "name": "Image Slicer",
            "version": "v2",
            "short_description": "Cut an image into overlapping slices of equal size.",
            "long_description": (
                "Cuts an image into slices of a given size, left to right and top to bottom, so "
                "that a model sees small objects large enough; `detections_stitch` joins what it "
                "finds. All slices have the same size: the last of a row or column is moved back "
                "to end with the image, and no slice comes twice. A side shorter than a slice "
                "gives one slice of its length."
            ),
            "license": "Apache-2.0",
            "block_type": "transformation",
            "search_keywords": ["sahi", "tiles", "tiling", "small objects"],
        }
    )
    type: Literal["roboflow_core/image_slicer@v2"]


class ImageSlicerBlockV2(ImageSlicer):
    @classmethod
    def get_manifest(cls) -> type[WorkflowBlockManifest]:
        return ImageSlicerV2Manifest

    @staticmethod
    def intervals(length: int, slice_length: int, overlap_ratio: float) -> list[Interval]:
        return equal_intervals(length, slice_length, overlap_ratio)
