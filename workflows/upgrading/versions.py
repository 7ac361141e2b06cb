"""The versions of a block: which there are, and the way from one to another. Compares none."""

from __future__ import annotations

from collections.abc import Mapping

from blocks.index import version_changes
from execution_engine.block_api.digest import VERSION_SUFFIX
from execution_engine.block_api.spec import BlockSpec
from execution_engine.registry.registry import BlockRegistry
from workflows.published_schemas import published_schema

CHANGES_KEY = "changes"


def number_of(spec: BlockSpec) -> int:
    """The number of a version, 0 when its type id has none."""
    found = VERSION_SUFFIX.search(spec.type_id)
    return int(found[1]) if found else 0


def versions_of(registry: BlockRegistry, spec: BlockSpec) -> list[BlockSpec]:
    """All versions of a block, oldest first."""
    if not number_of(spec):
        return [spec]
    family = VERSION_SUFFIX.sub("", spec.type_id)
    same = [
        one
        for one in registry.specs.values()
        if number_of(one) and VERSION_SUFFIX.sub("", one.type_id) == family
    ]
    return sorted(same, key=number_of)


def change_line(registry: BlockRegistry, spec: BlockSpec) -> str:
    """What a version changed, in one line: from the table of this package, or from the member
    `changes` of a plug-in's schema; empty when it does not say.
    """
    lines: Mapping[str, str] = version_changes()
    if spec.type_id in lines:
        return lines[spec.type_id]
    return str(published_schema(registry, spec).get(CHANGES_KEY, ""))
