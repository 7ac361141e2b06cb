"""`weftlens blocks`: which blocks there are and what each takes and gives."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from rich.table import Table

from blocks.index import block_schema
from execution_engine.block_api.spec import BlockSpec, FieldSpec
from execution_engine.registry.registry import BlockRegistry
from workflows.cli.exit_codes import OK, PROBLEM
from workflows.cli.terminal import output_console, write, write_error, write_json
from workflows.session import Session

_LONGEST_DEFAULT = 40


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


def search_blocks(word: str) -> int:
    """Prints the blocks that have `word` in id, name, description or keywords; 1 when none has."""
    wanted = word.casefold()
    with Session() as session:
        registry = session.registry
        found = [spec for spec in registry.specs.values() if wanted in _searched(registry, spec)]
        unbuilt = [
            (type_id, title)
            for type_id, title in _unbuilt(registry)
            if wanted in f"{type_id} {title}".casefold()
        ]
        _print_groups(found)
        if unbuilt:
            write("\nKnown by name, not in this build")
            _print_rows((type_id, title, "") for type_id, title in unbuilt)
        if not found and not unbuilt:
            near = registry.nearest_types(word)
            hint = f"; nearest: {', '.join(near)}" if near else ""
            write_error(f"no block has '{word}' in its id, name, description or keywords{hint}")
            return PROBLEM
    return OK


def show_block(type_id: str, as_json: bool) -> int:
    """Prints the fields and outputs of a block; with JSON its schema. 1 for an unknown block."""
    with Session() as session:
        registry = session.registry
        spec = registry.spec(type_id)
        if spec is None:
            known = registry.known(type_id)
            if known is not None:
                write_error(f"{known.type_id} ({known.title}) is known, but not in this build")
            else:
                near = registry.nearest_types(type_id)
                hint = f"; nearest: {', '.join(near)}" if near else ""
                write_error(f"there is no block '{type_id}'{hint}")
            return PROBLEM
        schema = _schema(registry, spec)
        if as_json:
            write_json(schema)
            return OK
        _print_block(spec, schema)
    return OK


def _print_block(spec: BlockSpec, schema: Mapping[str, Any]) -> None:
    write(f"{spec.title}  {spec.type_id}")
    if spec.aliases:
        write(f"also called {', '.join(spec.aliases)}")
    text = str(schema.get("long_description") or spec.short_description).strip()
    if text:
        write(f"\n{text}")
    write("\nFields")
    for field in spec.fields.values():
        properties = schema.get("properties", {})
        described: Mapping[str, Any] = next(
            (properties[name] for name in field.aliases if name in properties), {}
        )
        write(f"  {field.aliases[0]}: {_taken(field, described)}")
        if len(field.aliases) > 1:
            write(f"      also called {', '.join(field.aliases[1:])}")
        if described.get("description"):
            write(f"      {described['description']}")
        if "inert" in described:
            write(f"      has no effect: {described['inert']}")
    if not spec.fields:
        write("  none")
    write("\nOutputs")
    for output in spec.outputs:
        write(f"  {output.name}: {' or '.join(output.kinds)}")
    if spec.dynamic_outputs:
        write("  more, as the fields of the step say")
    elif not spec.outputs:
        write("  none; it decides which steps run" if spec.is_control_flow else "  none")


def _taken(field: FieldSpec, described: Mapping[str, Any]) -> str:
    kinds = dict.fromkeys(kind for form in field.references for kind in form.kinds)
    parts = []
    if any(form.element == "step" for form in field.references):
        parts.append("steps to run")
    if kinds:
        parts.append(f"reference to {' or '.join(kinds)}")
    if field.accepts_literal:
        parts.append("value" if field.references else "value only")
    text = " or ".join(parts)
    if field.required:
        return f"{text}, required"
    default = repr(described.get("default"))
    if len(default) > _LONGEST_DEFAULT:
        default = f"{default[: _LONGEST_DEFAULT - 3]}..."
    return f"{text}, default {default}"


def _print_groups(specs: Iterable[BlockSpec]) -> None:
    groups: dict[str, list[BlockSpec]] = {}
    for spec in specs:
        groups.setdefault(spec.block_type or "other", []).append(spec)
    for number, (group, members) in enumerate(sorted(groups.items())):
        write(f"{'' if number == 0 else chr(10)}{group.replace('_', ' ')}")
        _print_rows((spec.type_id, spec.title, spec.short_description) for spec in members)


def _print_rows(rows: Iterable[tuple[str, str, str]]) -> None:
    table = Table(box=None, show_header=False, pad_edge=False, padding=(0, 2, 0, 0))
    for column in ("type", "title", "description"):
        table.add_column(column, overflow="fold", no_wrap=column == "type")
    for type_id, title, description in sorted(rows):
        table.add_row(f"  {type_id}", title, description)
    output_console().print(table)


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


def _schema(registry: BlockRegistry, spec: BlockSpec) -> dict[str, Any]:
    try:
        return block_schema(spec.type_id)
    except KeyError:  # a block of another plug-in
        return registry.load(spec.type_id).manifest.model_json_schema()


def _searched(registry: BlockRegistry, spec: BlockSpec) -> str:
    keywords = _schema(registry, spec).get("search_keywords", ())
    parts = (spec.type_id, *spec.aliases, spec.title, spec.short_description, *map(str, keywords))
    return " ".join(parts).casefold()
