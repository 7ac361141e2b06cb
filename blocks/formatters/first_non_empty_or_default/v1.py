"""Takes the first of several values that is there."""

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


class FirstNonEmptyOrDefaultManifest(WorkflowBlockManifest):
    model_config = ConfigDict(
        json_schema_extra={
            "name": "First Non Empty Or Default",
            "version": "v1",
            "short_description": "Take the first value that is there, or a default.",
            "long_description": (
                "Goes through a list of values and returns the first that is not empty, or "
                "`default` when all are. It joins branches of which only some ran, and fills gaps "
                "that filtering left."
            ),
            "license": "Apache-2.0",
            "block_type": "formatter",
            "search_keywords": ["coalesce", "fallback", "merge branches"],
        }
    )
    type: Literal["roboflow_core/first_non_empty_or_default@v1", "FirstNonEmptyOrDefault"]
    data: list[Selector()] = Field(
        min_length=1,
        title="Data",
        description="Values in the order in which they are tried.",
        examples=[["$steps.branch_a.predictions", "$steps.branch_b.predictions"]],
    )
    default: Any = Field(
        default=None,
        title="Default",
        description="Result when all values are empty.",
        examples=["nothing found"],
    )

    @classmethod
    def accepts_empty_values(cls) -> bool:
        return True

    @classmethod
    def describe_outputs(cls) -> list[OutputDefinition]:
        return [OutputDefinition("output")]

    @classmethod
    def get_execution_engine_compatibility(cls) -> str | None:
        return ">=1.3.0,<2.0.0"


class FirstNonEmptyOrDefaultBlockV1(WorkflowBlock):
    returns_futures = False

    @classmethod
    def get_manifest(cls) -> type[WorkflowBlockManifest]:
        return FirstNonEmptyOrDefaultManifest

    def run(self, data: list[Any], default: Any) -> BlockResult:
        """`output`: the first element that is not None, else the default."""
        return {"output": next((value for value in data if value is not None), default)}
