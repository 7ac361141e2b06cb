"""`BlockRegistry`: which blocks, kinds and codecs one engine knows. Loads a block's code when it is
first used.
"""

from __future__ import annotations

import importlib
import threading
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any, get_args

from execution_engine.block_api.block import WorkflowBlock, WorkflowBlockManifest
from execution_engine.block_api.digest import check_sibling, digest_block
from execution_engine.block_api.spec import BlockSpec
from execution_engine.errors import (
    PluginInterfaceError,
    PluginLoadingError,
    UnknownManifestType,
    WorkflowError,
)
from execution_engine.kinds.catalogue import ALL_KINDS
from execution_engine.kinds.codec import CodecRegistry, KindCodec
from execution_engine.kinds.defaults import default_codec_registry
from execution_engine.kinds.kind import Kind
from execution_engine.kinds.representation import Representations
from execution_engine.registry.likeness import nearest_type_ids
from execution_engine.registry.plugin import KnownBlock, Plugin, object_text
from execution_engine.versions import ENGINE_VERSION, version_in_range


@dataclass(frozen=True, slots=True)
class LoadedBlock:
    """A block whose code is imported: its spec, its class and its manifest class."""

    spec: BlockSpec
    block: type[WorkflowBlock]
    manifest: type[WorkflowBlockManifest]


