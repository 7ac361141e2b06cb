"""Keypoint Detection Model, version 1: one confidence threshold."""

from __future__ import annotations

from typing import Literal

from pydantic import ConfigDict

from blocks.models.keypoint_detection.family import (
    SCHEMA_EXTRA,
    KeypointDetectionBlock,
    KeypointFields,
)
from blocks.models.manifest_fields import ConfidenceField
from execution_engine.block_api import (
    Batch,
    BlockResult,
    OutputDefinition,
    WorkflowBlockManifest,
    WorkflowImageData,
)
from execution_engine.kinds.catalogue import (
    KEYPOINT_DETECTION_PREDICTION_KIND,
    STRING_KIND,
)


class KeypointDetectionManifestV1(KeypointFields, ConfidenceField):
    """Fields of a Keypoint Detection Model step."""

    model_config = ConfigDict(json_schema_extra={**SCHEMA_EXTRA, "version": "v1"})
    type: Literal[
        "roboflow_core/roboflow_keypoint_detection_model@v1",
        "RoboflowKeypointDetectionModel",
        "KeypointsDetectionModel",
    ]

    @classmethod
    def describe_outputs(cls) -> list[OutputDefinition]:
        """Id of the call and boxes with points."""
        return [
            OutputDefinition("inference_id", [STRING_KIND]),
            OutputDefinition("predictions", [KEYPOINT_DETECTION_PREDICTION_KIND]),
        ]


class KeypointDetectionModelBlockV1(KeypointDetectionBlock):
    """The first version: one confidence threshold."""

    @classmethod
    def get_manifest(cls) -> type[WorkflowBlockManifest]:
        """The manifest of this version."""
        return KeypointDetectionManifestV1

    def run(
        self,
        images: Batch[WorkflowImageData],
        model_id: str,
        confidence: float,
        keypoint_confidence: float,
        class_filter: list[str] | None,
        iou_threshold: float,
        max_detections: int,
        class_agnostic_nms: bool,
        max_candidates: int,
        disable_active_learning: bool,
        active_learning_target_dataset: str | None,
    ) -> BlockResult:
        """Boxes and points of every image; errors as those of the model manager."""
        return self.find_keypoints(
            images,
            model_id,
            reports_model=False,
            confidence=confidence,
            keypoint_confidence=keypoint_confidence,
            class_filter=class_filter,
            iou_threshold=iou_threshold,
            max_detections=max_detections,
            class_agnostic_nms=class_agnostic_nms,
            max_candidates=max_candidates,
        )
