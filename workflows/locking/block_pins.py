"""What is locked of a block: digests of its manifest and behaviour, and where it comes from.
Compares nothing.
"""

from __future__ import annotations

import sys
import threading
from collections.abc import Mapping
from dataclasses import dataclass
from importlib import metadata
from typing import Any

from blocks.index import behaviour_digests
from execution_engine.plan import Plan
from execution_engine.registry.init_parameters import CORE_SOURCE
from execution_engine.registry.registry import BlockRegistry, LoadedBlock
from workflows.locking.canonical import json_digest
from workflows.locking.errors import WorkflowLockError
from workflows.locking.lock_file import BlockPin
from workflows.model_folder.package_files import FileDigests

# Where the code lies is no part of what a block takes and gives.
_WHEREABOUTS = ("class_name", "module", "siblings", "source")


@dataclass(frozen=True, slots=True)
class Origin:
    """The installed distribution a block comes from; `version` is None where there is none."""

    distribution: str
    version: str | None


class BlockPins:
    """Pins of the blocks of a registry, made once each: code that is imported does not change.
    Thread-safe.
    """

    def __init__(self, registry: BlockRegistry, files: FileDigests) -> None:
        self._registry = registry
        self._files = files
        self._pins: dict[str, BlockPin] = {}
        self._origins: dict[str, Origin] = {}
        self._behaviour: Mapping[str, str] | None = None
        self._lock = threading.Lock()

    def pin(self, type_id: str) -> BlockPin:
        """The pin of a block.

        Raises:
            WorkflowLockError: its manifest or its code cannot be read.
            UnknownManifestType, PluginLoadingError: as `BlockRegistry.load`.
        """
        with self._lock:
            pin = self._pins.get(type_id)
            if pin is None:
                pin = self._pins[type_id] = self._make(self._registry.load(type_id))
            return pin

    def pin_steps(self, plan: Plan) -> tuple[dict[str, str], dict[str, BlockPin], dict[str, str]]:
        """Type ids of the steps by name, pins of their blocks by type id, and versions of the
        distributions that these come from, except our own; errors as `pin`.
        """
        steps = {step.name: step.spec.type_id for step in plan.steps}
        blocks = {type_id: self.pin(type_id) for type_id in dict.fromkeys(steps.values())}
        distributions = {}
        for type_id in blocks:
            origin = self.origin(type_id)
            if origin.version is not None:
                distributions[origin.distribution] = origin.version
        return steps, blocks, distributions

    def origin(self, type_id: str) -> Origin:
        """Where a block that was pinned comes from."""
        spec = self._registry.load(type_id).spec
        with self._lock:
            return self._origin(spec.source, spec.module)

    def _make(self, loaded: LoadedBlock) -> BlockPin:
        spec = loaded.spec
        origin = self._origin(spec.source, spec.module)
        own = spec.source == CORE_SOURCE
        try:
            manifest = manifest_digest(loaded)
        except Exception as error:  # code of a plug-in, and what pydantic says of its fields
            raise WorkflowLockError(
                f"The block {spec.type_id} cannot be locked: its manifest gives no schema: {error}",
                error,
            ) from error
        return BlockPin(
            version=spec.version,
            manifest=manifest,
            behaviour=self._behaviours().get(spec.type_id) if own else None,
            distribution=origin.distribution,
            code=None if own or origin.version is not None else self._code_digest(loaded),
        )

    def _behaviours(self) -> Mapping[str, str]:
        if self._behaviour is None:
            self._behaviour = behaviour_digests()
        return self._behaviour

    def _origin(self, source: str, module: str) -> Origin:
        key = f"{source}:{module.partition('.')[0]}"
        origin = self._origins.get(key)
        if origin is None:
            names = [plugin.distribution for plugin in self._registry.plugins
                     if plugin.source == source]  # fmt: skip
            name = names[0] if names else ""
            origin = self._origins[key] = (
                # The version of weftlens does not count: the digests say more.
                Origin(name, None) if source == CORE_SOURCE else find_origin(name, module)
            )
        return origin

    def _code_digest(self, loaded: LoadedBlock) -> str | None:
        file = getattr(sys.modules.get(loaded.block.__module__), "__file__", None)
        if file is None:
            return None  # typed at a prompt
        try:
            return self._files.of_file(file)
        except OSError as error:
            raise WorkflowLockError(
                f"The block {loaded.spec.type_id} cannot be locked: its code '{file}' cannot be "
                f"read: {error.strerror or error}.",
                error,
            ) from error


def manifest_digest(loaded: LoadedBlock) -> str:
    """Digest of all that a manifest says: its published schema with its texts, its outputs, and the
    hooks as the engine knows them.
    """
    content: dict[str, Any] = {
        "schema": loaded.manifest.model_json_schema(),
        "spec": {
            name: value for name, value in loaded.spec.to_dict().items() if name not in _WHEREABOUTS
        },
        "outputs": [
            [output.name, list(output.kind_names)] for output in loaded.manifest.describe_outputs()
        ],
        "inert": loaded.manifest.get_inert_fields(),
    }
    return json_digest(content)


def find_origin(distribution: str, module: str) -> Origin:
    """The installed distribution of a plug-in.

    Args:
        distribution: what the plug-in calls itself; may be empty, or the name of a module.
        module: the module of a block.
    """
    package = module.partition(".")[0]
    if distribution:
        try:
            return Origin(distribution, metadata.version(distribution))
        except (metadata.PackageNotFoundError, ValueError):
            pass  # the name of a module: its distribution may be called otherwise
    owners = metadata.packages_distributions().get(package, [])
    if len(set(owners)) == 1:
        return Origin(owners[0], metadata.version(owners[0]))
    return Origin(distribution or package, None)
