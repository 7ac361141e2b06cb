"""What can be said of a definition without running it, also when parts of it are wrong or missing.
Text and pictures are made elsewhere.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Literal

from execution_engine.compiler.compiler import find_problems, inspect_graph
from execution_engine.compiler.graph import Graph
from execution_engine.definition.json_pointer import pointer_part
from execution_engine.definition.model import Definition
from execution_engine.definition.references import (
    Reference,
    did_you_mean,
    is_reference,
    parse_reference,
)
from execution_engine.errors import (
    NotSupportedExecutionEngineError,
    Problem,
    WorkflowDefinitionError,
)
from execution_engine.registry.registry import BlockRegistry
from execution_engine.versions import ENGINE_VERSION, check_requested_version

StepStatus = Literal["ok", "faulty", "not_in_build", "unknown"]


@dataclass(frozen=True, slots=True)
class FieldUse:
    """One field of a step as written: the references in it, or the literal when there are none."""

    name: str
    value: Any
    references: tuple[Reference, ...]


@dataclass(frozen=True, slots=True)
class StepView:
    """One step as far as it can be understood.

    Attributes:
        name: name of the step.
        type: block type as written, empty when there is none.
        title: name of the block for people, empty when unknown.
        status: `ok`; `faulty` (the block is there, the step has problems); `not_in_build` (the
            block is known by name only); `unknown`.
        fields: the fields as written, without `type` and `name`.
        outputs: names and kinds of the outputs; None when they cannot be known.
        where: JSON pointer.
    """

    name: str
    type: str
    title: str
    status: StepStatus
    fields: tuple[FieldUse, ...]
    outputs: Mapping[str, tuple[str, ...]] | None
    where: str

    @property
    def references(self) -> Iterator[tuple[str, Reference]]:
        """Every reference with the field it stands in."""
        for field in self.fields:
            for reference in field.references:
                yield field.name, reference


@dataclass(frozen=True, slots=True)
class MissingBlock:
    """A block type that steps use and that is not there.

    Attributes:
        type: the type id as written.
        steps: names of the steps that use it.
        plugin: prefix of the type id, which names the plug-in that had it; empty when it has none.
        plugin_installed: whether blocks with that prefix are there.
        known: whether the block is known by name, only not part of this build.
        nearest: known types that look most like it.
    """

    type: str
    steps: tuple[str, ...]
    plugin: str
    plugin_installed: bool
    known: bool
    nearest: tuple[str, ...]

    def __str__(self) -> str:
        steps = f"step{'s' if len(self.steps) > 1 else ''} {', '.join(self.steps)}"
        if self.known:
            reason = "known by name, not in this build"
        elif self.plugin and not self.plugin_installed:
            reason = f"unknown; its plug-in '{self.plugin}' is not installed"
        else:
            reason = "unknown"
        near = f"; nearest: {', '.join(self.nearest)}" if self.nearest else ""
        return f"{self.type} ({steps}): {reason}{near}"


@dataclass(frozen=True, slots=True)
class Inspection:
    """A definition taken apart.

    Attributes:
        definition: the typed parts whose outer shape is right.
        graph: names, references and order, as far as they hold.
        steps: one view a step, in definition order.
        problems: everything that is wrong, earliest phase first.
    """

    definition: Definition
    graph: Graph
    steps: tuple[StepView, ...]
    problems: tuple[Problem, ...]


def inspect_definition(definition: Any, registry: BlockRegistry) -> Inspection:
    """Takes a definition apart; nothing in it makes this raise."""
    parsed, graph, _ = inspect_graph(definition, registry)
    problems = all_problems(definition, registry)
    faulty = {problem.block_id for problem in problems}
    steps = []
    for node in graph.nodes:
        declared, spec = node.step.declaration, node.step.spec
        known = registry.known(declared.type)
        status: StepStatus
        if spec is not None:
            status = "faulty" if declared.name in faulty else "ok"
        else:
            status = "unknown" if known is None else "not_in_build"
        title = spec.title if spec is not None else (known.title if known is not None else "")
        literal_only: set[str] = set()
        if spec is not None:
            literal_only = {
                alias
                for field in spec.fields.values()
                if not field.references
                for alias in field.aliases
            }
        outputs = node.step.outputs
        steps.append(
            StepView(
                declared.name,
                declared.type,
                title,
                status,
                tuple(
                    FieldUse(
                        key, value, () if key in literal_only else tuple(_references_in(value))
                    )
                    for key, value in declared.body.items()
                    if key not in ("type", "name")
                ),
                None
                if outputs is None
                else {name: output.kinds for name, output in outputs.items()},
                declared.where,
            )
        )
    return Inspection(parsed, graph, tuple(steps), tuple(problems))


def unknown_fields(inspection: Inspection, registry: BlockRegistry) -> list[Problem]:
    """Fields of steps that their blocks do not have. A run ignores them, as editors keep notes in
    them; a misspelt optional field is ignored in the same way.
    """
    problems = []
    for step in inspection.steps:
        spec = registry.spec(step.type)
        if spec is None:
            continue
        known = {alias for field in spec.fields.values() for alias in field.aliases}
        for field in step.fields:
            if field.name not in known:
                problems.append(
                    Problem(
                        "unknown_field",
                        f"Step '{step.name}' has the field '{field.name}', which "
                        f"{spec.type_id} does not know; a run ignores it.",
                        f"{step.where}/{pointer_part(field.name)}",
                        did_you_mean(field.name, known),
                        step.name,
                        step.type,
                        field.name,
                    )
                )
    return problems


def all_problems(definition: Any, registry: BlockRegistry) -> list[Problem]:
    """Every problem of a definition, a version that cannot be served among them."""
    version = definition.get("version") if isinstance(definition, Mapping) else None
    first: list[Problem] = []
    if isinstance(version, str):
        try:
            check_requested_version(version)
        except WorkflowDefinitionError as error:
            first = [Problem("invalid_version", error.public_message, "/version")]
        except NotSupportedExecutionEngineError as error:
            first = [Problem("unsupported_version", error.public_message, "/version")]
        if first:
            # The rest is checked as if it asked for our version, so that all problems come at once.
            definition = {**definition, "version": ENGINE_VERSION}
    return [*first, *find_problems(definition, registry)]


def missing_blocks(inspection: Inspection, registry: BlockRegistry) -> list[MissingBlock]:
    """Every type that is not there, once each, in the order of the steps."""
    users: dict[str, list[str]] = {}
    for step in inspection.steps:
        if step.type and step.status in ("not_in_build", "unknown"):
            users.setdefault(step.type, []).append(step.name)
    installed = {_prefix(type_id) for type_id in registry.specs}
    missing = []
    for type_id, steps in users.items():
        known = registry.known(type_id) is not None
        plugin = _prefix(type_id)
        missing.append(
            MissingBlock(
                type_id,
                tuple(steps),
                plugin,
                plugin in installed,
                known,
                () if known else tuple(registry.nearest_types(type_id)),
            )
        )
    return missing


def _prefix(type_id: str) -> str:
    return type_id.split("/", 1)[0] if "/" in type_id else ""


def _references_in(value: Any) -> Iterator[Reference]:
    """References in a value of JSON at any depth."""
    if isinstance(value, str):
        reference = parse_reference(value) if is_reference(value) else None
        if reference is not None:
            yield reference
    elif isinstance(value, Mapping):
        for item in value.values():
            yield from _references_in(item)
    elif isinstance(value, list):
        for item in value:
            yield from _references_in(item)
