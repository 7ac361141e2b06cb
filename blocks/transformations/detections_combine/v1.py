"""Puts two sets of detections of one image together."""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal

from pydantic import ConfigDict, Field

from blocks.kinds.detections import concat_detections
from execution_engine.block_api import (
    BlockResult,
    OutputDefinition,
    Selector,
    WorkflowBlock,
    WorkflowBlockManifest,
)
from execution_engine.kinds.catalogue import (
    INSTANCE_SEGMENTATION_PREDICTION_KIND,
    OBJECT_DETECTION_PREDICTION_KIND,
)

if TYPE_CHECKING:
    import supervision as sv


class DetectionsCombineManifest(WorkflowBlockManifest):
    model_config = ConfigDict(
        json_schema_extra={
            "name": "Detections Combine",
            "version": "v1",
            "short_description": "Put two sets of detections together.",
            "long_description": (
                "Gives the detections of both sets, those of the first one first. Nothing is "
                "filtered or changed; a property that only one set has stays empty for the other. "
                "Both sets must have masks or none may have them."
            ),
            "license": "Apache-2.0",
            "block_type": "transformation",
            "search_keywords": ["concatenate", "join", "union", "append"],
        }
    )
    type: Literal["roboflow_core/detections_combine@v1"]
    prediction_one: Selector(
        kind=[OBJECT_DETECTION_PREDICTION_KIND, INSTANCE_SEGMENTATION_PREDICTION_KIND]
    ) = Field(
        title="Prediction One",
        description="First set of detections.",
        examples=["$steps.model_a.predictions"],
    )
    prediction_two: Selector(
        kind=[OBJECT_DETECTION_PREDICTION_KIND, INSTANCE_SEGMENTATION_PREDICTION_KIND]
    ) = Field(
        title="Prediction Two",
        description="Second set of detections.",
        examples=["$steps.model_b.predictions"],
    )

    @classmethod
    def describe_outputs(cls) -> list[OutputDefinition]:
        return [
            OutputDefinition(
                "predictions",
                [OBJECT_DETECTION_PREDICTION_KIND, INSTANCE_SEGMENTATION_PREDICTION_KIND],
            )
        ]

    @classmethod
    def get_execution_engine_compatibility(cls) -> str | None:
        return ">=1.3.0,<2.0.0"


class DetectionsCombineBlockV1(WorkflowBlock):
    returns_futures = False

    @classmethod
    def get_manifest(cls) -> type[WorkflowBlockManifest]:
        return DetectionsCombineManifest

    def run(self, prediction_one: sv.Detections, prediction_two: sv.Detections) -> BlockResult:
        """`predictions`: the rows of the first set, then those of the second."""
        return {"predictions": concat_detections([prediction_one, prediction_two])}
