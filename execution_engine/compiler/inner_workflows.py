"""Puts the steps of inner workflows in the place of the steps that stand for them. Where references
lead is found in `inner_references`; whether the steps fit together is decided on the whole.

Step `b` of the inner workflow `n` becomes the step `n__b`. References are rewritten where a block
takes one, so texts that only look like references stay. Parts keep the place they were written at.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import replace
from typing import Any

from pydantic import ValidationError

from execution_engine.block_api.spec import FieldSpec
from execution_engine.compiler.graph import OUTPUTS_BLOCK_ID, check_names
from execution_engine.compiler.inner_references import (
    BINDINGS,
    NOTHING,
    InnerReferences,
    Scope,
    Site,
)
from execution_engine.definition.json_pointer import pointer_part
from execution_engine.definition.model import (
    INNER_WORKFLOW_TYPE,
    Definition,
    OutputDeclaration,
    StepDeclaration,
    StepGroup,
)
from execution_engine.definition.parser import describe, parse_definition
from execution_engine.definition.problems import ProblemList
from execution_engine.definition.references import STEP, STEP_OUTPUT, is_reference, parse_reference
from execution_engine.errors import (
    ExecutionGraphStructureError,
    NotSupportedExecutionEngineError,
    PluginLoadingError,
    WorkflowDefinitionError,
    WorkflowSyntaxError,
)
from execution_engine.registry.registry import BlockRegistry
from execution_engine.versions import check_requested_version

DEEPEST = 4
MOST = 32
_DEFINITION = "workflow_definition"
_SEPARATOR = "__"
_NOT_IN_A_NAME = re.compile(r"[^A-Za-z_0-9\-]")


def embed_inner_workflows(
    definition: Definition, registry: BlockRegistry, problems: ProblemList
) -> Definition:
    """The definition with the steps of its inner workflows among its own.

    An inner workflow that cannot be understood stays a step, so that what refers to it is not
    blamed. They lie at most `DEEPEST` deep in each other, and there are at most `MOST`.

    Args:
        definition: the typed parts.
        registry: says which fields of a step take references.
        problems: where faults go, at the places where they were written.
    """
    if all(step.type != INNER_WORKFLOW_TYPE for step in definition.steps):
        return definition
    return _Embedding(definition, registry, problems).result()


class _Embedding:
    """One pass over a definition."""

    def __init__(
        self, definition: Definition, registry: BlockRegistry, problems: ProblemList
    ) -> None:
        self._top = Scope(definition)
        self._registry = registry
        self._problems = problems
        self._taken = {step.name for step in definition.steps}
        self._given: set[str] = set()
        self._references = InnerReferences(self._top, self._given, problems)
        self._groups: dict[str, StepGroup] = {}
        self._unusable = set(definition.unusable_inputs)
        self._count = 0
        self._steps: list[tuple[Scope, StepDeclaration, str]] = []

    def result(self) -> Definition:
        """The definition as a whole."""
        check_names(self._top.definition, self._problems)
        self._open(self._top, 0)
        for scope in _inner_scopes(self._top):
            self._references.bind(scope)
        return replace(
            self._top.definition,
            steps=tuple(self._rewritten(*entry) for entry in self._steps),
            outputs=tuple(self._outputs()),
            unusable_inputs=frozenset(self._unusable),
            groups=self._groups,
        )

    def _open(self, scope: Scope, depth: int) -> tuple[str, ...]:
        """Gives the steps of a scope their names in the whole; the names of what is a step there,
        further in too.
        """
        members: list[str] = []
        for step in scope.definition.steps:
            name = step.name if scope is self._top else self._free(scope.name, step.name)
            inner = self._read(scope, step, name, depth)
            if inner is None:
                scope.names.setdefault(step.name, name)
                self._steps.append((scope, step, name))
                members.append(name)
                continue
            scope.inner.setdefault(step.name, inner)
            steps = self._open(inner, depth + 1)
            outputs = tuple(output.name for output in inner.definition.outputs)
            self._groups[name] = StepGroup(steps, outputs)
            members += steps
        return tuple(members)

    def _free(self, outer: str, name: str) -> str:
        # A name that no reference may have, such as "a b", does no harm until one is made of it.
        wanted = found = _NOT_IN_A_NAME.sub("_", f"{outer}{_SEPARATOR}{name}")
        number = 1
        while found in self._taken:
            number += 1
            found = f"{wanted}{_SEPARATOR}{number}"
        self._taken.add(found)
        self._given.add(found)
        return found

    def _read(self, scope: Scope, step: StepDeclaration, name: str, depth: int) -> Scope | None:
        """The scope of an inner workflow; None for other steps, and where the step itself is
        faulty: it is then read like all others, and its faults are reported.
        """
        if step.type != INNER_WORKFLOW_TYPE or self._registry.spec(step.type) is None:
            return None
        try:
            manifest = self._registry.load(step.type).manifest.model_validate(dict(step.body))
        except (ValidationError, PluginLoadingError):
            return None
        if not self._is_within_limits(step, name, depth):
            return None
        where = f"{step.where}/{_DEFINITION}"
        definition = parse_definition(getattr(manifest, _DEFINITION), self._problems, where)
        try:
            check_requested_version(definition.version)
        except (NotSupportedExecutionEngineError, WorkflowDefinitionError) as error:
            self._problems.add(
                WorkflowSyntaxError,
                "unsupported_version",
                f"Inner workflow '{name}': {error.public_message}",
                f"{where}/version",
                block_id=name,
                block_type=step.type,
            )
        check_names(definition, self._problems)
        self._unusable |= definition.unusable_inputs
        bindings = getattr(manifest, BINDINGS)
        return Scope(definition, name, scope, bindings, f"{step.where}/{BINDINGS}")

    def _is_within_limits(self, step: StepDeclaration, name: str, depth: int) -> bool:
        if depth >= DEEPEST:
            limit = f"inner workflows lie at most {DEEPEST} deep in each other"
        elif self._count >= MOST:
            limit = f"a workflow has at most {MOST} inner workflows"
        else:
            self._count += 1
            return True
        self._problems.add(
            ExecutionGraphStructureError,
            "too_many_inner_workflows",
            f"Step '{name}' is one inner workflow too many: {limit}.",
            step.where,
            block_id=name,
            block_type=step.type,
        )
        return False

    def _rewritten(self, scope: Scope, step: StepDeclaration, name: str) -> StepDeclaration:
        body = {**step.body, "name": name}
        spec = self._registry.spec(step.type)
        for field in spec.fields.values() if spec is not None else ():
            key = next((alias for alias in field.aliases if alias in body), None)
            if key is not None and _takes_reference(field, body[key]):
                site = Site(
                    f"{step.where}/{pointer_part(key)}",
                    f"Step '{name}'",
                    name,
                    field.name,
                    is_target=all(form.element == STEP for form in field.references),
                )
                body[key] = self._references.filled(scope, body[key], site)
        return StepDeclaration(step.type, name, body, step.where)

    def _outputs(self) -> Iterator[OutputDeclaration]:
        for output in self._top.definition.outputs:
            reference = parse_reference(output.selector)
            if reference is None or reference.kind != STEP_OUTPUT:
                yield output
                continue
            where = f"{output.where}/selector"
            site = Site(where, f"Output '{output.name}'", OUTPUTS_BLOCK_ID, "selector")
            found = self._references.follow(self._top, reference, site)
            if is_reference(found):
                yield replace(output, selector=found)
            elif found is not NOTHING:
                self._problems.add(
                    ExecutionGraphStructureError,
                    "constant_output",
                    f"Output '{output.name}': {output.selector} is not computed; it always is "
                    f"{describe(found)}.",
                    where,
                    block_id=OUTPUTS_BLOCK_ID,
                    property_name=output.name,
                )


def _inner_scopes(scope: Scope) -> Iterator[Scope]:
    for inner in scope.inner.values():
        yield inner
        yield from _inner_scopes(inner)


def _takes_reference(field: FieldSpec, value: Any) -> bool:
    """Whether references may stand in a value of this shape."""
    container = "dict" if isinstance(value, dict) else "list" if isinstance(value, list) else None
    return any(form.container == container for form in field.references)
