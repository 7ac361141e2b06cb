"""Versions of a block whose differences show every rule of upgrading. Tests nothing."""

from __future__ import annotations

from typing import Any, Literal

from pydantic import AliasChoices, ConfigDict, Field, create_model

from blocks.plugin import core_plugin
from execution_engine import BlockRegistry, Plugin
from execution_engine.block_api import (
    BlockResult,
    OutputDefinition,
    WorkflowBlock,
    WorkflowBlockManifest,
)
from execution_engine.kinds.catalogue import FLOAT_KIND, STRING_KIND


def version(
    number: int,
    fields: dict[str, Any],
    outputs: dict[str, Any],
    *,
    changes: str = "",
    inert: tuple[str, ...] = (),
    aliases: tuple[str, ...] = (),
) -> type[WorkflowBlock]:
    """A block `acme/mix@v<number>` with fields (type, `Field`) and outputs by name."""
    type_ids = (f"acme/mix@v{number}", *aliases)

    class Base(WorkflowBlockManifest):
        model_config = ConfigDict(json_schema_extra={"name": "Mix", "changes": changes})

        @classmethod
        def describe_outputs(cls) -> list[OutputDefinition]:
            return [OutputDefinition(name, kinds) for name, kinds in outputs.items()]

        @classmethod
        def get_inert_fields(cls) -> dict[str, str]:
            return dict.fromkeys(inert, "not built")

    manifest: Any = create_model(
        f"MixV{number}", __base__=Base, type=(Literal[type_ids], ...), **fields
    )

    class Block(WorkflowBlock):
        returns_futures = False

        @classmethod
        def get_manifest(cls) -> type[WorkflowBlockManifest]:
            return manifest

        def run(self, **values: Any) -> BlockResult:
            return dict.fromkeys(outputs)

    return Block


def mix_registry() -> BlockRegistry:
    """The core blocks and three versions of `acme/mix`."""
    first = version(
        1,
        {
            "amount": (float, Field(default=1.0)),
            "speed": (int, Field(default=3)),
            "colour": (str, Field(default="red", validation_alias=AliasChoices("colour", "color"))),
            "extra": (str, Field(default="none")),
            "later": (bool, Field(default=False)),
            "unused": (int, Field(default=0)),
        },
        {"sum": [FLOAT_KIND], "word": [STRING_KIND]},
        changes="The first one.",
        inert=("later", "unused"),
        aliases=("Mix",),
    )
    second = version(
        2,
        {
            "amount": (float, Field(default=2.0, ge=0)),
            "speed": (int, Field(default=3)),
            "colour": (str, Field(default="red")),
            "later": (bool, Field(default=False)),
        },
        {"word": [STRING_KIND], "sum": [FLOAT_KIND]},
        changes="Goes by later.",
    )
    third = version(
        3,
        {
            "amount": (float, Field(default=2.0, ge=0)),
            "speed": (int, Field(description="Rounds a minute.")),
            "mode": (Literal["fast", "slow"], Field(description="How it mixes.")),
        },
        {"word": [STRING_KIND]},
        changes="Asks for a mode.",
    )
    plugin = Plugin(source="acme", distribution="acme-blocks", blocks=[first, second, third])
    return BlockRegistry([core_plugin(), plugin])
