"""Compares the detections of two pictures of a scene."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Literal

import numpy as np
from pydantic import ConfigDict, Field

from blocks.fusion.detections_difference.matching import Costs, matches
from blocks.kinds.detections.columns import select
from blocks.parameters import LARGEST_NUMBER, number
from execution_engine.block_api import (
    BlockResult,
    OutputDefinition,
    Selector,
    WorkflowBlock,
    WorkflowBlockManifest,
)
from execution_engine.kinds.catalogue import (
    BOOLEAN_KIND,
    FLOAT_KIND,
    FLOAT_ZERO_TO_ONE_KIND,
    INTEGER_KIND,
    OBJECT_DETECTION_PREDICTION_KIND,
)

if TYPE_CHECKING:
    import supervision as sv

NotNegative = Annotated[float, Field(ge=0)]


class DetectionsDifferenceManifest(WorkflowBlockManifest):
    model_config = ConfigDict(
        json_schema_extra={
            "name": "Detections Difference",
            "version": "v1",
            "short_description": "Find what went, stayed and came between two pictures.",
            "long_description": (
                "Matches the detections of a picture taken before with those of one taken after, "
                "from about the same place, one to one and at the least cost. The cost of a pair "
                "grows with the distance of the boxes and with different classes; pairs that cost "
                "too much are no match. Gives what was removed (in pixels of the first picture), "
                "what persisted and what is new (in pixels of the second), and whether enough was "
                "removed."
            ),
            "license": "Apache-2.0",
            "block_type": "fusion",
            "search_keywords": ["before after", "compare", "change", "removed", "audit"],
        }
    )
    type: Literal["roboflow_core/detections_difference@v1", "DetectionsDifference"]
    reference_predictions: Selector(kind=[OBJECT_DETECTION_PREDICTION_KIND]) = Field(
        title="Reference Predictions",
        description="Detections before.",
        examples=["$steps.model_before.predictions"],
    )
    candidate_predictions: Selector(kind=[OBJECT_DETECTION_PREDICTION_KIND]) = Field(
        title="Candidate Predictions",
        description="Detections after.",
        examples=["$steps.model_after.predictions"],
    )
    spatial_weight: Annotated[float, Field(ge=0, le=1)] | Selector(
        kind=[FLOAT_ZERO_TO_ONE_KIND]
    ) = Field(
        default=0.4,
        title="Spatial Weight",
        description="Factor of the cost of the places of two boxes.",
        examples=[0.4, "$inputs.spatial_weight"],
    )
    class_mismatch_penalty: NotNegative | Selector(kind=[FLOAT_KIND]) = Field(
        default=0.15,
        title="Class Mismatch Penalty",
        description="What different classes cost.",
        examples=[0.15, "$inputs.class_mismatch_penalty"],
    )
    reject_cost: NotNegative | Selector(kind=[FLOAT_KIND]) = Field(
        default=0.75,
        title="Reject Cost",
        description="Highest cost of a match.",
        examples=[0.75, "$inputs.reject_cost"],
    )
    class_strict: bool | Selector(kind=[BOOLEAN_KIND]) = Field(
        default=False,
        title="Class Strict",
        description="Never match different classes.",
        examples=[True, "$inputs.class_strict"],
    )
    min_removed_to_verify: Annotated[int, Field(ge=0)] | Selector(kind=[INTEGER_KIND]) = Field(
        default=1,
        title="Minimum Removed To Verify",
        description="Removed detections that `verified` needs.",
        examples=[1, "$inputs.min_removed_to_verify"],
    )

    @classmethod
    def describe_outputs(cls) -> list[OutputDefinition]:
        return [
            OutputDefinition("removed_detections", [OBJECT_DETECTION_PREDICTION_KIND]),
            OutputDefinition("persisted_detections", [OBJECT_DETECTION_PREDICTION_KIND]),
            OutputDefinition("new_detections", [OBJECT_DETECTION_PREDICTION_KIND]),
            OutputDefinition("removed_count", [INTEGER_KIND]),
            OutputDefinition("new_count", [INTEGER_KIND]),
            OutputDefinition("verified", [BOOLEAN_KIND]),
        ]

    @classmethod
    def get_execution_engine_compatibility(cls) -> str | None:
        return ">=1.3.0,<2.0.0"


class DetectionsDifferenceBlockV1(WorkflowBlock):
    returns_futures = False

    @classmethod
    def get_manifest(cls) -> type[WorkflowBlockManifest]:
        return DetectionsDifferenceManifest

    def run(
        self,
        reference_predictions: sv.Detections,
        candidate_predictions: sv.Detections,
        spatial_weight: float,
        class_mismatch_penalty: float,
        reject_cost: float,
        class_strict: bool,
        min_removed_to_verify: int,
    ) -> BlockResult:
        """What was removed, persisted and is new, how much of it, and `verified`: whether there
        was something before and enough of it was removed."""
        costs = Costs(
            number("spatial_weight", spatial_weight, 0, LARGEST_NUMBER),
            number("class_mismatch_penalty", class_mismatch_penalty, 0),
            number("reject_cost", reject_cost, 0),
            class_strict,
        )
        before, after = matches(reference_predictions, candidate_predictions, costs)
        removed = np.ones(len(reference_predictions), dtype=bool)
        removed[before] = False
        new = np.ones(len(candidate_predictions), dtype=bool)
        new[after] = False
        removed_count = int(removed.sum())
        return {
            "removed_detections": select(reference_predictions, removed),
            "persisted_detections": select(candidate_predictions, ~new),
            "new_detections": select(candidate_predictions, new),
            "removed_count": removed_count,
            "new_count": int(new.sum()),
            "verified": len(removed) > 0 and removed_count >= min_removed_to_verify,
        }
