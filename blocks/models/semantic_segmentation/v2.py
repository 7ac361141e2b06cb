"""Semantic Segmentation Model, version 2. Adds the confidence mode."""

from __future__ import annotations

from typing import Literal

from pydantic import ConfigDict

from blocks.models.manifest_fields import ConfidenceModeFields, confidence_of
from blocks.models.semantic_segmentation.family import (
    PREDICTION_TYPE,
    SCHEMA_EXTRA,
    SemanticSegmentationBlock,
    semantic_outputs,
)
from execution_engine.block_api import (
    Batch,
    BlockResult,
    OutputDefinition,
    WorkflowBlockManifest,
    WorkflowImageData,
)


class SemanticSegmentationManifestV2(ConfidenceModeFields):
    """Fields of a Semantic Segmentation Model step."""

    model_config = ConfigDict(json_schema_extra={**SCHEMA_EXTRA, "version": "v2"})
    type: Literal["roboflow_core/roboflow_semantic_segmentation_model@v2"]

    @classmethod
    def describe_outputs(cls) -> list[OutputDefinition]:
        """Id of the call, rows and the model."""
        return semantic_outputs()

    @classmethod
    def get_compatible_task_types(cls) -> list[str] | None:
        """Tasks of models the block runs."""
        return [PREDICTION_TYPE]


class SemanticSegmentationModelBlockV2(SemanticSegmentationBlock):
    """Takes a confidence mode."""

    @classmethod
    def get_manifest(cls) -> type[WorkflowBlockManifest]:
        """The manifest of this version."""
        return SemanticSegmentationManifestV2

    def run(
        self,
        images: Batch[WorkflowImageData],
        model_id: str,
        confidence_mode: str,
        custom_confidence: float | None,
    ) -> BlockResult:
        """Classes of the pixels of every image; errors as those of the model manager."""
        confidence = confidence_of(confidence_mode, custom_confidence)
        return self.classify_pixels(images, model_id, confidence=confidence)
