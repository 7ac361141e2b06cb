"""Measures how much of each detection other detections cover."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Literal

from pydantic import ConfigDict, Field

from blocks.fusion.overlap_analysis.overlaps import overlap_records
from execution_engine.block_api import (
    BlockResult,
    OutputDefinition,
    Selector,
    WorkflowBlock,
    WorkflowBlockManifest,
)
from execution_engine.errors import InvalidFieldValueError
from execution_engine.kinds.catalogue import (
    DETECTIONS_OVERLAPS_KIND,
    FLOAT_ZERO_TO_ONE_KIND,
    INSTANCE_SEGMENTATION_PREDICTION_KIND,
    OBJECT_DETECTION_PREDICTION_KIND,
)
from execution_engine.value_text import short_text

if TYPE_CHECKING:
    import supervision as sv


class OverlapAnalysisManifest(WorkflowBlockManifest):
    model_config = ConfigDict(
        json_schema_extra={
            "name": "Overlap Analysis",
            "version": "v1",
            "short_description": "Measure how much of each detection others cover.",
            "long_description": (
                "Compares every detection of one set with every detection of another and gives a "
                "record for each pair that overlaps enough: the common area over the area of the "
                "reference. Masks are compared by their pixels, boxes by their area. Swapping the "
                "sets changes the ratios."
            ),
            "license": "Apache-2.0",
            "block_type": "fusion",
            "search_keywords": ["intersection", "iou", "coverage", "pairs", "occlusion"],
        }
    )
    type: Literal["roboflow_core/overlap_analysis@v1", "OverlapAnalysis"]
    reference_predictions: Selector(
        kind=[OBJECT_DETECTION_PREDICTION_KIND, INSTANCE_SEGMENTATION_PREDICTION_KIND]
    ) = Field(
        title="Reference Predictions",
        description="Detections whose areas the ratios relate to.",
        examples=["$steps.model.predictions"],
    )
    candidate_predictions: Selector(
        kind=[OBJECT_DETECTION_PREDICTION_KIND, INSTANCE_SEGMENTATION_PREDICTION_KIND]
    ) = Field(
        title="Candidate Predictions",
        description="Detections that may cover them.",
        examples=["$steps.other_model.predictions"],
    )
    min_overlap: Annotated[float, Field(ge=0, le=1)] | Selector(
        kind=[FLOAT_ZERO_TO_ONE_KIND]
    ) = Field(
        default=0.1,
        title="Minimum Overlap",
        description="Least ratio of a pair that is recorded.",
        examples=[0.1, "$inputs.min_overlap"],
    )

    @classmethod
    def describe_outputs(cls) -> list[OutputDefinition]:
        return [OutputDefinition("overlaps", [DETECTIONS_OVERLAPS_KIND])]

    @classmethod
    def get_execution_engine_compatibility(cls) -> str | None:
        return ">=1.3.0,<2.0.0"


class OverlapAnalysisBlockV1(WorkflowBlock):
    returns_futures = False

    @classmethod
    def get_manifest(cls) -> type[WorkflowBlockManifest]:
        return OverlapAnalysisManifest

    def run(
        self,
        reference_predictions: sv.Detections,
        candidate_predictions: sv.Detections,
        min_overlap: float,
    ) -> BlockResult:
        """`overlaps`: a record for each pair that overlaps enough."""
        if not 0 <= min_overlap <= 1:
            raise InvalidFieldValueError(
                f"`min_overlap` must lie in 0 to 1, got {short_text(min_overlap)}"
            )
        records = overlap_records(reference_predictions, candidate_predictions, min_overlap)
        return {"overlaps": records}
