"""Sorts, renames, moves, grows or selects detections."""

from __future__ import annotations

from typing import Literal

from pydantic import ConfigDict

from blocks.transformations.detections_operations import (
    DetectionsOperations,
    DetectionsOperationsManifest,
)
from execution_engine.block_api import WorkflowBlockManifest


class DetectionsTransformationManifest(DetectionsOperationsManifest):
    model_config = ConfigDict(
        json_schema_extra={
            "name": "Detections Transformation",
            "version": "v1",
            "short_description": "Change detections by a chain of operations.",
            "long_description": (
                "Applies operations to detections one after another, each to the result of the one "
                "before: sort, rename classes, shift or grow boxes, filter, take one. Operations "
                "may use named values of other steps."
            ),
            "license": "Apache-2.0",
            "block_type": "transformation",
            "search_keywords": ["sort", "rename", "shift", "offset", "select"],
        }
    )
    type: Literal["roboflow_core/detections_transformation@v1", "DetectionsTransformation"]


class DetectionsTransformationBlockV1(DetectionsOperations):
    @classmethod
    def get_manifest(cls) -> type[WorkflowBlockManifest]:
        return DetectionsTransformationManifest
