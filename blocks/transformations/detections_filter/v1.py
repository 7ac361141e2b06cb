"""Keeps the detections for which a condition holds."""

from __future__ import annotations

from typing import Literal

from pydantic import ConfigDict, Field

from blocks.transformations.detections_operations import (
    DetectionsOperations,
    DetectionsOperationsManifest,
)
from execution_engine.block_api import WorkflowBlockManifest
from execution_engine.query_language import AllOperationsType


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
    operations: list[AllOperationsType] = Field(
        title="Operations",
        description="Operations in their order; the last one must give detections.",
        examples=[
            [
                {
                    "type": "DetectionsFilter",
                    "filter_operation": {
                        "type": "StatementGroup",
                        "operator": "and",
                        "statements": [
                            {
                                "type": "BinaryStatement",
                                "left_operand": {
                                    "type": "DynamicOperand",
                                    "operand_name": "_",
                                    "operations": [
                                        {
                                            "type": "ExtractDetectionProperty",
                                            "property_name": "confidence",
                                        }
                                    ],
                                },
                                "comparator": {"type": "(Number) >="},
                                "right_operand": {"type": "StaticOperand", "value": 0.5},
                            }
                        ],
                    },
                }
            ]
        ],
    )


class DetectionsFilterBlockV1(DetectionsOperations):
    @classmethod
    def get_manifest(cls) -> type[WorkflowBlockManifest]:
        return DetectionsFilterManifest
