"""Multi-Label Classification Model, version 3. Replaces the confidence threshold by a mode."""

from __future__ import annotations

from typing import Literal

from pydantic import ConfigDict

from blocks.models.manifest_fields import ConfidenceModeFields, confidence_of
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
    INFERENCE_ID_KIND,
    ROBOFLOW_MODEL_ID_KIND,
)


class MultiLabelClassificationManifestV3(MultiLabelClassificationFields, ConfidenceModeFields):
    """Fields of a Multi-Label Classification Model step."""

    model_config = ConfigDict(json_schema_extra={**SCHEMA_EXTRA, "version": "v3"})
    type: Literal["roboflow_core/roboflow_multi_label_classification_model@v3"]

    @classmethod
    def describe_outputs(cls) -> list[OutputDefinition]:
        """Classes, id of the call and the model."""
        return [
            OutputDefinition("predictions", [CLASSIFICATION_PREDICTION_KIND]),
            OutputDefinition("inference_id", [INFERENCE_ID_KIND]),
            OutputDefinition("model_id", [ROBOFLOW_MODEL_ID_KIND]),
        ]


class MultiLabelClassificationModelBlockV3(MultiLabelClassificationBlock):
    """Replaces the confidence threshold by a mode."""

    @classmethod
    def get_manifest(cls) -> type[WorkflowBlockManifest]:
        """The manifest of this version."""
        return MultiLabelClassificationManifestV3

    def run(
        self,
        images: Batch[WorkflowImageData],
        model_id: str,
        confidence_mode: str,
        custom_confidence: float | None,
        disable_active_learning: bool,
        active_learning_target_dataset: str | None,
    ) -> BlockResult:
        """Classes of every image; errors as those of the model manager."""
        confidence = confidence_of(confidence_mode, custom_confidence)
        return self.classify(images, model_id, confidence, reports_model=True)
