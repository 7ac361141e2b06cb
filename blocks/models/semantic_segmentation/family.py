"""Semantic segmentation, all versions: one mask a class of each image. Knows no version."""

from __future__ import annotations

from typing import Any

from blocks.models.model_block import ModelBlock, detection_rows
from execution_engine.block_api import Batch, OutputDefinition, WorkflowImageData
from execution_engine.kinds.catalogue import (
    INFERENCE_ID_KIND,
    ROBOFLOW_MODEL_ID_KIND,
    SEMANTIC_SEGMENTATION_PREDICTION_KIND,
)

SCHEMA_EXTRA: dict[str, Any] = {
    "name": "Semantic Segmentation Model",
    "short_description": "Gives every pixel a class.",
    "long_description": (
        "Runs a semantic segmentation or matting model on a batch of images and gives, for each, "
        "one row a class that occurs: its mask over the whole image, the box around it and its "
        "mean score."
    ),
    "license": "Apache-2.0",
    "block_type": "model",
    "search_keywords": ["segmentation", "matte", "pixels", "mask"],
}
PREDICTION_TYPE = "semantic-segmentation"


def semantic_outputs() -> list[OutputDefinition]:
    """Id of the call, one row a class, and the model."""
    return [
        OutputDefinition("inference_id", [INFERENCE_ID_KIND]),
        OutputDefinition("predictions", [SEMANTIC_SEGMENTATION_PREDICTION_KIND]),
        OutputDefinition("model_id", [ROBOFLOW_MODEL_ID_KIND]),
    ]


class SemanticSegmentationBlock(ModelBlock):
    """The run of every version."""

    def classify_pixels(
        self, images: Batch[WorkflowImageData], model_id: str, **parameters: Any
    ) -> list[dict[str, Any]]:
        """One result an image.

        Args:
            images: the batch.
            model_id: the model.
            parameters: parameters of the model manager.
        """
        predictions = self.infer(model_id, images, parameters, PREDICTION_TYPE)
        return detection_rows(
            predictions, images, PREDICTION_TYPE, model_id=model_id, placed=self.placed
        )
