"""Replaces masks by the smallest turned rectangles around them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal

from pydantic import ConfigDict, Field

from blocks.transformations.bounding_rect.rectangles import with_rectangles
from execution_engine.block_api import (
    BlockResult,
    OutputDefinition,
    Selector,
    WorkflowBlock,
    WorkflowBlockManifest,
)
from execution_engine.kinds.catalogue import INSTANCE_SEGMENTATION_PREDICTION_KIND

if TYPE_CHECKING:
    import supervision as sv


class BoundingRectManifest(WorkflowBlockManifest):
    model_config = ConfigDict(
        json_schema_extra={
            "name": "Bounding Rectangle",
            "version": "v1",
            "short_description": "Find the smallest turned rectangle around each mask.",
            "long_description": (
                "Finds the smallest rectangle, in any direction, around the largest part of each "
                "mask. Box and mask of the detection become those of the rectangle; its corners, "
                "width, height and angle (0 to 90 degrees, clockwise from the x axis to the width) "
                "are added as `rect`, `width`, `height` and `angle`."
            ),
            "license": "Apache-2.0",
            "block_type": "transformation",
            "search_keywords": ["rotated", "oriented", "minimum area", "angle", "simplify"],
        }
    )
    type: Literal["roboflow_core/bounding_rect@v1"]
    predictions: Selector(kind=[INSTANCE_SEGMENTATION_PREDICTION_KIND]) = Field(
        title="Predictions",
        description="Detections with masks.",
        examples=["$steps.segmentation.predictions"],
    )

    @classmethod
    def describe_outputs(cls) -> list[OutputDefinition]:
        return [OutputDefinition("detections_with_rect", [INSTANCE_SEGMENTATION_PREDICTION_KIND])]

    @classmethod
    def get_execution_engine_compatibility(cls) -> str | None:
        return ">=1.3.0,<2.0.0"


class BoundingRectBlockV1(WorkflowBlock):
    returns_futures = False

    @classmethod
    def get_manifest(cls) -> type[WorkflowBlockManifest]:
        return BoundingRectManifest

    def run(self, predictions: sv.Detections) -> BlockResult:
        """`detections_with_rect`: the detections with rectangles for masks."""
        return {"detections_with_rect": with_rectangles(predictions)}
