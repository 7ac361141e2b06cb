"""Stores a value for a later `cache_get` step. The store itself belongs to the engine."""

from __future__ import annotations

from typing import Any, Literal

from pydantic import ConfigDict, Field

from execution_engine.block_api import (
    BlockResult,
    OutputDefinition,
    Selector,
    WorkflowBlock,
    WorkflowBlockManifest,
    WorkflowImageData,
    WorkflowImageSelector,
)
from execution_engine.block_api.workflow_memory import WorkflowMemory
from execution_engine.kinds.catalogue import LIST_OF_VALUES_KIND, STRING_KIND, WILDCARD_KIND


class CacheSetManifest(WorkflowBlockManifest):
    model_config = ConfigDict(
        json_schema_extra={
            "name": "Cache Set",
            "version": "v1",
            "short_description": "Store a value for a Cache Get step.",
            "long_description": (
                "Stores a value under a key for the video the image belongs to, in place of what "
                "was there, and passes the value on. Cache Get and Cache Set share values within "
                "one engine, from run to run; the values that were not used for longest are "
                "dropped first when there are very many."
            ),
            "license": "Apache-2.0",
            "block_type": "fusion",
            "search_keywords": ["memory", "state", "remember"],
        }
    )
    type: Literal["roboflow_core/cache_set@v1"]
    image: WorkflowImageSelector = Field(
        title="Image",
        description="Image whose video identifier separates the cached values of different videos.",
        examples=["$inputs.image"],
    )
    key: Selector(kind=[STRING_KIND]) | str = Field(
        title="Key",
        description="Name of the value.",
        examples=["last_plate", "$inputs.cache_key"],
    )
    value: Selector(kind=[WILDCARD_KIND, LIST_OF_VALUES_KIND]) = Field(
        title="Value",
        description="Value to store.",
        examples=["$steps.ocr.result"],
    )

    @classmethod
    def describe_outputs(cls) -> list[OutputDefinition]:
        return [OutputDefinition("output", [WILDCARD_KIND])]

    @classmethod
    def get_execution_engine_compatibility(cls) -> str | None:
        return ">=1.3.0,<2.0.0"


class CacheSetBlockV1(WorkflowBlock):
    returns_futures = False

    def __init__(self, workflow_memory: WorkflowMemory) -> None:
        self._memory = workflow_memory

    @classmethod
    def get_init_parameters(cls) -> list[str]:
        return ["workflow_memory"]

    @classmethod
    def get_manifest(cls) -> type[WorkflowBlockManifest]:
        return CacheSetManifest

    def run(self, image: WorkflowImageData, key: str, value: Any) -> BlockResult:
        """`output`: the value that was stored."""
        self._memory.set(image.video_metadata.video_identifier, key, value)
        return {"output": value}
