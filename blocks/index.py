"""The generated index: what the engine knows of every block before its code is imported. Generated
by `blocks.indexing`.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from importlib.resources import files
from typing import Any

from execution_engine.block_api.spec import BlockSpec
from execution_engine.registry.plugin import KnownBlock

INDEX_FILE = "index.json"
KNOWN_FILE = "known_blocks.json"
SCHEMAS_FOLDER = "schemas"
BEHAVIOUR_FILE = "behaviour.json"
CHANGES_FILE = "changes.json"


def block_specs() -> Mapping[str, BlockSpec]:
    """Specs of the blocks of this package by canonical type id."""
    return {type_id: BlockSpec.from_dict(data) for type_id, data in _read(INDEX_FILE).items()}


def known_blocks() -> Sequence[KnownBlock]:
    """Every block of the wider ecosystem by name; those in `block_specs` are built, the others are
    not.
    """
    return [
        KnownBlock(entry["type_id"], tuple(entry.get("aliases", ())), entry.get("title", ""))
        for entry in _read(KNOWN_FILE)
    ]


def block_schema(type_id: str) -> dict[str, Any]:
    """The JSON schema of one block's step, read from its generated file.

    Raises:
        KeyError: no block of this package has this canonical type id.
    """
    path = files("blocks").joinpath(SCHEMAS_FOLDER, schema_file_name(type_id))
    if not path.is_file():
        raise KeyError(type_id)
    schema: dict[str, Any] = json.loads(path.read_text(encoding="utf-8"))
    return schema


def behaviour_digests() -> Mapping[str, str]:
    """For each block of this package, by canonical type id, `sha256:<hex>` of the form and the
    outputs it was recorded with.
    """
    digests: dict[str, str] = _read(BEHAVIOUR_FILE)
    return digests


def version_changes() -> Mapping[str, str]:
    """What each version of a block of several versions changed, one line by canonical type id."""
    changes: dict[str, str] = _read(CHANGES_FILE)
    return changes


def schema_file_name(type_id: str) -> str:
    """Name of the file that holds a block's JSON schema."""
    return type_id.rsplit("/", 1)[-1] + ".json"


def _read(name: str) -> Any:
    return json.loads(files("blocks").joinpath(name).read_text(encoding="utf-8"))
