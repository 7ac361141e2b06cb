"""The plug-in through which the engine finds the blocks of this package. Imports no block."""

from __future__ import annotations

from types import MappingProxyType

from execution_engine.registry.init_parameters import CORE_SOURCE
from execution_engine.registry.plugin import Plugin

# What blocks get for constructor arguments the host does not give: nothing is trusted unless it
# says so. Some of them no block of this package takes; blocks of other plug-ins do.
DEFAULT_INIT_PARAMETERS = MappingProxyType(
    {
        "api_key": None,
        "step_execution_mode": "local",
        "background_tasks": None,
        "thread_pool_executor": None,
        "execution_observer": None,
        "disable_sinks": False,
        "platform_client": None,
        "allow_access_to_file_system": False,
        "allowed_write_directory": None,
        "allow_access_to_environmental_variables": False,
        "allow_custom_python": False,
    }
)


def core_plugin() -> Plugin:
    """The core blocks, kinds and codecs under the source name `workflows_core`."""
    from blocks.index import block_specs, known_blocks
    from blocks.kinds import core_codecs
    from blocks.kinds.tensor_predictions.representation import tensor_representation

    return Plugin(
        source=CORE_SOURCE,
        distribution="weftlens",
        index=block_specs,
        known=known_blocks,
        codecs=core_codecs,
        initializers=DEFAULT_INIT_PARAMETERS,
        representations=tensor_representation,
    )
