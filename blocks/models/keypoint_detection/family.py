"""Keypoint detection, all versions: boxes with named points of a batch of images. Knows no
version."""

from __future__ import annotations

from typing import Any

from pydantic import Field

from blocks.models.manifest_fields import ActiveLearningFields, BoxFields
from blocks.models.model_block import ModelBlock, detection_rows
from execution_engine.block_api import Batch, Selector, WorkflowBlockManifest, WorkflowImageData
from execution_engine.kinds.catalogue import FLOAT_ZERO_TO_ONE_KIND

SCHEMA_EXTRA: dict[str, Any] = {
    "name": "Keypoint Detection Model",
    "short_description": "Finds objects and gives their boxes and named points.",
    "long_description": (
        "Runs a keypoint model on a batch of images and gives, for each, boxes with classes, "
        "scores and the points of each object. The model is named by its id in the model folder, "
        "a path or an alias."
    ),
    "license": "Apache-2.0",
    "block_type": "model",
    "search_keywords": ["keypoints", "pose", "skeleton", "joints"],
}
PREDICTION_TYPE = "keypoint-detection"


class _KeypointConfidenceField(WorkflowBlockManifest):
    keypoint_confidence: float | Selector(kind=[FLOAT_ZERO_TO_ONE_KIND]) = Field(
        default=0.0,
        description="A point is reported when its own score is above this, 0 to 1.",
        examples=[0.3, "$inputs.keypoint_confidence"],
    )


class KeypointFields(ActiveLearningFields, BoxFields, _KeypointConfidenceField):
    """Fields that every version has after its confidence."""

    @classmethod
    def get_compatible_task_types(cls) -> list[str] | None:
        """Tasks of models the block runs."""
        return [PREDICTION_TYPE]


class KeypointDetectionBlock(ModelBlock):
    """The run of every version."""

    def find_keypoints(
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
