"""Multi-Label Classification Model, version 1. The first version: one confidence threshold."""

from __future__ import annotations

from typing import Literal

from pydantic import ConfigDict

from blocks.models.manifest_fields import ConfidenceField
from blocks.models.multi_label_classification.family import (
    SCHEMA_EXTRA,
    MultiLabelClassificationBlock,
    MultiLabelClassificationFields,
)
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


class MultiLabelClassificationManifestV1(MultiLabelClassificationFields, ConfidenceField):
    """Fields of a Multi-Label Classification Model step."""

    model_config = ConfigDict(json_schema_extra={**SCHEMA_EXTRA, "version": "v1"})
    type: Literal[
        "roboflow_core/roboflow_multi_label_classification_model@v1",
        "RoboflowMultiLabelClassificationModel",
        "MultiLabelClassificationModel",
    ]

    @classmethod
    def describe_outputs(cls) -> list[OutputDefinition]:
        """Classes and id of the call."""
        return [
            OutputDefinition("predictions", [CLASSIFICATION_PREDICTION_KIND]),
            OutputDefinition("inference_id", [STRING_KIND]),
        ]


class MultiLabelClassificationModelBlockV1(MultiLabelClassificationBlock):
    """The first version: one confidence threshold."""

    @classmethod
    def get_manifest(cls) -> type[WorkflowBlockManifest]:
        """The manifest of this version."""
        return MultiLabelClassificationManifestV1

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
