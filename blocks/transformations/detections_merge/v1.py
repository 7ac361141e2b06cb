"""Joins all detections of an image into one box around them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Literal

import numpy as np
from pydantic import ConfigDict, Field

from blocks.kinds.detections import keys
from blocks.kinds.detections.boxes import bounds
from blocks.kinds.detections.lineage import detection_ids, image_level_values, repeated
from blocks.kinds.prediction_kinds import DETECTIONS_KINDS
from execution_engine.block_api import (
    BlockResult,
    OutputDefinition,
    Selector,
    WorkflowBlock,
    WorkflowBlockManifest,
)
from execution_engine.kinds.catalogue import OBJECT_DETECTION_PREDICTION_KIND

if TYPE_CHECKING:
    import supervision as sv


class DetectionsMergeManifest(WorkflowBlockManifest):
    model_config = ConfigDict(
        json_schema_extra={
            "name": "Detections Merge",
            "version": "v1",
            "short_description": "Join all detections into one box around them.",
            "long_description": (
                "Gives one detection with the smallest box around all detections of an image, the "
                "lowest of their confidences and a class name of your choice. Masks and keypoints "
                "are not kept. No detections stay no detections."
            ),
            "license": "Apache-2.0",
            "block_type": "transformation",
            "search_keywords": ["union", "group", "bounding box", "combine"],
        }
    )
    type: Literal["roboflow_core/detections_merge@v1"]
    predictions: Selector(kind=[*DETECTIONS_KINDS]) = Field(
        title="Predictions",
        description="Detections to join.",
        examples=["$steps.model.predictions"],
    )
    class_name: str = Field(
        default="merged_detection",
        title="Class Name",
        description="Class of the joined detection.",
        examples=["group"],
    )

    @classmethod
    def describe_outputs(cls) -> list[OutputDefinition]:
        return [OutputDefinition("predictions", [OBJECT_DETECTION_PREDICTION_KIND])]

    @classmethod
    def get_execution_engine_compatibility(cls) -> str | None:
        return ">=1.3.0,<2.0.0"


class DetectionsMergeBlockV1(WorkflowBlock):
    returns_futures = False

    @classmethod
    def get_manifest(cls) -> type[WorkflowBlockManifest]:
        return DetectionsMergeManifest

    def run(self, predictions: sv.Detections, class_name: str) -> BlockResult:
        """`predictions`: one detection around all, or none."""
        return {"predictions": self.merged(predictions, class_name)}

    def merged(self, predictions: sv.Detections, class_name: str) -> Any:
        """One detection around all, or none."""
        return merged(predictions, class_name)


def merged(detections: sv.Detections, class_name: str) -> sv.Detections:
    """One detection around all given ones: their lowest confidence, class id 0, a fresh id.

    Without rows there is none, with the same columns and what is known of the image as metadata.

    Args:
        detections: n rows; not changed.
        class_name: class of the result.
    """
    import supervision as sv

    count = min(len(detections), 1)
    values = {**image_level_values(detections), keys.PREDICTION_TYPE: "object-detection"}
    confidence = None
    if detections.confidence is not None:
        confidence = detections.confidence[:0]
        if count:
            confidence = np.array([detections.confidence.min()])
    return sv.Detections(
        xyxy=(bounds(detections.xyxy).reshape(1, 4) if count else np.zeros((0, 4))).astype(
            np.float32
        ),
        confidence=confidence,
        class_id=np.zeros(count, dtype=np.int64),
        data={
            keys.CLASS_NAME: np.array([class_name] * count, dtype=str),
            keys.DETECTION_ID: detection_ids(count),
            **repeated(values, count),
        },
        metadata={} if count else values,
    )
