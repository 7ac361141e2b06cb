"""Object Detection Model, version 1. The first version: one confidence threshold."""

from __future__ import annotations

from typing import Literal

from pydantic import ConfigDict

from blocks.models.manifest_fields import ConfidenceField
from blocks.models.object_detection.family import (
    SCHEMA_EXTRA,
    DetectionFields,
    ObjectDetectionBlock,
)
from execution_engine.block_api import (
    Batch,
    BlockResult,
    OutputDefinition,
    WorkflowBlockManifest,
    WorkflowImageData,
)
from execution_engine.kinds.catalogue import (
    OBJECT_DETECTION_PREDICTION_KIND,
    STRING_KIND,
)


class ObjectDetectionManifestV1(DetectionFields, ConfidenceField):
    """Fields of an Object Detection Model step."""

    model_config = ConfigDict(json_schema_extra={**SCHEMA_EXTRA, "version": "v1"})
    type: Literal[
        "roboflow_core/roboflow_object_detection_model@v1",
        "RoboflowObjectDetectionModel",
        "ObjectDetectionModel",
    ]

    @classmethod
    def describe_outputs(cls) -> list[OutputDefinition]:
        """Id of the call and boxes."""
        return [
            OutputDefinition("inference_id", [STRING_KIND]),
            OutputDefinition("predictions", [OBJECT_DETECTION_PREDICTION_KIND]),
        ]


class ObjectDetectionModelBlockV1(ObjectDetectionBlock):
    """The first version: one confidence threshold."""

    @classmethod
    def get_manifest(cls) -> type[WorkflowBlockManifest]:
        """The manifest of this version."""
        return ObjectDetectionManifestV1

    def run(
        self,
        images: Batch[WorkflowImageData],
        model_id: str,
        confidence: float,
        class_filter: list[str] | None,
        iou_threshold: float,
        max_detections: int,
        class_agnostic_nms: bool | None,
        max_candidates: int,
        disable_active_learning: bool,
        active_learning_target_dataset: str | None,
    ) -> BlockResult:
        """Boxes of every image; errors as those of the model manager."""
        return self.detect(
            images,
            model_id,
            reports_model=False,
            confidence=confidence,
            class_filter=class_filter,
            iou_threshold=iou_threshold,
            max_detections=max_detections,
            class_agnostic_nms=class_agnostic_nms,
            max_candidates=max_candidates,
        )
