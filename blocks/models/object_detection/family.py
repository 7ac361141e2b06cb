"""Object detection, all versions: boxes of a batch of images. Knows no version."""

from __future__ import annotations

from typing import Any

from pydantic import Field

from blocks.models.manifest_fields import ActiveLearningFields, BoxFields
from blocks.models.model_block import ModelBlock, detection_rows
from execution_engine.block_api import Batch, Selector, WorkflowImageData
from execution_engine.kinds.catalogue import BOOLEAN_KIND

SCHEMA_EXTRA: dict[str, Any] = {
    "name": "Object Detection Model",
    "short_description": "Finds objects and gives their boxes.",
    "long_description": (
        "Runs a detector on a batch of images and gives, for each, boxes with classes and scores. "
        "The model is named by its id in the model folder, a path or an alias."
    ),
    "license": "Apache-2.0",
    "block_type": "model",
    "search_keywords": ["detector", "boxes", "yolo"],
}
PREDICTION_TYPE = "object-detection"


class DetectionFields(ActiveLearningFields, BoxFields):
    """Fields that every version has after its confidence."""

    class_agnostic_nms: bool | Selector(kind=[BOOLEAN_KIND]) | None = Field(
        default=False,
        description="Whether boxes of different classes suppress each other.",
        examples=[True],
    )

    @classmethod
    def get_compatible_task_types(cls) -> list[str] | None:
        """Tasks of models the block runs."""
        return [PREDICTION_TYPE]


class ObjectDetectionBlock(ModelBlock):
    """The run of every version."""

    def detect(
        self,
        images: Batch[WorkflowImageData],
        model_id: str,
        *,
        reports_model: bool,
        **parameters: Any,
    ) -> list[dict[str, Any]]:
        """One result an image.

        Args:
            images: the batch.
            model_id: the model.
            reports_model: whether the result names the model.
            parameters: parameters of the model manager.
        """
        predictions = self.infer(model_id, images, parameters, PREDICTION_TYPE)
        return detection_rows(
            predictions,
            images,
            PREDICTION_TYPE,
            model_id=model_id if reports_model else None,
            placed=self.placed,
        )
