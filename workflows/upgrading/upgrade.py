"""Plans the upgrade of a workflow: for each step the versions on its way, what each changes, and
the rewritten text. Reads and writes no file and prints nothing.
"""

from __future__ import annotations

import difflib
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from itertools import pairwise

from execution_engine.block_api.spec import BlockSpec
from execution_engine.definition.model import INNER_WORKFLOW_TYPE
from execution_engine.definition.references import did_you_mean
from execution_engine.errors import Problem, WorkflowError
from execution_engine.registry.registry import BlockRegistry
from workflows.inspection import Inspection, all_problems, inspect_definition
from workflows.published_schemas import published_schema
from workflows.upgrading.changes import Change, find_changes
from workflows.upgrading.rewriting import StepRewriting
from workflows.upgrading.versions import change_line, versions_of

_BYTE_ORDER_MARK = "\ufeff"


class UpgradeError(WorkflowError):
    """An upgrade that was asked for cannot be: no such step, version or field."""

    def __init__(self, message: str) -> None:
        super().__init__(message, "workflow_upgrade")


@dataclass(frozen=True, slots=True)
class Hop:
    """One version to the next: its line of the change log and every difference."""

    old: BlockSpec
    new: BlockSpec
    line: str
    changes: tuple[Change, ...]


@dataclass(frozen=True, slots=True)
class StepUpgrade:
    """One step that goes over to another version.

    Attributes:
        name: name of the step; one of an inner workflow has its name in the whole, `outer__step`.
        where: JSON pointer to it.
        hops: the versions on its way.
        done: what the rewriting changes, in words.
        notes: what a person must look at.
        needed: required fields without a value, with their descriptions.
    """

    name: str
    where: str
    hops: tuple[Hop, ...]
    done: tuple[str, ...]
    notes: tuple[str, ...]
    needed: Mapping[str, str]


@dataclass(frozen=True, slots=True)
class Upgrade:
    """The upgrade of a workflow.

    Attributes:
        text: the rewritten JSON text.
        steps: the steps that change, in definition order.
        problems: what is wrong with the rewritten workflow and was not wrong before; not looked for
            as long as values are needed.
        step_count: how many steps the workflow has, those of inner workflows among them.
        not_entered: names of the steps whose inner workflows were not looked into: they cannot be
            read, or are not in the text.
        before: the text as it was.
    """

    text: str
    steps: tuple[StepUpgrade, ...]
    problems: tuple[Problem, ...]
    step_count: int
    not_entered: tuple[str, ...] = ()
    before: str = field(repr=False, default="")

    @property
    def needs_values(self) -> bool:
        """Whether fields lack values that nobody but the user knows."""
        return any(step.needed for step in self.steps)

    def diff(self) -> list[str]:
        """The lines that change, as a unified diff without its head."""
        lines = difflib.unified_diff(
            self.before.splitlines(), self.text.splitlines(), n=1, lineterm=""
        )
        return list(lines)[2:]


