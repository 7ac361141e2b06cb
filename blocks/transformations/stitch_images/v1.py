"""Stitch Images, version 1. Matching and joining are in `family`."""

from __future__ import annotations

from typing import Literal

from pydantic import AliasChoices, ConfigDict, Field

from blocks.transformations.stitch_images.family import stitch
from execution_engine.block_api import (
    BlockResult,
    ImageParentMetadata,
    OutputDefinition,
    Selector,
    WorkflowBlock,
    WorkflowBlockManifest,
    WorkflowImageData,
)
from execution_engine.kinds.catalogue import FLOAT_ZERO_TO_ONE_KIND, IMAGE_KIND, INTEGER_KIND


class StitchImagesManifest(WorkflowBlockManifest):
    """Fields of a Stitch Images step."""

    model_config = ConfigDict(
        json_schema_extra={
            "name": "Stitch Images",
            "version": "v1",
            "short_description": "Joins two overlapping images into one.",
            "long_description": (
                "Finds features that both images show, computes how one must be warped to fit the "
                "other and lays them over each other. Images that do not fit together give no "
                "result."
            ),
            "license": "Apache-2.0",
            "block_type": "transformation",
            "search_keywords": ["panorama", "merge", "overlap", "homography"],
        }
    )
    type: Literal["roboflow_core/stitch_images@v1"]
    image1: Selector(kind=[IMAGE_KIND]) = Field(
        title="First image",
        description="One of the images.",
        examples=["$inputs.image1"],
        validation_alias=AliasChoices("image1"),
    )
    image2: Selector(kind=[IMAGE_KIND]) = Field(
        title="Second image",
        description="The other image.",
        examples=["$inputs.image2"],
        validation_alias=AliasChoices("image2"),
    )
    max_allowed_reprojection_error: float | Selector(kind=[FLOAT_ZERO_TO_ONE_KIND]) | None = Field(
        default=3,
        description="Distance in px up to which a pair of features supports the fit.",
        examples=[3, "$inputs.max_error"],
    )
    count_of_best_matches_per_query_descriptor: int | Selector(kind=[INTEGER_KIND]) | None = Field(
        default=2,
        description=(
            "Candidates looked at for each feature. With 1 the best is taken untested; with 2 or "
            "more it must be clearly nearer than the second best."
        ),
        examples=[2, "$inputs.k"],
    )

    @classmethod
    def describe_outputs(cls) -> list[OutputDefinition]:
        """The joined image."""
        return [OutputDefinition("stitched_image", [IMAGE_KIND])]

    @classmethod
    def get_execution_engine_compatibility(cls) -> str | None:
        """Engine versions the block works with."""
        return ">=1.3.0,<2.0.0"


class StitchImagesBlockV1(WorkflowBlock):
    """Joins two overlapping images into one."""

    returns_futures = False

    @classmethod
    def get_manifest(cls) -> type[WorkflowBlockManifest]:
        """The manifest of this version."""
        return StitchImagesManifest

    def run(
        self,
        image1: WorkflowImageData,
        image2: WorkflowImageData,
        max_allowed_reprojection_error: float | None,
        count_of_best_matches_per_query_descriptor: int | None,
    ) -> BlockResult:
        """`stitched_image`: named after the parent of `image1`, or None where nothing fits."""
        panorama = stitch(
            image1.numpy_image,
            image2.numpy_image,
            max_allowed_reprojection_error,
            count_of_best_matches_per_query_descriptor,
        )
        if panorama is None:
            return {"stitched_image": None}
        # The panorama lies in no ancestor: it keeps the name of the first image's parent only.
        lineage = ImageParentMetadata(image1.parent_metadata.parent_id)
        stitched = WorkflowImageData(
            parent_metadata=lineage,
            numpy_image=panorama,
            video_metadata=image1.video_metadata,
        )
        return {"stitched_image": stitched}
