"""Finds the nearest detection of another set for each detection."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Literal

from pydantic import ConfigDict, Field

from blocks.classical_cv.detections_nearest_neighbor.neighbors import nearest, reference_points
from blocks.kinds.detections.boxes import BoxPoint
from blocks.kinds.prediction_kinds import DETECTIONS_KINDS
from blocks.parameters import number
from execution_engine.block_api import (
    BlockResult,
    OutputDefinition,
    Selector,
    WorkflowBlock,
    WorkflowBlockManifest,
)
from execution_engine.kinds.catalogue import INTEGER_KIND, STRING_KIND

if TYPE_CHECKING:
    import supervision as sv

Point = Literal[BoxPoint, "KEYPOINT"]


class DetectionsNearestNeighborManifest(WorkflowBlockManifest):
    model_config = ConfigDict(
        json_schema_extra={
            "name": "Nearest Neighbor Detection Match",
            "version": "v1",
            "short_description": "Find the nearest detection of another set.",
            "long_description": (
                "Finds for each detection of one set the nearest detection of another, by the "
                "distance of a point of each: a point of the box or a named keypoint. A detection "
                "is never its own neighbour, so both sets may be the same. Targets up to one pixel "
                "farther than the nearest are matched too. The distance is added to the queries "
                "as `nearest_target_distance`, and the pairs are given as two sets, row by row."
            ),
            "license": "Apache-2.0",
            "block_type": "classical_computer_vision",
            "search_keywords": ["distance", "closest", "pair", "association", "spatial join"],
        }
    )
    type: Literal["roboflow_core/detections_nearest_neighbor@v1"]
    query_predictions: Selector(kind=[*DETECTIONS_KINDS]) = Field(
        title="Query Predictions",
        description="Detections that get a neighbour.",
        examples=["$steps.model.predictions"],
    )
    target_predictions: Selector(kind=[*DETECTIONS_KINDS]) = Field(
        title="Target Predictions",
        description="Detections that can be neighbours.",
        examples=["$steps.other_model.predictions"],
    )
    query_point: Point | Selector(kind=[STRING_KIND]) = Field(
        default="CENTER",
        title="Query Point",
        description="Point of the queries that counts.",
        examples=["CENTER", "$inputs.query_point"],
    )
    target_point: Point | Selector(kind=[STRING_KIND]) = Field(
        default="CENTER",
        title="Target Point",
        description="Point of the targets that counts.",
        examples=["BOTTOM_CENTER", "$inputs.target_point"],
    )
    query_keypoint_name: str | Selector(kind=[STRING_KIND]) | None = Field(
        default=None,
        title="Query Keypoint Name",
        description="Keypoint of the queries that counts, for the point KEYPOINT.",
        examples=["nose", "$inputs.query_keypoint_name"],
    )
    target_keypoint_name: str | Selector(kind=[STRING_KIND]) | None = Field(
        default=None,
        title="Target Keypoint Name",
        description="Keypoint of the targets that counts, for the point KEYPOINT.",
        examples=["nose", "$inputs.target_keypoint_name"],
    )
    max_distance: Annotated[int, Field(ge=0)] | Selector(kind=[INTEGER_KIND]) | None = Field(
        default=None,
        title="Maximum Distance",
        description="Distance beyond which targets do not count, px; any when nothing is given.",
        examples=[200, "$inputs.max_distance"],
    )

    @classmethod
    def describe_outputs(cls) -> list[OutputDefinition]:
        return [
            OutputDefinition("query_predictions", [*DETECTIONS_KINDS]),
            OutputDefinition("matched_query_detections", [*DETECTIONS_KINDS]),
            OutputDefinition("matched_target_detections", [*DETECTIONS_KINDS]),
        ]

    @classmethod
    def get_execution_engine_compatibility(cls) -> str | None:
        return ">=1.3.0,<2.0.0"


class DetectionsNearestNeighborBlockV1(WorkflowBlock):
    returns_futures = False

    @classmethod
    def get_manifest(cls) -> type[WorkflowBlockManifest]:
        return DetectionsNearestNeighborManifest

    def run(
        self,
        query_predictions: sv.Detections,
        target_predictions: sv.Detections,
        query_point: str,
        target_point: str,
        query_keypoint_name: str | None,
        target_keypoint_name: str | None,
        max_distance: float | None,
    ) -> BlockResult:
        """`query_predictions`: the queries with their distance; `matched_query_detections` and
        `matched_target_detections`: the pairs."""
        if max_distance is not None:
            max_distance = number("max_distance", max_distance)
        found = nearest(
            query_predictions,
            target_predictions,
            reference_points(query_predictions, query_point, query_keypoint_name, "query"),
            reference_points(target_predictions, target_point, target_keypoint_name, "target"),
            max_distance,
        )
        return {
            "query_predictions": found.queries,
            "matched_query_detections": found.matched_queries,
            "matched_target_detections": found.matched_targets,
        }
