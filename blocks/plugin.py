"""The plug-in object through which the engine finds the blocks of this package. Imports no block."""

from __future__ import annotations

from execution_engine.registry.plugin import Plugin


def core_plugin() -> Plugin:
    """The core blocks, kinds and codecs under the source name `workflows_core`."""
    from blocks.index import block_specs, known_blocks
    from blocks.kinds import core_codecs

    return Plugin(
        source="workflows_core",
        distribution="weftlens",
        index=block_specs,
        known=known_blocks,
        codecs=core_codecs,
    )
