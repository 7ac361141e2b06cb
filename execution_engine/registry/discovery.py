"""Finds installed plug-ins. Reads entry points and `WORKFLOWS_PLUGINS` when called, never at
import.
"""

from __future__ import annotations

import importlib
import os
from collections.abc import Callable, Mapping, Sequence
from types import ModuleType
from typing import Any

from execution_engine.errors import PluginInterfaceError, PluginLoadingError
from execution_engine.kinds.codec import FunctionCodec, KindCodec
from execution_engine.registry.plugin import Plugin, object_text
from execution_engine.registry.registry import BlockRegistry

ENTRY_POINT_GROUP = "weftlens.blocks"
PLUGINS_VARIABLE = "WORKFLOWS_PLUGINS"


def discover_registry(environment: Mapping[str, str] | None = None) -> BlockRegistry:
    """A registry of every installed plug-in.

    Args:
        environment: variables to read `WORKFLOWS_PLUGINS` (comma-separated module names) from; the
            process's when None.

    Raises:
        PluginLoadingError: a plug-in cannot be imported, or two clash.
        PluginInterfaceError: a module named in the variable is no plug-in, or a block is none.
    """
    return BlockRegistry(discover_plugins(environment))


def discover_plugins(environment: Mapping[str, str] | None = None) -> list[Plugin]:
    """The plug-ins of the entry-point group, then those named in `WORKFLOWS_PLUGINS`."""
    from importlib.metadata import entry_points

    variables = os.environ if environment is None else environment
    plugins: list[Plugin] = []
    for entry_point in entry_points(group=ENTRY_POINT_GROUP):
        try:
            made = entry_point.load()
            plugin = made() if callable(made) else made
        except Exception as error:
            raise PluginLoadingError(
                f"Plug-in '{entry_point.name}' ({entry_point.value}) cannot be loaded: {error}",
                inner_error=error,
            ) from error
        if not isinstance(plugin, Plugin):
            raise PluginInterfaceError(
                f"Plug-in '{entry_point.name}' ({entry_point.value}) gives "
                f"{type(plugin).__name__}, expected a Plugin."
            )
        plugins.append(plugin)
    for name in variables.get(PLUGINS_VARIABLE, "").split(","):
        if name.strip():
            plugins.append(plugin_from_module(name.strip()))
    return plugins


def plugin_from_module(name: str) -> Plugin:
    """A plug-in from a module that offers `load_blocks()` and, if it likes, kinds, codecs and
    initialisers.

    Raises:
        PluginLoadingError: the module cannot be imported.
        PluginInterfaceError: it has no `load_blocks()`, or that gives no list.
    """
    try:
        module = importlib.import_module(name)
    except Exception as error:  # whatever a module raises, the plug-in cannot be used
        raise PluginLoadingError(
            f"{PLUGINS_VARIABLE} names the module '{name}', which cannot be imported: {error}",
            inner_error=error,
        ) from error
    load_blocks = getattr(module, "load_blocks", None)
    if not callable(load_blocks):
        raise PluginInterfaceError(f"Plug-in module '{name}' has no function load_blocks().")
    load_kinds: Callable[[], Sequence[Any]] = getattr(module, "load_kinds", list)
    try:
        blocks, kinds = load_blocks(), load_kinds()
    except Exception as error:
        raise PluginLoadingError(
            f"Plug-in module '{name}' cannot list its blocks and kinds: {error}", inner_error=error
        ) from error
    for hook, given, member in (
        ("load_blocks", blocks, "WorkflowBlock classes"),
        ("load_kinds", kinds, "Kind objects"),
    ):
        if not isinstance(given, (list, tuple)):
            raise PluginInterfaceError(
                f"Plug-in module '{name}': {hook}() gives {object_text(given)}, expected a list of "
                f"{member}."
            )
    return Plugin(
        source=getattr(module, "BLOCKS_SOURCE", name),
        distribution=name,
        blocks=tuple(blocks),
        kinds=tuple(kinds),
        codecs=lambda: _module_codecs(module),
        initializers=dict(getattr(module, "REGISTERED_INITIALIZERS", {})),
    )


def _module_codecs(module: ModuleType) -> list[KindCodec]:
    serialisers: Mapping[str, Callable[[Any], Any]] = getattr(module, "KINDS_SERIALIZERS", {})
    deserialisers: Mapping[str, Callable[[str, Any], Any]] = getattr(
        module, "KINDS_DESERIALIZERS", {}
    )
    return [
        FunctionCodec(
            kind,
            serialise=serialisers.get(kind),
            deserialise=_without_context(deserialisers[kind]) if kind in deserialisers else None,
        )
        for kind in dict.fromkeys((*serialisers, *deserialisers))
    ]


def _without_context(function: Callable[[str, Any], Any]) -> Callable[[str, Any, Any], Any]:
    return lambda name, value, context: function(name, value)
