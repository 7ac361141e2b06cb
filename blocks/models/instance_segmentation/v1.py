"""Instance Segmentation Model, version 1: one confidence threshold, masks as polygons."""

from __future__ import annotations

from typing import Literal

from pydantic import ConfigDict

from blocks.models.instance_segmentation.family import (
    SCHEMA_EXTRA,
    DenseMaskFields,
    InstanceSegmentationBlock,
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
    INSTANCE_SEGMENTATION_PREDICTION_KIND,
    STRING_KIND,
)


class InstanceSegmentationManifestV1(DenseMaskFields, ConfidenceField):
    """Fields of an Instance Segmentation Model step."""

    model_config = ConfigDict(json_schema_extra={**SCHEMA_EXTRA, "version": "v1"})
    type: Literal[
        "roboflow_core/roboflow_instance_segmentation_model@v1",
        "RoboflowInstanceSegmentationModel",
        "InstanceSegmentationModel",
    ]

    @classmethod
    def describe_outputs(cls) -> list[OutputDefinition]:
        """Id of the call and instances."""
        return [
            OutputDefinition("inference_id", [STRING_KIND]),
            OutputDefinition("predictions", [INSTANCE_SEGMENTATION_PREDICTION_KIND]),
        ]


class InstanceSegmentationModelBlockV1(InstanceSegmentationBlock):
    """The first version: one confidence threshold, masks as polygons."""

    @classmethod
    def get_manifest(cls) -> type[WorkflowBlockManifest]:
        """The manifest of this version."""
        return InstanceSegmentationManifestV1

    def run(
        self,
        images: Batch[WorkflowImageData],
        model_id: str,
        confidence: float,
        class_filter: list[str] | None,
        iou_threshold: float,
        max_detections: int,
        class_agnostic_nms: bool,
        max_candidates: int,
        mask_decode_mode: str,
        tradeoff_factor: float,
        disable_active_learning: bool,
        active_learning_target_dataset: str | None,
        enforce_dense_masks_in_inference_models: bool,
    ) -> BlockResult:
        """Instances of every image, masks at full resolution; errors as those of the manager."""
        return self.segment(
            images,
            model_id,
            reports_model=False,
            with_rle=False,
            confidence=confidence,
            class_filter=class_filter,
            iou_threshold=iou_threshold,
            max_detections=max_detections,
            class_agnostic_nms=class_agnostic_nms,
            max_candidates=max_candidates,
            masks_resolution_factor=1.0,
        )
