"""Reads a classification out of the text of a vision-language model, version 1."""

from __future__ import annotations

from typing import Literal

from pydantic import ConfigDict

from blocks.formatters.vlm_as_classifier.family import (
    VLMAsClassifierBlock,
    VLMAsClassifierManifest,
)
from execution_engine.block_api import OutputDefinition, WorkflowBlockManifest
from execution_engine.kinds.catalogue import (
    BOOLEAN_KIND,
    CLASSIFICATION_PREDICTION_KIND,
    STRING_KIND,
)


class VLMAsClassifierManifestV1(VLMAsClassifierManifest):
    model_config = ConfigDict(
        json_schema_extra={
            "name": "VLM As Classifier",
            "version": "v1",
            "short_description": "Read a classification out of what a vision-language model wrote.",
            "long_description": (
                "Finds the JSON in what a vision-language model answered and makes a "
                "classification of it: of one class when it holds `class_name` and `confidence`, "
                "of several when it holds `predicted_classes`. Classes that the model does not "
                "name have confidence 0. A text that cannot be read sets `error_status` and gives "
                "no classification; nothing is raised."
            ),
            "license": "Apache-2.0",
            "block_type": "formatter",
            "search_keywords": ["language model", "parse", "label", "json", "prompt"],
        }
    )
    type: Literal["roboflow_core/vlm_as_classifier@v1"]

    @classmethod
    def describe_outputs(cls) -> list[OutputDefinition]:
        return [
            OutputDefinition("error_status", [BOOLEAN_KIND]),
            OutputDefinition("predictions", [CLASSIFICATION_PREDICTION_KIND]),
            OutputDefinition("inference_id", [STRING_KIND]),
        ]


class VLMAsClassifierBlockV1(VLMAsClassifierBlock):
    @classmethod
    def get_manifest(cls) -> type[WorkflowBlockManifest]:
        return VLMAsClassifierManifestV1
