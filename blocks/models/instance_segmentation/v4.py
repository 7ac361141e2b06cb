"""Instance Segmentation Model, version 4. Masks as COCO RLE instead of polygons."""

from __future__ import annotations

from typing import Literal

from pydantic import ConfigDict

from blocks.models.instance_segmentation.family import (
    SCHEMA_EXTRA,
    InstanceFields,
    InstanceSegmentationBlock,
)
from blocks.models.manifest_fields import ConfidenceModeFields, confidence_of
from execution_engine.block_api import (
    Batch,
    BlockResult,
    OutputDefinition,
    WorkflowBlockManifest,
    WorkflowImageData,
)
from execution_engine.kinds.catalogue import (
    INFERENCE_ID_KIND,
    INSTANCE_SEGMENTATION_PREDICTION_KIND,
    RLE_INSTANCE_SEGMENTATION_PREDICTION_KIND,
    ROBOFLOW_MODEL_ID_KIND,
)


class InstanceSegmentationManifestV4(InstanceFields, ConfidenceModeFields):
    """Fields of an Instance Segmentation Model step."""

    model_config = ConfigDict(json_schema_extra={**SCHEMA_EXTRA, "version": "v4"})
    type: Literal["roboflow_core/roboflow_instance_segmentation_model@v4"]

    @classmethod
    def describe_outputs(cls) -> list[OutputDefinition]:
        """Id of the call, instances and the model."""
        return [
            OutputDefinition("inference_id", [INFERENCE_ID_KIND]),
            OutputDefinition(
                "predictions",
                [RLE_INSTANCE_SEGMENTATION_PREDICTION_KIND, INSTANCE_SEGMENTATION_PREDICTION_KIND],
            ),
            OutputDefinition("model_id", [ROBOFLOW_MODEL_ID_KIND]),
        ]


class InstanceSegmentationModelBlockV4(InstanceSegmentationBlock):
    """Masks as COCO RLE instead of polygons."""

    @classmethod
    def get_manifest(cls) -> type[WorkflowBlockManifest]:
        """The manifest of this version."""
        return InstanceSegmentationManifestV4

    def run(
        self,
        images: Batch[WorkflowImageData],
        model_id: str,
        confidence_mode: str,
        custom_confidence: float | None,
        class_filter: list[str] | None,
        iou_threshold: float,
        max_detections: int,
        class_agnostic_nms: bool,
        max_candidates: int,
        mask_decode_mode: str,
        tradeoff_factor: float,
        disable_active_learning: bool,
        active_learning_target_dataset: str | None,
    ) -> BlockResult:
        """Instances of every image, masks at full resolution; errors as those of the manager."""
        return self.segment(
            images,
            model_id,
            reports_model=True,
            with_rle=True,
            confidence=confidence_of(confidence_mode, custom_confidence),
            class_filter=class_filter,
            iou_threshold=iou_threshold,
            max_detections=max_detections,
            class_agnostic_nms=class_agnostic_nms,
            max_candidates=max_candidates,
            masks_resolution_factor=1.0,
        )
