"""Reads detections out of the text of a vision-language model; adds models."""

from __future__ import annotations

from typing import Literal

from pydantic import ConfigDict, Field

from blocks.formatters.vlm_as_detector.family import VLMAsDetectorBlock, VLMAsDetectorManifest
from execution_engine.block_api import OutputDefinition, WorkflowBlockManifest
from execution_engine.kinds.catalogue import (
    BOOLEAN_KIND,
    INFERENCE_ID_KIND,
    OBJECT_DETECTION_PREDICTION_KIND,
)


class VLMAsDetectorManifestV2(VLMAsDetectorManifest):
    model_config = ConfigDict(
        json_schema_extra={
            "name": "VLM As Detector",
            "version": "v2",
            "short_description": "Read detections out of the text of a vision-language model.",
            "long_description": (
                "Finds the JSON in what a vision-language model answered and makes detections of "
                "it: boxes in pixels of the image, classes, and confidences where the model says "
                "some, 1 otherwise. Each model writes boxes in its own way, so the model must be "
                "named. A text that cannot be read sets `error_status` and gives no detections; "
                "nothing is raised."
            ),
            "license": "Apache-2.0",
            "block_type": "formatter",
            "search_keywords": ["language model", "parse", "bounding box", "json", "prompt"],
        },
        protected_namespaces=(),
    )
    type: Literal["roboflow_core/vlm_as_detector@v2"]
    model_type: Literal[
        "openai",
        "google-gemini",
        "anthropic-claude",
        "spacexai",
        "qwen",
        "muse",
        "zai",
        "zai-flash",
        "florence-2",
    ] = Field(
        title="Model Type",
        description="The model that answered.",
        examples=["google-gemini", "florence-2"],
    )
    task_type: Literal[
        "open-vocabulary-object-detection",
        "object-detection-and-caption",
        "phrase-grounded-object-detection",
        "region-proposal",
        "object-detection",
        "ocr-with-text-detection",
    ] = Field(
        title="Task Type",
        description="What the model was asked for; all but Florence-2 do object detection only.",
        examples=["object-detection"],
    )

    @classmethod
    def describe_outputs(cls) -> list[OutputDefinition]:
        return [
            OutputDefinition("error_status", [BOOLEAN_KIND]),
            OutputDefinition("predictions", [OBJECT_DETECTION_PREDICTION_KIND]),
            OutputDefinition("inference_id", [INFERENCE_ID_KIND]),
        ]


class VLMAsDetectorBlockV2(VLMAsDetectorBlock):
    @classmethod
    def get_manifest(cls) -> type[WorkflowBlockManifest]:
        return VLMAsDetectorManifestV2
