"""Single-Label Classification Model, version 1. The first version: one confidence threshold."""

from __future__ import annotations

from typing import Literal

from pydantic import ConfigDict

from blocks.models.classification.family import (
    SCHEMA_EXTRA,
    ClassificationBlock,
    ClassificationFields,
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
    CLASSIFICATION_PREDICTION_KIND,
    STRING_KIND,
)


class ClassificationManifestV1(ClassificationFields, ConfidenceField):
    """Fields of a Single-Label Classification Model step."""

    model_config = ConfigDict(json_schema_extra={**SCHEMA_EXTRA, "version": "v1"})
    type: Literal[
        "roboflow_core/roboflow_classification_model@v1",
        "RoboflowClassificationModel",
        "ClassificationModel",
    ]

    @classmethod
    def describe_outputs(cls) -> list[OutputDefinition]:
        """Classes and id of the call."""
        return [
            OutputDefinition("predictions", [CLASSIFICATION_PREDICTION_KIND]),
            OutputDefinition("inference_id", [STRING_KIND]),
        ]


class ClassificationModelBlockV1(ClassificationBlock):
    """The first version: one confidence threshold."""

    @classmethod
    def get_manifest(cls) -> type[WorkflowBlockManifest]:
        """The manifest of this version."""
        return ClassificationManifestV1

    def run(
        self,
        images: Batch[WorkflowImageData],
        model_id: str,
        confidence: float,
        disable_active_learning: bool,
        active_learning_target_dataset: str | None,
    ) -> BlockResult:
        """Classes of every image; errors as those of the model manager."""
        return self.classify(images, model_id, confidence, reports_model=False)
