"""Instance Segmentation Model, version 5. Honours the fields of masks."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import ConfigDict, Field

from blocks.models.instance_segmentation.family import (
    SCHEMA_EXTRA,
    InstanceSegmentationBlock,
    SegmentationFields,
)
from blocks.models.manifest_fields import ConfidenceModeFields, confidence_of
from execution_engine.block_api import (
    Batch,
    BlockResult,
    OutputDefinition,
    Selector,
    WorkflowBlockManifest,
    WorkflowImageData,
)
from execution_engine.kinds.catalogue import (
    FLOAT_ZERO_TO_ONE_KIND,
    INFERENCE_ID_KIND,
    INSTANCE_SEGMENTATION_PREDICTION_KIND,
    RLE_INSTANCE_SEGMENTATION_PREDICTION_KIND,
    ROBOFLOW_MODEL_ID_KIND,
)


class InstanceSegmentationManifestV5(SegmentationFields, ConfidenceModeFields):
    """Fields of an Instance Segmentation Model step."""

    model_config = ConfigDict(json_schema_extra={**SCHEMA_EXTRA, "version": "v5"})
    type: Literal["roboflow_core/roboflow_instance_segmentation_model@v5"]
    tradeoff_factor: Annotated[float, Field(ge=0, le=1)] | Selector(
        kind=[FLOAT_ZERO_TO_ONE_KIND]
    ) = Field(
        default=0.0,
        description="Resolution of masks in mode `tradeoff`: 0 is the model's own grid, as in "
        "mode `fast`, 1 the image's, as in mode `accurate`. Each side of the grid is blended for "
        "itself; an image smaller than the model's grid gets larger masks from a lower factor.",
        examples=[0.5, "$inputs.tradeoff_factor"],
    )

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


class InstanceSegmentationModelBlockV5(InstanceSegmentationBlock):
    """Honours the fields of masks: mode and trade-off factor."""

    @classmethod
    def get_manifest(cls) -> type[WorkflowBlockManifest]:
        """The manifest of this version."""
        return InstanceSegmentationManifestV5

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
        """Instances of every image: boxes in px of the image, RLE on the grid it declares.

        Raises:
            InvalidMaskDecodeArgument: the mode is unknown, or the factor is not in [0, 1]; other
                errors as those of the manager.
        """
        from inference_models.families.parameters import masks_resolution_factor

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
            masks_resolution_factor=masks_resolution_factor(mask_decode_mode, tradeoff_factor),
        )
