"""`weftlens upgrade` and `weftlens blocks diff`: what newer versions of blocks change."""

from __future__ import annotations

import json
import shlex
import textwrap
from collections.abc import Iterator, Sequence
from itertools import zip_longest
from pathlib import Path

from execution_engine.block_api.spec import BlockSpec
from execution_engine.errors import WorkflowError
from execution_engine.registry.registry import BlockRegistry
from workflows.cli.blocks import find_block
from workflows.cli.exit_codes import OK, PROBLEM, USAGE
from workflows.cli.lock import counted
from workflows.cli.run_inputs import UsageError
from workflows.cli.terminal import error_text, problems_text, write, write_error, write_json
from workflows.files import write_whole
from workflows.inspection import inspect_definition
from workflows.loading import load_definition, read_json
from workflows.locking.errors import LockDriftError
from workflows.locking.lock_file import is_lock_path, lock_path
from workflows.session import Session
from workflows.upgrading.changes import Change
from workflows.upgrading.upgrade import StepUpgrade, Upgrade, compare_versions, plan_upgrade
from workflows.upgrading.versions import change_line, versions_of

# Of the three columns, in characters.
_WIDEST = (48, 36, 36)


def upgrade_command(
    path: Path, names: Sequence[str], target: str | None, settings: Sequence[str], write_it: bool
) -> int:
    """Shows the upgrade of a workflow and, when asked, rewrites its file; gives the exit code: 1
    when it cannot be written as it stands, 2 for wrong usage.
    """
    with Session() as session:
        try:
            if is_lock_path(path):
                raise UsageError(f"'{path}' is a lock; name the workflow")
            definition = read_json(path)  # whose words on bad JSON are better
            values = parse_settings(settings, _step_names(definition, session.registry))
            text = path.read_bytes().decode("utf-8")
            upgrade = plan_upgrade(session.registry, text, names, target, values)
        except UsageError as error:
            write_error(f"weftlens upgrade: {error}")
            return USAGE
        except WorkflowError as error:
            write_error(error_text(path.name, error))
            return PROBLEM
    write(upgrade_text(path.name, upgrade))
    if not upgrade.steps:
        return OK
    return _finish(path, upgrade, write_it)


def _finish(path: Path, upgrade: Upgrade, write_it: bool) -> int:
    if upgrade.needs_values or upgrade.problems:
        if upgrade.problems:
            write("\n" + problems_text(f"{path.name}, upgraded", list(upgrade.problems)))
            write("--set STEP.FIELD=VALUE gives a field of an upgraded step another value.")
        write_error(f"weftlens upgrade: {path} is left as it is")
        return PROBLEM
    if not write_it:
        write(f"\n{path} is left as it is; --write rewrites it.")
        return OK
    try:
        write_whole(path, upgrade.text.encode("utf-8"))
    except OSError as error:
        write_error(f"weftlens upgrade: '{path}' cannot be written: {error.strerror or error}")
        return PROBLEM
    write(f"\n{path} is rewritten.")
    lock_file = lock_path(path)
    if lock_file.exists():
        write(f"Its lock does not hold any more; make a new one: {_lock_command(path, lock_file)}")
    return OK


def _lock_command(path: Path, lock_file: Path) -> str:
    """The command that makes the lock anew, with the models that it allows."""
    with Session() as session:
        try:
            session.locks.check(
                load_definition(path).definition, lock_file, workflow_name=str(path)
            )
        except LockDriftError as error:
            return error.accept
        except WorkflowError:  # the lock cannot be read, or the workflow had problems before
            pass
    return shlex.join(["weftlens", "lock", str(path)])


def diff_command(old_id: str, new_id: str, as_json: bool) -> int:
    """Prints what differs between two versions of a block; 1 for an unknown one."""
    with Session() as session:
        registry = session.registry
        specs = []
        for type_id in (old_id, new_id):
            spec = find_block(registry, type_id)
            if spec is None:
                return PROBLEM
            specs.append(spec)
        old, new = specs
        changes = compare_versions(registry, old, new)
        between = lines_between(registry, old, new)
        if as_json:
            write_json(
                {
                    "old": old.type_id,
                    "new": new.type_id,
                    "versions": between,
                    "changes": [change.to_dict() for change in changes],
                }
            )
            return OK
        write(f"{old.type_id} -> {new.type_id}")
        for version, line in between.items():
            if line:
                write(f"  {version}: {line}")
        names = (old.version, new.version)
        if not all(names) or names[0] == names[1]:
            names = ("old", "new")
        write("")
        for row in change_table(changes, *names):
            write(f"  {row}")
        if not changes:
            write("  Fields and outputs are the same.")
    return OK


