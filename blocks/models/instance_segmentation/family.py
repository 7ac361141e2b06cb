"""Instance segmentation, all versions: boxes with masks of a batch of images. Knows no version."""

from __future__ import annotations

from typing import Any, Literal

from pydantic import Field

from blocks.models.manifest_fields import (
    MASKS_ARE_CROPS,
    MASKS_STAY_FULL,
    ActiveLearningFields,
    BoxFields,
)
from blocks.models.model_block import ModelBlock, detection_rows
from execution_engine.block_api import Batch, Selector, WorkflowBlockManifest, WorkflowImageData
from execution_engine.kinds.catalogue import BOOLEAN_KIND, FLOAT_ZERO_TO_ONE_KIND, STRING_KIND

SCHEMA_EXTRA: dict[str, Any] = {
    "name": "Instance Segmentation Model",
    "short_description": "Finds objects and gives their boxes and masks.",
    "long_description": (
        "Runs a segmentation model on a batch of images and gives, for each, boxes with classes, "
        "scores and masks. The model is named by its id in the model folder, a path or an alias."
    ),
    "license": "Apache-2.0",
    "block_type": "model",
    "search_keywords": ["segmentation", "masks", "polygons", "yolo"],
}
PREDICTION_TYPE = "instance-segmentation"


class MaskFields(WorkflowBlockManifest):
    """How finely masks are decoded."""

    mask_decode_mode: Literal["accurate", "tradeoff", "fast"] | Selector(
        kind=[STRING_KIND]
    ) = Field(
        default="accurate",
        description="`accurate`: masks at the resolution of the image; `fast`: on the model's "
        "own grid; `tradeoff`: between, by `tradeoff_factor`.",
        examples=["accurate", "$inputs.mask_decode_mode"],
    )
    tradeoff_factor: float | Selector(kind=[FLOAT_ZERO_TO_ONE_KIND]) = Field(
        default=0.0,
        description="Resolution of masks in mode `tradeoff`: 0 the model's grid, 1 the image's.",
        examples=[0.5, "$inputs.tradeoff_factor"],
    )


class SegmentationFields(ActiveLearningFields, MaskFields, BoxFields):
    """Fields that every version has after its confidence."""

    @classmethod
    def get_compatible_task_types(cls) -> list[str] | None:
        """Tasks of models the block runs."""
        return [PREDICTION_TYPE]


class InstanceFields(SegmentationFields):
    """The same fields in versions 1 to 4, which keep masks full whatever they say."""

    @classmethod
    def get_inert_fields(cls) -> dict[str, str]:
        """Masks keep the resolution they had when these versions were released."""
        return {
            **super().get_inert_fields(),
            "mask_decode_mode": MASKS_STAY_FULL,
            "tradeoff_factor": MASKS_STAY_FULL,
        }


class _DenseMaskField(WorkflowBlockManifest):
    enforce_dense_masks_in_inference_models: bool | Selector(
        kind=[BOOLEAN_KIND]
    ) = Field(default=True, description="How another runtime holds masks; without effect here.")


class DenseMaskFields(_DenseMaskField, InstanceFields):
    """Fields of versions 1 to 3, which have one more that changes nothing."""

    @classmethod
    def get_inert_fields(cls) -> dict[str, str]:
        """The representation of masks is not a choice."""
        return {
            **super().get_inert_fields(),
            "enforce_dense_masks_in_inference_models": MASKS_ARE_CROPS,
        }


class InstanceSegmentationBlock(ModelBlock):
    """The run of every version."""

    def segment(
        self,
        images: Batch[WorkflowImageData],
        model_id: str,
        *,
        reports_model: bool,
        with_rle: bool,
        **parameters: Any,
    ) -> list[dict[str, Any]]:
        """One result an image.

        Args:
            images: the batch.
            model_id: the model.
            reports_model: whether the result names the model.
            with_rle: whether instances carry their COCO codes.
            parameters: parameters of the model manager.
        """
        predictions = self.infer(model_id, images, parameters, PREDICTION_TYPE)
        return detection_rows(
            predictions,
            images,
            PREDICTION_TYPE,
            with_rle=with_rle,
            model_id=model_id if reports_model else None,
            placed=self.placed,
        )