class BlockRegistry:
    """The blocks of a set of plug-ins, found by any of their type ids.

    Two registries never see each other. Reading is thread-safe.

    Args:
        plugins: sources of blocks; two blocks with one type id are an error.

    Raises:
        PluginLoadingError: two plug-ins claim the same type id, source name or kind name; the text
            names both origins.
        PluginInterfaceError: what a plug-in gives as a block is none.
    """

    def __init__(self, plugins: Iterable[Plugin] = ()) -> None:
        self.plugins = tuple(plugins)
        self._specs: dict[str, BlockSpec] = {}
        self._canonical: dict[str, BlockSpec] = {}
        self._known: dict[str, KnownBlock] = {}
        self._classes: dict[str, type[WorkflowBlock]] = {}
        self._loaded: dict[str, LoadedBlock] = {}
        self._siblings: dict[tuple[str, str], type[WorkflowBlock]] = {}
        self.representations = Representations()
        self._lock = threading.Lock()
        self._sources: dict[str, Plugin] = {}
        codecs: list[KindCodec] = []
        for plugin in self.plugins:
            self._add_source(plugin)
            if plugin.index is not None:
                for spec in plugin.index().values():
                    self._add_spec(spec)
            for block in plugin.blocks:
                spec = _digest(block, plugin)
                self._classes[spec.type_id] = block
                for sibling in block.get_siblings():
                    self._siblings[spec.type_id, sibling.representation] = sibling
                self._add_spec(spec)
            if plugin.known is not None:
                for known in plugin.known():
                    for type_id in (known.type_id, *known.aliases):
                        self._known[type_id] = known
            if plugin.codecs is not None:
                codecs.extend(plugin.codecs())
            if plugin.representations is not None:
                for representation in plugin.representations():
                    self.representations.add(representation)
        self.codecs: CodecRegistry = default_codec_registry(codecs, self._plugin_kinds())

    @property
    def specs(self) -> Mapping[str, BlockSpec]:
        """Specs of all blocks by canonical type id."""
        return self._canonical

    @property
    def known_blocks(self) -> Mapping[str, KnownBlock]:
        """Blocks known by name but not part of this build, by any of their ids."""
        return self._known

    def spec(self, type_id: str) -> BlockSpec | None:
        """The spec of the block with this id or alias, None when there is none."""
        return self._specs.get(type_id)

    def known(self, type_id: str) -> KnownBlock | None:
        """The block of this id when it is known by name only."""
        return None if type_id in self._specs else self._known.get(type_id)

    def nearest_types(self, type_id: str, limit: int = 3) -> list[str]:
        """The canonical ids most like `type_id` in their words and letters, best first."""
        runnable = {name: spec.type_id for name, spec in self._specs.items()}
        named = {name: known.type_id for name, known in self._known.items() if name not in runnable}
        return nearest_type_ids(type_id, runnable, named, limit)

    def load(self, type_id: str) -> LoadedBlock:
        """The block with its code, imported at the first call.

        Raises:
            UnknownManifestType: no block has this id.
            PluginLoadingError: the code cannot be imported, or it does not match the index; the
                text says how to mend it.
        """
        spec = self._specs.get(type_id)
        if spec is None:
            raise UnknownManifestType(f"No loaded block has the type '{type_id}'.")
        loaded = self._loaded.get(spec.type_id)
        if loaded is None:
            with self._lock:
                loaded = self._loaded.get(spec.type_id)
                if loaded is None:
                    loaded = self._loaded[spec.type_id] = self._import(spec)
        return loaded

    def load_sibling(self, type_id: str, representation: str) -> type[WorkflowBlock] | None:
        """The class that does the block's work on values in another representation, imported at
        the first call; None when there is none.

        Raises:
            UnknownManifestType: no block has this id.
            PluginLoadingError: the code cannot be imported, or it does not match the block.
        """
        loaded = self.load(type_id)
        place = loaded.spec.siblings.get(representation)
        if place is None:
            return None
        key = (loaded.spec.type_id, representation)
        sibling = self._siblings.get(key)
        if sibling is None:
            module, _, name = place.partition(":")
            try:
                sibling = getattr(importlib.import_module(module), name)
                check_sibling(loaded.block, sibling)
            except Exception as error:  # whatever a module raises, the sibling cannot be used
                raise PluginLoadingError(
                    f"Block '{loaded.spec.type_id}' cannot be used in the representation "
                    f"'{representation}': {place} cannot be loaded: {error}",
                    inner_error=error,
                ) from error
            self._siblings[key] = sibling
        return sibling

    def initializer(
        self, source: str, parameter: str, given: Mapping[str, Any]
    ) -> tuple[bool, Any]:
        """Value for a constructor argument: (found, value), looked up as `source.parameter`, then
        `parameter`.
        """
        registered: Mapping[str, Any] = {}
        plugin = self._sources.get(source)
        if plugin is not None:
            registered = plugin.initializers
        qualified = f"{source}.{parameter}"
        if qualified in given:
            return True, given[qualified]
        if parameter in registered:
            return True, _called(registered[parameter])
        if parameter in given:
            return True, given[parameter]
        for other in self.plugins:
            if parameter in other.initializers:
                return True, _called(other.initializers[parameter])
        return False, None

    def explain(self, type_id: str) -> str:
        """One block in text: id, origin, version range, fields and outputs, for messages and
        terminals.
        """
        spec = self.spec(type_id)
        if spec is None:
            known = self.known(type_id)
            if known is None:
                return f"{type_id}: unknown"
            return f"{known.type_id}: known by name, not in this build. {known.reason}".rstrip()
        lines = [
            f"{spec.type_id} - {spec.title}",
            f"  from {spec.source}: {spec.module}.{spec.class_name}",
        ]
        if spec.aliases:
            lines.append(f"  also called {', '.join(spec.aliases)}")
        if spec.engine_compatibility:
            lines.append(f"  for engine {spec.engine_compatibility}")
        for name, field in spec.fields.items():
            kinds = sorted({kind for reference in field.references for kind in reference.kinds})
            taken = f" takes {', '.join(kinds)}" if kinds else ""
            lines.append(f"  {name}{' (required)' if field.required else ''}{taken}")
        for output in spec.outputs:
            lines.append(f"  -> {output.name}: {', '.join(output.kinds)}")
        return "\n".join(lines)

    def _add_source(self, plugin: Plugin) -> None:
        other = self._sources.get(plugin.source)
        if other is not None:
            raise PluginLoadingError(
                f"Two plug-ins use the source name '{plugin.source}': "
                f"{other.distribution or other.source} "
                f"and {plugin.distribution or plugin.source}."
            )
        self._sources[plugin.source] = plugin

    def _add_spec(self, spec: BlockSpec) -> None:
        if spec.engine_compatibility is not None and not version_in_range(
            ENGINE_VERSION, spec.engine_compatibility
        ):
            return
        for type_id in (spec.type_id, *spec.aliases):
            other = self._specs.get(type_id)
            if other is not None:
                raise PluginLoadingError(
                    f"Two blocks have the type '{type_id}': {other.module}.{other.class_name} of "
                    f"{other.source} and {spec.module}.{spec.class_name} of {spec.source}."
                )
            self._specs[type_id] = spec
        self._canonical[spec.type_id] = spec

    def _import(self, spec: BlockSpec) -> LoadedBlock:
        block = self._classes.get(spec.type_id)
        if block is None:
            try:
                module = importlib.import_module(spec.module)
                block = getattr(module, spec.class_name)
            except Exception as error:  # whatever a module raises, the block cannot be loaded
                needs = (
                    f" Install it with: pip install 'weftlens[{spec.extra}]'." if spec.extra else ""
                )
                raise PluginLoadingError(
                    f"Block '{spec.type_id}' ({spec.module}.{spec.class_name}) cannot be loaded: "
                    f"{error}.{needs}",
                    inner_error=error,
                ) from error
            self._check_against_index(spec, block)
        return LoadedBlock(spec, block, block.get_manifest())

    def _check_against_index(self, spec: BlockSpec, block: type[WorkflowBlock]) -> None:
        """Refuses a class whose manifest has other ids or fields than the index says."""
        fields = block.get_manifest().model_fields
        ids = get_args(fields["type"].annotation)
        if ids == (spec.type_id, *spec.aliases) and fields.keys() - {"type", "name"} == (
            spec.fields.keys()
        ):
            return
        raise PluginLoadingError(
            f"Block '{spec.type_id}' ({spec.module}.{spec.class_name}) differs from the index of "
            f"its plug-in '{spec.source}'; generate that index again."
        )

    def _plugin_kinds(self) -> list[Kind]:
        """Kinds of all plug-ins; one name with two meanings is an error."""
        origins = {kind.name: (kind, "the language itself") for kind in ALL_KINDS}
        for plugin in self.plugins:
            for kind in plugin.kinds:
                other, origin = origins.setdefault(kind.name, (kind, plugin.source))
                if other != kind:
                    raise PluginLoadingError(
                        f"Two kinds are named '{kind.name}': one of {origin} and one of "
                        f"{plugin.source}."
                    )
        return [kind for plugin in self.plugins for kind in plugin.kinds]


def _digest(block: Any, plugin: Plugin) -> BlockSpec:
    """The spec of what a plug-in gives as a block."""
    origin = f"Plug-in '{plugin.distribution or plugin.source}'"
    if not (isinstance(block, type) and issubclass(block, WorkflowBlock)):
        lacks = "" if hasattr(block, "get_manifest") else ", which has no get_manifest()"
        raise PluginInterfaceError(
            f"{origin}: among its blocks is {object_text(block)}{lacks}; expected a list of "
            "WorkflowBlock classes."
        )
    try:
        return digest_block(block, plugin.source)
    except WorkflowError:
        raise
    except Exception as error:  # whatever the class methods of a block raise
        raise PluginInterfaceError(
            f"{origin}: {object_text(block)} cannot be read as a block: "
            f"{type(error).__name__}: {error}",
            inner_error=error,
        ) from error


def _called(value: Any) -> Any:
    return value() if callable(value) else value
