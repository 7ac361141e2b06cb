"""SIFT, version 1. Detection is in `family`."""

from __future__ import annotations

from typing import Literal

from pydantic import ConfigDict

from blocks.classical_cv.image_manifest import ImageInputManifest
from blocks.classical_cv.sift.family import describe_feature, detect_features, draw_features
from execution_engine.block_api import (
    BlockResult,
    OutputDefinition,
    WorkflowBlock,
    WorkflowBlockManifest,
    WorkflowImageData,
)
from execution_engine.kinds.catalogue import IMAGE_KEYPOINTS_KIND, IMAGE_KIND, NUMPY_ARRAY_KIND


class SiftManifest(ImageInputManifest):
    """Fields of a SIFT step."""

    model_config = ConfigDict(
        json_schema_extra={
            "name": "SIFT",
            "version": "v1",
            "short_description": "Finds feature points that survive scaling and rotation.",
            "long_description": (
                "Returns the points, a descriptor of 128 numbers for each to compare images with, "
                "and the image in gray with the points circled."
            ),
            "license": "Apache-2.0",
            "block_type": "classical_computer_vision",
            "search_keywords": ["feature", "keypoint", "descriptor", "match"],
        }
    )
    type: Literal["roboflow_core/sift@v1"]

    @classmethod
    def describe_outputs(cls) -> list[OutputDefinition]:
        """The drawing, the points and their descriptors."""
        return [
            OutputDefinition("image", [IMAGE_KIND]),
            OutputDefinition("keypoints", [IMAGE_KEYPOINTS_KIND]),
            OutputDefinition("descriptors", [NUMPY_ARRAY_KIND]),
        ]


class SiftBlockV1(WorkflowBlock):
    """Finds feature points that survive scaling and rotation."""

    returns_futures = False

    @classmethod
    def get_manifest(cls) -> type[WorkflowBlockManifest]:
        """The manifest of this version."""
        return SiftManifest

    def run(self, image: WorkflowImageData) -> BlockResult:
        """`keypoints`: list of dicts; `descriptors`: (n, 128) float32; `image`: (h, w, 3)."""
        points, descriptors = detect_features(image.numpy_image)
        drawn = draw_features(image.numpy_image, points)
        return {
            "image": WorkflowImageData.copy_and_replace(image, numpy_image=drawn),
            "keypoints": [describe_feature(point) for point in points],
            "descriptors": descriptors,
        }
