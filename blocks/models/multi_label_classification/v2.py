"""Multi-Label Classification Model, version 2. Adds the output `model_id`."""

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
    INFERENCE_ID_KIND,
    ROBOFLOW_MODEL_ID_KIND,
)


class MultiLabelClassificationManifestV2(MultiLabelClassificationFields, ConfidenceField):
    """Fields of a Multi-Label Classification Model step."""

    model_config = ConfigDict(json_schema_extra={**SCHEMA_EXTRA, "version": "v2"})
    type: Literal["roboflow_core/roboflow_multi_label_classification_model@v2"]

    @classmethod
    def describe_outputs(cls) -> list[OutputDefinition]:
        """Classes, id of the call and the model."""
        return [
            OutputDefinition("predictions", [CLASSIFICATION_PREDICTION_KIND]),
            OutputDefinition("inference_id", [INFERENCE_ID_KIND]),
            OutputDefinition("model_id", [ROBOFLOW_MODEL_ID_KIND]),
        ]


class MultiLabelClassificationModelBlockV2(MultiLabelClassificationBlock):
    """Adds the output `model_id`."""

    @classmethod
    def get_manifest(cls) -> type[WorkflowBlockManifest]:
        """The manifest of this version."""
        return MultiLabelClassificationManifestV2

    def run(
        self,
        images: Batch[WorkflowImageData],
        model_id: str,
        confidence: float,
        disable_active_learning: bool,
        active_learning_target_dataset: str | None,
    ) -> BlockResult:
        """Classes of every image; errors as those of the model manager."""
        return self.classify(images, model_id, confidence, reports_model=True)