def plan_upgrade(
    registry: BlockRegistry,
    text: str,
    names: Sequence[str] = (),
    target: str | None = None,
    values: Mapping[tuple[str | None, str], str] | None = None,
) -> Upgrade:
    """What an upgrade of a workflow changes.

    Args:
        registry: the blocks there are.
        text: JSON text of the workflow.
        names: steps to upgrade, those of an inner workflow as `outer__step` or all by `outer`;
            every step with a newer version when empty.
        target: version to go to, such as `v4`; the newest when None.
        values: JSON texts of fields by step name (None for any step) and field.

    Raises:
        ValueError: the text is no JSON.
        UpgradeError: there is no such step, version, or field.
    """
    definition = json.loads(text.removeprefix(_BYTE_ORDER_MARK))
    inspection = inspect_definition(definition, registry)
    known = [step.name for step in inspection.steps]
    groups = inspection.definition.groups
    for name in names:
        if name not in known and name not in groups:
            hint = did_you_mean(name, [*known, *groups])
            raise UpgradeError(
                f"The workflow has no step '{name}'; it has {', '.join(known) or 'none'}"
                f"{f' ({hint})' if hint else ''}."
            )
    names = [one for name in names for one in (groups[name].steps if name in groups else [name])]
    ways = _ways(registry, inspection, names, target)
    rewritten = text
    steps = []
    unused = dict(values or {})
    for where, name, written, way in ways:
        hops = tuple(_hop(registry, old, new) for old, new in pairwise(way))
        rewriting = StepRewriting(rewritten, where, name)
        rewriting.done.append(f"type {written} becomes {way[-1].type_id}")
        for hop in hops:
            rewriting.advance(
                hop.old,
                hop.new,
                published_schema(registry, hop.old),
                published_schema(registry, hop.new),
            )
        last = way[-1]
        rewriting.fill(last, _own_values(values or {}, unused, name, last))
        rewriting.find_needed(last, published_schema(registry, last))
        rewritten = rewriting.text
        steps.append(
            StepUpgrade(
                name,
                where,
                hops,
                tuple(rewriting.done),
                tuple(rewriting.notes),
                rewriting.needed,
            )
        )
    if unused:
        given = ", ".join(f"{step}.{field}" if step else field for step, field in unused)
        raise UpgradeError(f"No step that is upgraded has the field {given}.")
    problems: tuple[Problem, ...] = ()
    if steps and not any(step.needed for step in steps):
        problems = _new_problems(registry, definition, rewritten)
    not_entered = tuple(
        step.name
        for step in inspection.steps
        if step.type == INNER_WORKFLOW_TYPE and (not names or step.name in names)
    )
    return Upgrade(rewritten, tuple(steps), problems, len(known), not_entered, text)


def compare_versions(registry: BlockRegistry, old: BlockSpec, new: BlockSpec) -> list[Change]:
    """Every difference between two blocks of a registry."""
    return find_changes(old, new, published_schema(registry, old), published_schema(registry, new))


def _hop(registry: BlockRegistry, old: BlockSpec, new: BlockSpec) -> Hop:
    changes = tuple(compare_versions(registry, old, new))
    return Hop(old, new, change_line(registry, new), changes)


def _ways(
    registry: BlockRegistry, inspection: Inspection, names: Sequence[str], target: str | None
) -> list[tuple[str, str, str, list[BlockSpec]]]:
    """Place, name, type as written and versions on the way of each step to upgrade."""
    ways = []
    for step in inspection.steps:
        if names and step.name not in names:
            continue
        spec = registry.spec(step.type)
        if spec is None:
            if names:
                raise UpgradeError(f"Step '{step.name}': there is no block '{step.type}'.")
            continue
        versions = versions_of(registry, spec)
        newer = versions[versions.index(spec) :]
        if target is not None:
            reached = [i for i, one in enumerate(newer) if one.version == target]
            if not reached and names:
                there = ", ".join(one.version for one in newer[1:]) or "none"
                raise UpgradeError(
                    f"Step '{step.name}' cannot go from {spec.type_id} to {target}: newer versions "
                    f"are {there}."
                )
            newer = newer[: reached[0] + 1] if reached else []
        if len(newer) > 1:
            ways.append((step.where, step.name, step.type, newer))
    if target is not None and not names and not ways:
        raise UpgradeError(f"No step has a block with a newer version {target}.")
    return ways


def _own_values(
    values: Mapping[tuple[str | None, str], str],
    unused: dict[tuple[str | None, str], str],
    name: str,
    spec: BlockSpec,
) -> dict[str, str]:
    """The values that belong to a step; what is used is taken out of `unused`."""
    names = {alias: form.name for form in spec.fields.values() for alias in form.aliases}
    own = {}
    for (step, alias), value in values.items():
        if step == name and alias not in names:
            hint = did_you_mean(alias, names)
            raise UpgradeError(
                f"{spec.type_id} has no field '{alias}'{f' ({hint})' if hint else ''}."
            )
        if step in (name, None) and alias in names:
            own[names[alias]] = value
            unused.pop((step, alias), None)
    return own


def _new_problems(
    registry: BlockRegistry, definition: object, rewritten: str
) -> tuple[Problem, ...]:
    before = {(problem.code, problem.message) for problem in all_problems(definition, registry)}
    after = all_problems(json.loads(rewritten.removeprefix(_BYTE_ORDER_MARK)), registry)
    return tuple(one for one in after if (one.code, one.message) not in before)
