"""Object Detection Model, version 2. Adds the output `model_id`."""

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
    INFERENCE_ID_KIND,
    OBJECT_DETECTION_PREDICTION_KIND,
    ROBOFLOW_MODEL_ID_KIND,
)


class ObjectDetectionManifestV2(DetectionFields, ConfidenceField):
    """Fields of an Object Detection Model step."""

    model_config = ConfigDict(json_schema_extra={**SCHEMA_EXTRA, "version": "v2"})
    type: Literal["roboflow_core/roboflow_object_detection_model@v2"]

    @classmethod
    def describe_outputs(cls) -> list[OutputDefinition]:
        """Id of the call, boxes and the model."""
        return [
            OutputDefinition("inference_id", [INFERENCE_ID_KIND]),
            OutputDefinition("predictions", [OBJECT_DETECTION_PREDICTION_KIND]),
            OutputDefinition("model_id", [ROBOFLOW_MODEL_ID_KIND]),
        ]


class ObjectDetectionModelBlockV2(ObjectDetectionBlock):
    """Adds the output `model_id`."""

    @classmethod
    def get_manifest(cls) -> type[WorkflowBlockManifest]:
        """The manifest of this version."""
        return ObjectDetectionManifestV2

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
            reports_model=True,
            confidence=confidence,
            class_filter=class_filter,
            iou_threshold=iou_threshold,
            max_detections=max_detections,
            class_agnostic_nms=class_agnostic_nms,
            max_candidates=max_candidates,
        )
