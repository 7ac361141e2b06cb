"""Records of block versions: a snapshot of each version's form and of what it gives in one
representative case. Reads, writes and makes them; compares nothing.

A file a family, `records/<family>.json.gz`, holds for each type id

    form     the JSON schema and the digest without texts for people
    case     definition and inputs, in the form of the conformance cases
    expect   what the case gave when it was recorded
"""

from __future__ import annotations

import gzip
import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from execution_engine import BlockRegistry
from execution_engine.block_api.block import WorkflowBlock
from execution_engine.block_api.digest import digest_block
from execution_engine.block_api.spec import BlockSpec
from execution_engine.registry.init_parameters import CORE_SOURCE
from tests.blocks.released.cases import CaseBuilder, short_name
from tests.conformance.runner import run_case

FOLDER = Path(__file__).parent / "records"
SECRET = ("WEFTLENS_TEST_SECRET", "hush")

# Texts for people may be corrected in a released version.
_PROSE = frozenset(
    {"description", "examples", "long_description", "search_keywords", "short_description", "title"}
)
# Members of a schema whose keys are names, not words of JSON Schema.
_NAMED = frozenset({"properties", "$defs", "patternProperties"})
# Where the code lives is no part of what a version promises.
_WHEREABOUTS = ("class_name", "module", "short_description", "source", "title")

Record = dict[str, Any]


def spec_of(block: type[WorkflowBlock]) -> BlockSpec:
    """The digest of a block of this repository."""
    return digest_block(block, CORE_SOURCE)


def form_of(block: type[WorkflowBlock]) -> dict[str, Any]:
    """`schema` and `digest` of a block version as JSON, without texts for people."""
    digest = spec_of(block).to_dict()
    for name in _WHEREABOUTS:
        digest.pop(name, None)
    digest["inert_fields"] = sorted(digest.get("inert_fields", ()))
    schema = without_prose(block.get_manifest().model_json_schema())
    form: dict[str, Any] = json.loads(json.dumps({"schema": schema, "digest": digest}))
    return form


def without_prose(schema: Any) -> Any:
    """A JSON schema without descriptions, titles, examples and the like."""
    if isinstance(schema, list):
        return [without_prose(item) for item in schema]
    if not isinstance(schema, dict):
        return schema
    return {
        key: {name: without_prose(item) for name, item in value.items()}
        if key in _NAMED
        else without_prose(value)
        for key, value in schema.items()
        if key not in _PROSE
    }


def case_of(block: type[WorkflowBlock]) -> dict[str, Any]:
    """The representative case of a block version; raises `NoCaseError`."""
    tasks = block.get_manifest().get_compatible_task_types()
    return CaseBuilder(spec_of(block), tasks).build()


def run_record(
    case: Mapping[str, Any], registry: BlockRegistry, init_parameters: Mapping[str, Any]
) -> dict[str, Any]:
    """What a case gives: `sequence`, `files` where it wrote any, or `error`."""
    own = case.get("init_parameters", {})
    return run_case({**case, "init_parameters": {**init_parameters, **own}}, registry)


def runs_a_model(case: Mapping[str, Any]) -> bool:
    """Whether a step of a case names a model."""
    return any("model_id" in step for step in case["definition"]["steps"])


def first_error(result: Mapping[str, Any]) -> str | None:
    """The message of the first failure of a result."""
    failures = [result["error"]] if "error" in result else []
    failures += [
        item["$error"]
        for item in result.get("sequence", ())
        if isinstance(item, dict) and "$error" in item
    ]
    return f"{failures[0]['class']}: {failures[0].get('message', '')}" if failures else None


def file_name(type_id: str) -> str:
    """Name of the file that holds a version's record."""
    return f"{short_name(type_id).partition('@')[0]}.json.gz"


def read_records(folder: Path = FOLDER) -> dict[str, Record]:
    """All records by type id."""
    found: dict[str, Record] = {}
    for path in sorted(folder.glob("*.json.gz")):
        found.update(json.loads(gzip.decompress(path.read_bytes())))
    return found


def write_records(records: Mapping[str, Record], folder: Path = FOLDER) -> list[Path]:
    """Writes records, one file a family, the same bytes for the same records; returns the files
    that changed."""
    families: dict[str, dict[str, Record]] = {}
    for type_id, record in sorted(records.items()):
        families.setdefault(file_name(type_id), {})[type_id] = record
    folder.mkdir(parents=True, exist_ok=True)
    changed = []
    for name, family in families.items():
        text = json.dumps(family, sort_keys=True, separators=(",", ":"), ensure_ascii=False)
        packed = gzip.compress(text.encode(), mtime=0)
        path = folder / name
        if not path.is_file() or gzip.decompress(path.read_bytes()) != text.encode():
            path.write_bytes(packed)
            changed.append(path)
    return changed
