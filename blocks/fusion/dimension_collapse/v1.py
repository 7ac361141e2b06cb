"""Gathers the elements of the deepest batch level in a list."""

from __future__ import annotations

from typing import Any, Literal

from pydantic import ConfigDict, Field

from execution_engine.block_api import (
    Batch,
    BlockResult,
    OutputDefinition,
    Selector,
    WorkflowBlock,
    WorkflowBlockManifest,
)
from execution_engine.kinds.catalogue import LIST_OF_VALUES_KIND


class DimensionCollapseManifest(WorkflowBlockManifest):
    model_config = ConfigDict(
        json_schema_extra={
            "name": "Dimension Collapse",
            "version": "v1",
            "short_description": "Gather the results of all crops of an image in one list.",
            "long_description": (
                "Takes one level of nesting away: what a step gave for each crop of an image "
                "becomes one list for that image, in the order of the crops. Elements without a "
                "value are left out."
            ),
            "license": "Apache-2.0",
            "block_type": "fusion",
            "search_keywords": ["aggregate", "gather", "flatten", "list"],
        }
    )
    type: Literal["roboflow_core/dimension_collapse@v1", "DimensionCollapse"]
    data: Selector() = Field(
        title="Data",
        description="Value whose deepest level is gathered.",
        examples=["$steps.ocr_step.results"],
    )

    @classmethod
    def get_parameters_enforcing_auto_batch_casting(cls) -> list[str]:
        return ["data"]

    @classmethod
    def get_output_dimensionality_offset(cls) -> int:
        return -1

    @classmethod
    def describe_outputs(cls) -> list[OutputDefinition]:
        return [OutputDefinition("output", [LIST_OF_VALUES_KIND])]

    @classmethod
    def get_execution_engine_compatibility(cls) -> str | None:
        return ">=1.3.0,<2.0.0"


class DimensionCollapseBlockV1(WorkflowBlock):
    returns_futures = False

    @classmethod
    def get_manifest(cls) -> type[WorkflowBlockManifest]:
        return DimensionCollapseManifest

    def run(self, data: Batch[Any]) -> BlockResult:
        """`output`: the elements as a list."""
        return {"output": list(data)}
