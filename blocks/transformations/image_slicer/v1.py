"""Image slicer whose slices at the right and bottom border may be smaller than the others."""

from __future__ import annotations

from typing import Literal

from pydantic import ConfigDict

from blocks.transformations.image_slicer.family import (
    ImageSlicer,
    ImageSlicerManifest,
    Interval,
    clipped_intervals,
)
from execution_engine.block_api import WorkflowBlockManifest


class ImageSlicerV1Manifest(ImageSlicerManifest):
    model_config = ConfigDict(
        json_schema_extra={
            "name": "Image Slicer",
            "version": "v1",
            "short_description": "Cut an image into overlapping slices.",
            "long_description": (
                "Cuts an image into slices of a given size, left to right and top to bottom, so "
                "that a model sees small objects large enough; `detections_stitch` joins what it "
                "finds. Slices at the right and bottom border end with the image and may be small; "
                "version 2 makes all slices equal."
            ),
            "license": "Apache-2.0",
            "block_type": "transformation",
            "search_keywords": ["sahi", "tiles", "tiling", "small objects"],
        }
    )
    type: Literal["roboflow_core/image_slicer@v1"]


class ImageSlicerBlockV1(ImageSlicer):
    @classmethod
    def get_manifest(cls) -> type[WorkflowBlockManifest]:
        return ImageSlicerV1Manifest

    @staticmethod
    def intervals(length: int, slice_length: int, overlap_ratio: float) -> list[Interval]:
        return clipped_intervals(length, slice_length, overlap_ratio)