def lines_between(registry: BlockRegistry, old: BlockSpec, new: BlockSpec) -> dict[str, str]:
    """The lines of the change log on the way from an older version to a newer one; none when they
    are of different blocks or the way goes back.
    """
    versions = versions_of(registry, new)
    if old not in versions:
        return {}
    way = versions[versions.index(old) + 1 : versions.index(new) + 1]
    return {spec.version: change_line(registry, spec) for spec in way}


def parse_settings(texts: Sequence[str], steps: Sequence[str]) -> dict[tuple[str | None, str], str]:
    """JSON texts by step (None for any) and field from `[step.]field=value`; a value that is no
    JSON is text.

    Raises:
        UsageError: a text has no `=` or no field.
    """
    values: dict[tuple[str | None, str], str] = {}
    for text in texts:
        place, equals, value = text.partition("=")
        if not equals or not place:
            raise UsageError(f"--set takes [STEP.]FIELD=VALUE, got '{text}'")
        step = next((name for name in steps if place.startswith(f"{name}.")), None)
        field = place if step is None else place[len(step) + 1 :]
        try:
            json.loads(value)
        except (ValueError, RecursionError):
            value = json.dumps(value, ensure_ascii=False)
        values[step, field] = value
    return values


def upgrade_text(name: str, upgrade: Upgrade) -> str:
    """What an upgrade changes, as text."""
    count = len(upgrade.steps)
    skipped = [
        f"{step}: its inner workflow is not looked into; it cannot be read or is stored elsewhere"
        for step in upgrade.not_entered
    ]
    if not count:
        first = f"{name}: no step has a newer version ({counted(upgrade.step_count, 'step')})"
        return "\n".join([first, *skipped])
    lines = [f"{name}: {count} of {counted(upgrade.step_count, 'step')} can go to a newer version"]
    for step in upgrade.steps:
        lines += ["", *_step_lines(step)]
    if skipped:
        lines += ["", *skipped]
    diff = upgrade.diff()
    if diff:
        lines += ["", "The file", *(f"  {line}" for line in diff)]
    return "\n".join(lines)


def _step_lines(step: StepUpgrade) -> Iterator[str]:
    first, last = step.hops[0].old, step.hops[-1].new
    yield f"{step.name}: {first.type_id} -> {last.version}"
    for hop in step.hops:
        yield ""
        yield f"  {hop.old.version} -> {hop.new.version}  {hop.line}".rstrip()
        rows = change_table(hop.changes, hop.old.version, hop.new.version)
        yield from (f"    {row}" for row in rows)
        if not hop.changes:
            yield "    Fields and outputs are the same."
    yield ""
    yield "  The step"
    yield from (f"    {text}" for text in step.done)
    if step.notes:
        yield "  Look at"
        yield from (f"    {text}" for text in step.notes)
    if step.needed:
        yield "  Needed"
        for field, description in step.needed.items():
            what = f" ({description})" if description else ""
            yield f"    {field}{what}: give it with --set {step.name}.{field}=VALUE"


def change_table(changes: Sequence[Change], before: str, after: str) -> list[str]:
    """Differences as the lines of a table, whose cells are broken between words.

    Args:
        changes: the differences; none gives no table.
        before: head of the column of the old version.
        after: head of the column of the new one.
    """
    if not changes:
        return []
    rows = [("what", before, after), *((one.subject, one.before, one.after) for one in changes)]
    cells = [
        [_wrapped(cell, width) for cell, width in zip(row, _WIDEST, strict=True)] for row in rows
    ]
    widths = [max(len(line) for row in cells for line in row[i]) for i in (0, 1)]
    return [
        f"{subject:<{widths[0]}}  {old:<{widths[1]}}  {new}".rstrip()
        for row in cells
        for subject, old, new in zip_longest(*row, fillvalue="")
    ]


def _wrapped(text: str, width: int) -> list[str]:
    return textwrap.wrap(text, width, break_long_words=False, break_on_hyphens=False) or [""]


def _step_names(definition: object, registry: BlockRegistry) -> list[str]:
    """Names of the steps, longest first: one may be the beginning of another."""
    names = [step.name for step in inspect_definition(definition, registry).steps]
    return sorted(names, key=len, reverse=True)
