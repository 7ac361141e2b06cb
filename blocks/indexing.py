"""Generates `index.json` and one JSON schema a block.

Run `python -m blocks.indexing` after a manifest changed; `--check` only says whether the files are
current.
"""

from __future__ import annotations

import importlib
import json
import pkgutil
import sys
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

from blocks.index import INDEX_FILE, SCHEMAS_FOLDER, schema_file_name
from execution_engine.block_api.block import WorkflowBlock
from execution_engine.block_api.digest import digest_block, digest_siblings
from execution_engine.kinds.representation import NUMPY
from execution_engine.registry.init_parameters import CORE_SOURCE

ROOT = Path(__file__).parent


def find_blocks() -> Iterator[type[WorkflowBlock]]:
    """Every block class of this package that has a manifest of its own, by module name."""
    import blocks

    for module_info in sorted(
        pkgutil.walk_packages(blocks.__path__, "blocks."), key=lambda info: info.name
    ):
        module = importlib.import_module(module_info.name)
        for value in vars(module).values():
            if (
                isinstance(value, type)
                and issubclass(value, WorkflowBlock)
                and value.__module__ == module.__name__
                and "get_manifest" in vars(value)
                and not getattr(value.run, "__isabstractmethod__", False)
            ):
                yield value


def find_siblings(block: type[WorkflowBlock]) -> list[type[WorkflowBlock]]:
    """Classes that do a block's work in another representation: those in the modules beside it
    that are named like its own and `_<representation>`.
    """
    folder = Path(sys.modules[block.__module__].__file__ or "").parent
    name = block.__module__.rsplit(".", 1)[-1]
    found = []
    for path in sorted(folder.glob(f"{name}_*.py")):
        module = importlib.import_module(f"{block.__module__.rpartition('.')[0]}.{path.stem}")
        found += [
            value
            for value in vars(module).values()
            if isinstance(value, type)
            and issubclass(value, block)
            and value.__module__ == module.__name__
            and value.representation != NUMPY
        ]
    return found


def generated_files() -> dict[str, str]:
    """Text of every generated file by its path below this package."""
    specs: dict[str, Any] = {}
    texts: dict[str, str] = {}
    for block in find_blocks():
        spec = digest_block(block, CORE_SOURCE)
        spec = replace(spec, siblings=digest_siblings(block, find_siblings(block)))
        if spec.type_id in specs:
            raise ValueError(f"two blocks have the type {spec.type_id}")
        specs[spec.type_id] = spec.to_dict()
        schema = block.get_manifest().model_json_schema()
        for name, reason in spec.inert_fields.items():
            for alias in spec.fields[name].aliases:
                if alias in schema["properties"]:
                    schema["properties"][alias]["inert"] = reason
        texts[f"{SCHEMAS_FOLDER}/{schema_file_name(spec.type_id)}"] = _json(schema)
    texts[INDEX_FILE] = json.dumps(dict(sorted(specs.items())), separators=(",", ":")) + "\n"
    return texts


def stale_files() -> list[str]:
    """Paths of generated files that differ from what the code gives, and of files nothing generates
    any more.
    """
    texts = generated_files()
    stale = [
        path
        for path, text in texts.items()
        if not (ROOT / path).is_file() or (ROOT / path).read_text(encoding="utf-8") != text
    ]
    present = {f"{SCHEMAS_FOLDER}/{path.name}" for path in (ROOT / SCHEMAS_FOLDER).glob("*.json")}
    return sorted({*stale, *(present - texts.keys())})


def write_files() -> None:
    """Brings every generated file up to date."""
    texts = generated_files()
    (ROOT / SCHEMAS_FOLDER).mkdir(exist_ok=True)
    for path in (ROOT / SCHEMAS_FOLDER).glob("*.json"):
        if f"{SCHEMAS_FOLDER}/{path.name}" not in texts:
            path.unlink()
    for path_text, text in texts.items():
        (ROOT / path_text).write_text(text, encoding="utf-8")


def main(arguments: list[str]) -> int:
    """Writes the files, or with `--check` lists the stale ones and fails when there are any."""
    if "--check" in arguments:
        stale = stale_files()
        if stale:
            sys.stderr.write(f"stale: {', '.join(stale)}\nrun: python -m blocks.indexing\n")
        return 1 if stale else 0
    write_files()
    return 0


def _json(data: Any) -> str:
    return json.dumps(data, indent=1, ensure_ascii=False) + "\n"


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
