"""`weftlens blocks`: which blocks there are and what each takes and gives."""

from __future__ import annotations

import sys
from collections.abc import Iterable
from typing import Any

from rich.table import Table

from execution_engine.block_api.digest import VERSION_SUFFIX
from execution_engine.block_api.spec import BlockSpec
from execution_engine.registry.registry import BlockRegistry
from workflows.cli.block_text import block_text, nearest_hint
from workflows.cli.exit_codes import OK, PROBLEM
from workflows.cli.terminal import output_console, write, write_error, write_json
from workflows.published_schemas import published_schema
from workflows.session import Session
from workflows.upgrading.versions import number_of, versions_of

_NARROWEST_TABLE = 100


def list_blocks(every: bool, as_json: bool) -> int:
    """Prints all blocks by group; `every` adds those known by name only."""
    with Session() as session:
        registry = session.registry
        specs = list(registry.specs.values())
        unbuilt = _unbuilt(registry) if every else []
        if as_json:
            write_json(
                [_summary(spec) for spec in specs]
                + [{"type": type_id, "title": title, "built": False} for type_id, title in unbuilt]
            )
            return OK
        _print_groups(specs)
        if unbuilt:
            write("\nKnown by name, not in this build")
            _print_rows((type_id, title, "") for type_id, title in unbuilt)
        not_built = len(_unbuilt(registry))
        write(
            f"\n{len(specs)} blocks"
            + (f"; {not_built} more are known by name, not in this build" if not_built else "")
        )
    return OK


def search_blocks(text: str) -> int:
    """Prints the blocks that have every word of `text`, in any order, in id, name, description or
    keywords; 1 when none has.
    """
    words = text.casefold().split()
    with Session() as session:
        registry = session.registry
        found = [
            spec for spec in registry.specs.values() if _has_all(words, _searched(registry, spec))
        ]
        unbuilt = [
            (type_id, title)
            for type_id, title in _unbuilt(registry)
            if _has_all(words, f"{type_id} {title}".casefold())
        ]
        _print_groups(found)
        if unbuilt:
            write("\nKnown by name, not in this build")
            _print_rows((type_id, title, "") for type_id, title in unbuilt)
        if not found and not unbuilt:
            hint = nearest_hint(registry, text)
            write_error(f"no block has '{text}' in its id, name, description or keywords{hint}")
            return PROBLEM
    return OK


def show_block(type_id: str, as_json: bool) -> int:
    """Prints the fields and outputs of a block; with JSON its schema. 1 for an unknown block.

    Args:
        type_id: id or alias; also a name without plug-in; without a version, for the newest
            version of the one block that has it.
        as_json: print the schema.
    """
    with Session() as session:
        registry = session.registry
        spec = find_block(registry, type_id)
        if spec is None:
            return PROBLEM
        schema = published_schema(registry, spec)
        if as_json:
            write_json(schema)
            return OK
        others = [one.type_id for one in reversed(versions_of(registry, spec)) if one is not spec]
        write(block_text(spec, schema, others))
    return OK


def find_block(registry: BlockRegistry, type_id: str) -> BlockSpec | None:
    """The block of an id, an alias or a name (see `show_block`); None, with a line on stderr that
    says why, when there is not exactly one.
    """
    spec = registry.spec(type_id)
    if spec is not None:
        return spec
    fitting = _newest_by_name(registry, type_id)
    if len(fitting) == 1:
        return fitting[0]
    known = registry.known(type_id)
    if fitting:
        names = ", ".join(sorted(one.type_id for one in fitting))
        write_error(f"several blocks are named like '{type_id}': {names}")
    elif known is not None:
        write_error(f"{known.type_id} ({known.title}) is known, but not in this build")
    else:
        write_error(f"there is no block '{type_id}'{nearest_hint(registry, type_id)}")
    return None


def _print_groups(specs: Iterable[BlockSpec]) -> None:
    groups: dict[str, list[BlockSpec]] = {}
    for spec in specs:
        groups.setdefault(spec.block_type or "other", []).append(spec)
    for number, (group, members) in enumerate(sorted(groups.items())):
        write(f"{'' if number == 0 else chr(10)}{group.replace('_', ' ')}")
        _print_rows((spec.type_id, spec.title, spec.short_description) for spec in members)


def _print_rows(rows: Iterable[tuple[str, str, str]]) -> None:
    console = output_console()
    if not sys.stdout.isatty() or console.width < _NARROWEST_TABLE:
        # One line a block: programs read lines, and narrow columns would break words.
        for type_id, title, description in sorted(rows):
            write(f"  {type_id}  {description or title}")
        return
    table = Table(box=None, show_header=False, pad_edge=False, padding=(0, 2, 0, 0))
    for column in ("type", "title", "description"):
        table.add_column(column, overflow="fold", no_wrap=column == "type")
    for type_id, title, description in sorted(rows):
        table.add_row(f"  {type_id}", title, description)
    console.print(table)


def _newest_by_name(registry: BlockRegistry, name: str) -> list[BlockSpec]:
    """The newest version of each block whose id without plug-in and version, or else title, is
    `name`; when there is none, of each whose id holds all its words. With a version, that one.
    """
    if VERSION_SUFFIX.search(name):
        short = name.strip()
        return [one for one in registry.specs.values() if one.type_id.endswith(f"/{short}")]
    wanted = VERSION_SUFFIX.sub("", name.strip()).casefold().replace(" ", "_").replace("-", "_")
    if not wanted:
        return []
    newest: dict[str, BlockSpec] = {}
    for spec in registry.specs.values():
        family = VERSION_SUFFIX.sub("", spec.type_id)
        if family not in newest or number_of(spec) > number_of(newest[family]):
            newest[family] = spec
    exact = [
        spec
        for family, spec in newest.items()
        if wanted in (family, spec.family.casefold(), spec.title.casefold().replace(" ", "_"))
    ]
    if exact or "/" in wanted:
        return exact
    words = [word for word in wanted.split("_") if word]
    return [spec for spec in newest.values() if _has_all(words, spec.family.casefold())]


def _has_all(words: Iterable[str], text: str) -> bool:
    return all(word in text for word in words)


def _unbuilt(registry: BlockRegistry) -> list[tuple[str, str]]:
    """Id and title of the blocks known by name only."""
    blocks = {known.type_id: known for known in registry.known_blocks.values()}
    return [
        (type_id, known.title)
        for type_id, known in sorted(blocks.items())
        if registry.spec(type_id) is None
    ]


def _summary(spec: BlockSpec) -> dict[str, Any]:
    return {
        "type": spec.type_id,
        "aliases": list(spec.aliases),
        "title": spec.title,
        "group": spec.block_type,
        "description": spec.short_description,
        "source": spec.source,
        "built": True,
    }


def _searched(registry: BlockRegistry, spec: BlockSpec) -> str:
    keywords = published_schema(registry, spec).get("search_keywords", ())
    parts = (spec.type_id, *spec.aliases, spec.title, spec.short_description, *map(str, keywords))
    return " ".join(parts).casefold()
