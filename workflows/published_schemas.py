"""The JSON schemas of blocks as they are published. Makes none for blocks of this package."""

from __future__ import annotations

from typing import Any

from blocks.index import block_schema
from execution_engine.block_api.spec import BlockSpec
from execution_engine.registry.registry import BlockRegistry


def published_schema(registry: BlockRegistry, spec: BlockSpec) -> dict[str, Any]:
    """The JSON schema of the steps of a block: the generated one, else that of its manifest."""
    try:
        return block_schema(spec.type_id)
    except KeyError:  # a block of another plug-in, or one loaded without the generated files
        return registry.load(spec.type_id).manifest.model_json_schema()
