"""Reads what an earlier `cache_set` step stored. The store itself belongs to the engine."""

from __future__ import annotations

from typing import Literal

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
from execution_engine.kinds.catalogue import STRING_KIND, WILDCARD_KIND


class CacheGetManifest(WorkflowBlockManifest):
    model_config = ConfigDict(
        json_schema_extra={
            "name": "Cache Get",
            "version": "v1",
            "short_description": "Read a value that a Cache Set step stored.",
            "long_description": (
                "Returns the value stored under a key for the video the image belongs to, and "
                "`false` when nothing is stored there. Cache Get and Cache Set share values within "
                "one engine, from run to run. Steps of one run have an order only where one feeds "
                "the other, so a value set in the same run is certain to be seen only if this step "
                "depends on the one that sets it."
            ),
            "license": "Apache-2.0",
            "block_type": "fusion",
            "search_keywords": ["memory", "state", "recall"],
        }
    )
    type: Literal["roboflow_core/cache_get@v1"]
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

    @classmethod
    def describe_outputs(cls) -> list[OutputDefinition]:
        return [OutputDefinition("output", [WILDCARD_KIND])]

    @classmethod
    def get_execution_engine_compatibility(cls) -> str | None:
        return ">=1.3.0,<2.0.0"


class CacheGetBlockV1(WorkflowBlock):
    returns_futures = False

    def __init__(self, workflow_memory: WorkflowMemory) -> None:
        self._memory = workflow_memory

    @classmethod
    def get_init_parameters(cls) -> list[str]:
        return ["workflow_memory"]

    @classmethod
    def get_manifest(cls) -> type[WorkflowBlockManifest]:
        return CacheGetManifest

    def run(self, image: WorkflowImageData, key: str) -> BlockResult:
        """`output`: the stored value, False when there is none."""
        namespace = image.video_metadata.video_identifier
        return {"output": self._memory.get(namespace, key, default=False)}
