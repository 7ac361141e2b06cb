"""SIFT Comparison, version 2: images as well as descriptors, drawings, a choice of matchers.
Matching is in `family`.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Annotated, Any, Literal

import cv2
import numpy as np
from pydantic import ConfigDict, Field, PositiveInt

from blocks.classical_cv.sift.family import describe_feature, detect_features, draw_features
from blocks.classical_cv.sift_comparison.drawing import draw_matches
from blocks.classical_cv.sift_comparison.family import (
    FLANN,
    MATCHERS,
    check_same_length,
    descriptors_of,
    good_matches,
    matches_needed,
)
from blocks.parameters import choice, number
from execution_engine.block_api import (
    BlockResult,
    ImageParentMetadata,
    OutputDefinition,
    Selector,
    WorkflowBlock,
    WorkflowBlockManifest,
    WorkflowImageData,
)
from execution_engine.kinds.catalogue import (
    BOOLEAN_KIND,
    FLOAT_ZERO_TO_ONE_KIND,
    IMAGE_KEYPOINTS_KIND,
    IMAGE_KIND,
    INTEGER_KIND,
    NUMPY_ARRAY_KIND,
    STRING_KIND,
)


class SiftComparisonManifestV2(WorkflowBlockManifest):
    """Fields of a SIFT Comparison step."""

    model_config = ConfigDict(
        json_schema_extra={
            "name": "SIFT Comparison",
            "version": "v2",
            "short_description": "Tells by their features whether two images show the same.",
            "long_description": (
                "Takes two images, or descriptors that SIFT steps found. A feature of the first "
                "counts when its nearest partner in the second is clearly nearer than the second "
                "nearest; the images match when enough features count. Of images it also gives "
                "the features and, on request, drawings of them; of descriptors it has neither."
            ),
            "license": "Apache-2.0",
            "block_type": "classical_computer_vision",
            "search_keywords": ["feature", "match", "similarity", "descriptor"],
        }
    )
    type: Literal["roboflow_core/sift_comparison@v2"]
    input_1: Selector(kind=[IMAGE_KIND, NUMPY_ARRAY_KIND]) = Field(
        title="First Input",
        description="An image, or descriptors with a row a feature.",
        examples=["$inputs.image1", "$steps.sift.descriptors"],
    )
    input_2: Selector(kind=[IMAGE_KIND, NUMPY_ARRAY_KIND]) = Field(
        title="Second Input",
        description="The other image or its descriptors.",
        examples=["$inputs.image2", "$steps.other_sift.descriptors"],
    )
    good_matches_threshold: PositiveInt | Selector(kind=[INTEGER_KIND]) = Field(
        default=50,
        title="Good Matches Threshold",
        description="Number of matches from which on the images match.",
        examples=[50, "$inputs.good_matches_threshold"],
    )
    ratio_threshold: Annotated[float, Field(ge=0.0, le=1.0)] | Selector(
        kind=[FLOAT_ZERO_TO_ONE_KIND]
    ) = Field(
        default=0.7,
        title="Ratio Threshold",
        description=(
            "Part of the second nearest partner's distance that the nearest one must be below; "
            "smaller is stricter."
        ),
        examples=[0.7, "$inputs.ratio_threshold"],
    )
    matcher: Literal["FlannBasedMatcher", "BFMatcher"] | Selector(kind=[STRING_KIND]) = Field(
        default=FLANN,
        title="Matcher",
        description=(
            "`BFMatcher` compares all features with all; `FlannBasedMatcher` is faster with many "
            "features and may miss a few."
        ),
        examples=["FlannBasedMatcher", "$inputs.matcher"],
    )
    visualize: bool | Selector(kind=[BOOLEAN_KIND]) = Field(
        default=False,
        title="Visualize",
        description="Whether features and matches are drawn.",
        examples=[True, "$inputs.visualize"],
    )

    @classmethod
    def describe_outputs(cls) -> list[OutputDefinition]:
        """The verdict, then what it rests on."""
        return [
            OutputDefinition("images_match", [BOOLEAN_KIND]),
            OutputDefinition("good_matches_count", [INTEGER_KIND]),
            OutputDefinition("keypoints_1", [IMAGE_KEYPOINTS_KIND]),
            OutputDefinition("descriptors_1", [NUMPY_ARRAY_KIND]),
            OutputDefinition("keypoints_2", [IMAGE_KEYPOINTS_KIND]),
            OutputDefinition("descriptors_2", [NUMPY_ARRAY_KIND]),
            OutputDefinition("visualization_1", [IMAGE_KIND]),
            OutputDefinition("visualization_2", [IMAGE_KIND]),
            OutputDefinition("visualization_matches", [IMAGE_KIND]),
        ]

    @classmethod
    def get_execution_engine_compatibility(cls) -> str | None:
        """Engine versions the block works with."""
        return ">=1.3.0,<2.0.0"


@dataclass(frozen=True, slots=True)
class _Side:
    """One of the two inputs; `image` and `points` are None where only descriptors were given."""

    image: WorkflowImageData | None
    points: Sequence[cv2.KeyPoint] | None
    descriptors: np.ndarray

    @property
    def keypoints(self) -> list[dict[str, Any]] | None:
        return None if self.points is None else [describe_feature(point) for point in self.points]

    def drawn(self) -> WorkflowImageData | None:
        if self.image is None or self.points is None:
            return None
        pixels = draw_features(self.image.numpy_image, list(self.points))
        return WorkflowImageData.copy_and_replace(self.image, numpy_image=pixels)


class SiftComparisonBlockV2(WorkflowBlock):
    """Tells by their features whether two images show the same."""

    returns_futures = False

    @classmethod
    def get_manifest(cls) -> type[WorkflowBlockManifest]:
        """The manifest of this version."""
        return SiftComparisonManifestV2

    def run(
        self,
        input_1: Any,
        input_2: Any,
        good_matches_threshold: int,
        ratio_threshold: float,
        matcher: str,
        visualize: bool,
    ) -> BlockResult:
        """`good_matches_count`: features of the first that match; `descriptors`: (n, d) float32.

        Keypoints are None beside descriptors that were given, and drawings are None there and
        where none are wanted.
        """
        needed = matches_needed(good_matches_threshold)
        ratio = number("ratio_threshold", ratio_threshold, 0, 1)
        fast = choice("matcher", matcher, MATCHERS)
        first, second = _side("input_1", input_1), _side("input_2", input_2)
        check_same_length("input_1", first.descriptors, "input_2", second.descriptors)
        matches = good_matches(first.descriptors, second.descriptors, ratio, fast=fast)
        return {
            "images_match": len(matches) >= needed,
            "good_matches_count": len(matches),
            "keypoints_1": first.keypoints,
            "descriptors_1": first.descriptors,
            "keypoints_2": second.keypoints,
            "descriptors_2": second.descriptors,
            "visualization_1": first.drawn() if visualize else None,
            "visualization_2": second.drawn() if visualize else None,
            "visualization_matches": _drawn_matches(first, second, matches) if visualize else None,
        }


def _side(field: str, value: Any) -> _Side:
    if not isinstance(value, WorkflowImageData):
        return _Side(None, None, descriptors_of(field, value))
    points, descriptors = detect_features(value.numpy_image)
    return _Side(value, points, descriptors)


def _drawn_matches(
    first: _Side, second: _Side, matches: Sequence[cv2.DMatch]
) -> WorkflowImageData | None:
    if first.image is None or second.image is None or first.points is None or second.points is None:
        return None
    pixels = draw_matches(
        first.image.numpy_image, first.points, second.image.numpy_image, second.points, matches
    )
    # Both images side by side lie in no ancestor: only the name of the first one's parent stays.
    return WorkflowImageData(
        parent_metadata=ImageParentMetadata(first.image.parent_metadata.parent_id),
        numpy_image=pixels,
        video_metadata=first.image.video_metadata,
    )
