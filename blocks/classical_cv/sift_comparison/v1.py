"""SIFT Comparison, version 1: descriptors that another step has found. Matching is in `family`."""

from __future__ import annotations

from typing import Annotated, Any, Literal

from pydantic import ConfigDict, Field, PositiveInt

from blocks.classical_cv.sift_comparison.family import (
    check_same_length,
    descriptors_of,
    good_matches,
    matches_needed,
)
from blocks.parameters import LARGEST_NUMBER, number
from execution_engine.block_api import (
    BlockResult,
    OutputDefinition,
    Selector,
    WorkflowBlock,
    WorkflowBlockManifest,
)
from execution_engine.kinds.catalogue import BOOLEAN_KIND, INTEGER_KIND, NUMPY_ARRAY_KIND


class SiftComparisonManifest(WorkflowBlockManifest):
    """Fields of a SIFT Comparison step."""

    model_config = ConfigDict(
        json_schema_extra={
            "name": "SIFT Comparison",
            "version": "v1",
            "short_description": "Tells by their features whether two images show the same.",
            "long_description": (
                "Compares the descriptors that two SIFT steps found. A feature of the first image "
                "counts when its nearest partner in the second is clearly nearer than the second "
                "nearest; the images match when enough features count."
            ),
            "license": "Apache-2.0",
            "block_type": "classical_computer_vision",
            "search_keywords": ["feature", "match", "similarity", "descriptor"],
        }
    )
    type: Literal["roboflow_core/sift_comparison@v1"]
    descriptor_1: Selector(kind=[NUMPY_ARRAY_KIND]) = Field(
        title="First Descriptors",
        description="Descriptors of one image, a row a feature.",
        examples=["$steps.sift.descriptors"],
    )
    descriptor_2: Selector(kind=[NUMPY_ARRAY_KIND]) = Field(
        title="Second Descriptors",
        description="Descriptors of the other image.",
        examples=["$steps.other_sift.descriptors"],
    )
    good_matches_threshold: PositiveInt | Selector(kind=[INTEGER_KIND]) = Field(
        default=50,
        title="Good Matches Threshold",
        description="Number of matches from which on the images match.",
        examples=[50, "$inputs.good_matches_threshold"],
    )
    ratio_threshold: Annotated[float, Field(ge=0.0)] | Selector(kind=[INTEGER_KIND]) = Field(
        default=0.7,
        title="Ratio Threshold",
        description=(
            "Part of the second nearest partner's distance that the nearest one must be below; "
            "smaller is stricter."
        ),
        examples=[0.7, "$inputs.ratio_threshold"],
    )

    @classmethod
    def describe_outputs(cls) -> list[OutputDefinition]:
        """How many features match, and whether that is enough."""
        return [
            OutputDefinition("good_matches_count", [INTEGER_KIND]),
            OutputDefinition("images_match", [BOOLEAN_KIND]),
        ]

    @classmethod
    def get_execution_engine_compatibility(cls) -> str | None:
        """Engine versions the block works with."""
        return ">=1.3.0,<2.0.0"


class SiftComparisonBlockV1(WorkflowBlock):
    """Tells by their features whether two images show the same."""

    returns_futures = False

    @classmethod
    def get_manifest(cls) -> type[WorkflowBlockManifest]:
        """The manifest of this version."""
        return SiftComparisonManifest

    def run(
        self,
        descriptor_1: Any,
        descriptor_2: Any,
        good_matches_threshold: int,
        ratio_threshold: float,
    ) -> BlockResult:
        """`good_matches_count`: features of the first; `images_match`: whether enough."""
        needed = matches_needed(good_matches_threshold)
        ratio = number("ratio_threshold", ratio_threshold, 0, LARGEST_NUMBER)
        first = descriptors_of("descriptor_1", descriptor_1)
        second = descriptors_of("descriptor_2", descriptor_2)
        check_same_length("descriptor_1", first, "descriptor_2", second)
        count = len(good_matches(first, second, ratio, fast=True))
        return {"good_matches_count": count, "images_match": count >= needed}
