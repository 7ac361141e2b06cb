"""Keeps the detections for which a condition holds."""

from __future__ import annotations

from typing import Literal

from pydantic import ConfigDict

from blocks.transformations.detections_operations import (
    DetectionsOperations,
    DetectionsOperationsManifest,
)
from execution_engine.block_api import WorkflowBlockManifest


class DetectionsFilterManifest(DetectionsOperationsManifest):
    model_config = ConfigDict(
        json_schema_extra={
            "name": "Detections Filter",
            "version": "v1",
            "short_description": "Keep the detections for which a condition holds.",
            "long_description": (
                "Keeps those detections that a condition on their properties holds for: class, "
                "confidence, size, place, zone, time. Conditions may use named values of other "
                "steps. When nothing is left the result still says on which image it was made."
            ),
            "license": "Apache-2.0",
            "block_type": "transformation",
            "search_keywords": ["class", "confidence", "select", "remove", "zone"],
        }
    )
    type: Literal["roboflow_core/detections_filter@v1", "DetectionsFilter"]


class DetectionsFilterBlockV1(DetectionsOperations):
    @classmethod
    def get_manifest(cls) -> type[WorkflowBlockManifest]:
        return DetectionsFilterManifest
