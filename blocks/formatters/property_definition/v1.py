"""Takes a property out of data with a chain of operations."""

from __future__ import annotations

from typing import Any, Literal

from pydantic import ConfigDict, Field

from execution_engine.block_api import (
    BlockResult,
    OutputDefinition,
    Selector,
    WorkflowBlock,
    WorkflowBlockManifest,
)
from execution_engine.kinds.codec import CodecRegistry
from execution_engine.query_language import AllOperationsType, QueryCompiler


class PropertyDefinitionManifest(WorkflowBlockManifest):
    model_config = ConfigDict(
        json_schema_extra={
            "name": "Property Definition",
            "version": "v1",
            "short_description": "Take or compute a value from the data of a step.",
            "long_description": (
                "Applies operations to a value one after another, each to the result of the one "
                "before: the classes of detections, their number, the size of an image, a rounded "
                "number, joined text."
            ),
            "license": "Apache-2.0",
            "block_type": "formatter",
            "search_keywords": ["extract", "count", "transform", "property"],
        }
    )
    type: Literal[
        "roboflow_core/property_definition@v1", "PropertyDefinition", "PropertyExtraction"
    ]
    data: Selector() = Field(
        title="Data",
        description="Value to start from.",
        examples=["$steps.model.predictions"],
    )
    operations: list[AllOperationsType] = Field(
        title="Operations",
        description="Operations in their order.",
        examples=[[{"type": "DetectionsPropertyExtract", "property_name": "class_name"}]],
    )

    @classmethod
    def describe_outputs(cls) -> list[OutputDefinition]:
        return [OutputDefinition("output")]

    @classmethod
    def get_execution_engine_compatibility(cls) -> str | None:
        return ">=1.3.0,<2.0.0"


class PropertyDefinitionBlockV1(WorkflowBlock):
    returns_futures = False

    def __init__(self, kind_codecs: CodecRegistry) -> None:
        self._compiler = QueryCompiler(kind_codecs)

    @classmethod
    def get_init_parameters(cls) -> list[str]:
        return ["kind_codecs"]

    @classmethod
    def get_manifest(cls) -> type[WorkflowBlockManifest]:
        return PropertyDefinitionManifest

    def run(self, data: Any, operations: list[AllOperationsType]) -> BlockResult:
        """`output`: the result of the last operation."""
        return {"output": self._compiler.operations(operations)(data)}
