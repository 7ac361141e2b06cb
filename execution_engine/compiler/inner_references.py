"""Leads the references in an inner workflow to what they are in the whole: steps under their new
names, bound values, outputs of workflows further in. Opens no workflow and changes no step.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any, NamedTuple

from execution_engine.compiler.validation_messages import reference_hint
from execution_engine.definition.json_pointer import pointer_part
from execution_engine.definition.model import (
    INNER_WORKFLOW_TYPE,
    Definition,
    InputDeclaration,
    OutputDeclaration,
)
from execution_engine.definition.parser import describe
from execution_engine.definition.problems import Hint, ProblemList
from execution_engine.definition.references import (
    ALL_OUTPUTS,
    INPUT,
    STEP,
    STEP_OUTPUT,
    Reference,
    did_you_mean,
    is_reference,
    parse_reference,
)
from execution_engine.errors import (
    ExecutionGraphStructureError,
    InvalidReferenceTargetError,
    WorkflowCompilerError,
    WorkflowSyntaxError,
)

BINDINGS = "parameter_bindings"
NOTHING = object()
"""What a reference leads to when it is known to be wrong."""


@dataclass(eq=False, slots=True)
class Scope:
    """A definition and the names that its references may use.

    Attributes:
        definition: its parts.
        name: name of the step that stands for it; empty for the outermost.
        parent: the definition with that step.
        bindings: values of its inputs, as written in the parent.
        where: JSON pointer to the bindings.
        names: what its own steps are called in the whole.
        inner: its inner workflows by the names of their steps.
        values: what its inputs have turned out to be.
        inputs: its declared inputs by name.
        outputs: its outputs by name.
    """

    definition: Definition
    name: str = ""
    parent: Scope | None = None
    bindings: Mapping[str, Any] = field(default_factory=dict)
    where: str = ""
    names: dict[str, str] = field(default_factory=dict)
    inner: dict[str, Scope] = field(default_factory=dict)
    values: dict[str, Any] = field(default_factory=dict)
    inputs: Mapping[str, InputDeclaration] = field(init=False)
    outputs: Mapping[str, OutputDeclaration] = field(init=False)

    def __post_init__(self) -> None:
        self.inputs = {declared.name: declared for declared in self.definition.inputs}
        self.outputs = {output.name: output for output in self.definition.outputs}

    @property
    def title(self) -> str:
        """The scope in words."""
        return "the workflow" if self.parent is None else f"the inner workflow '{self.name}'"


class Site(NamedTuple):
    """Where a reference stands.

    Attributes:
        where: JSON pointer.
        owner: what it is part of, in words.
        block_id: name of the step in the whole.
        field: field of that step.
        is_binding: whether it is bound to an input. No step reads such a value again, so that all
            that is wrong with it is reported where it stands.
        is_target: whether only steps may be named there.
    """

    where: str
    owner: str
    block_id: str
    field: str
    is_binding: bool = False
    is_target: bool = False


class InnerReferences:
    """Follows references through the scopes of a definition.

    Args:
        top: the outermost definition.
        given: names that steps of inner workflows have got; no reference may use them.
        problems: where faults go.
    """

    def __init__(self, top: Scope, given: set[str], problems: ProblemList) -> None:
        self._top = top
        self._given = given
        self._problems = problems
        self._under_way: set[tuple[str, str]] = set()

    def bind(self, scope: Scope) -> None:
        """Finds what the inputs of an inner workflow are, and whether its outputs lead anywhere."""
        for name in scope.bindings:
            if name not in scope.inputs and name not in scope.definition.unusable_inputs:
                self._add_unknown_binding(scope, name)
        missing = [
            f"'{name}'"
            for name, declared in scope.inputs.items()
            if self._input(scope, declared) is NOTHING and name not in scope.bindings
        ]
        if missing:
            self._add(
                WorkflowSyntaxError,
                "unbound_input",
                f"Step '{scope.name}' does not bind {', '.join(missing)} of its inner workflow; "
                "only parameters with a default can be left out.",
                Site(scope.where, "", scope.name, BINDINGS),
            )
        for output in scope.outputs.values():
            self._output(scope, output)

    def filled(self, scope: Scope, value: Any, site: Site) -> Any:
        """A value of a field with its references, also those in a list or an object, led to what
        they are in the whole; wrong ones stay as they are. A binding that holds one is `NOTHING`.

        A list in a binding takes no reference to another list: a chain of inner workflows could
        double it with each of them.
        """
        if isinstance(value, str):
            return self._end(scope, value, site)
        entries: Iterable[tuple[Any, Any]]
        if isinstance(value, dict):
            entries = value.items()
        elif isinstance(value, list):
            entries = enumerate(value)
        else:
            return value
        ends = {}
        for key, item in entries:
            place = site._replace(where=f"{site.where}/{pointer_part(key)}")
            end = self._end(scope, item, place)
            if site.is_binding and isinstance(end, (list, dict)) and isinstance(item, str):
                self._add(
                    ExecutionGraphStructureError,
                    "nested_binding",
                    f"{site.owner}: {item} is {describe(end)}; what is bound in a list or an "
                    "object is a result of a step, an input or a plain value.",
                    place,
                )
                end = NOTHING
            ends[key] = end
        if any(end is NOTHING for end in ends.values()):
            return NOTHING
        return ends if isinstance(value, dict) else list(ends.values())

    def follow(self, scope: Scope, reference: Reference, site: Site) -> Any:
        """What a reference of a scope is in the whole: a reference, a plain value, or `NOTHING`."""
        if reference.kind == INPUT:
            return self._follow_input(scope, reference, site)
        if reference.name in scope.names:
            output = "" if reference.kind == STEP else f".{reference.property_name}"
            return f"$steps.{scope.names[reference.name]}{output}"
        inner = scope.inner.get(reference.name)
        if inner is not None:
            if reference.kind == STEP:
                return f"$steps.{inner.name}"
            return self._follow_output(inner, reference, site)
        if scope is self._top and not site.is_binding and reference.name not in self._given:
            return reference.text  # reported where the whole is read
        self._add_missing(scope, "step", reference, [*scope.names, *scope.inner], site)
        return NOTHING

    def _end(self, scope: Scope, value: Any, site: Site) -> Any:
        if not is_reference(value):
            return value
        reference = parse_reference(value)
        if reference is None:
            if not site.is_binding:
                return value  # reported where the step is read
            self._add(
                InvalidReferenceTargetError,
                "malformed_reference",
                f"{site.owner}: '{value}' in '{site.field}' is no reference; expected $inputs.name "
                "or $steps.step.output.",
                site,
                reference_hint(value)
                or "write '$$' at the start for text that begins with a dollar sign",
            )
            return NOTHING
        if site.is_target and reference.kind == STEP_OUTPUT:
            return value  # reported where the step is read
        found = self.follow(scope, reference, site)
        if found is NOTHING and not site.is_binding:
            self._problems.note(site.where)
            return value
        return found

    def _input(self, scope: Scope, declared: InputDeclaration) -> Any:
        """What an input of an inner workflow is in the whole."""
        name = declared.name
        if name in scope.values:
            return scope.values[name]
        if name in scope.bindings and scope.parent is not None:
            where = f"{scope.where}/{pointer_part(name)}"
            site = Site(where, f"Step '{scope.name}'", scope.name, BINDINGS, is_binding=True)
            value = self.filled(scope.parent, scope.bindings[name], site)
        else:
            value = NOTHING if declared.default is None else _escaped(declared.default)
        scope.values[name] = value
        return value

    def _follow_input(self, scope: Scope, reference: Reference, site: Site) -> Any:
        declared = scope.inputs.get(reference.name)
        if declared is None:
            if scope is self._top and not site.is_binding:
                return reference.text  # reported where the whole is read
            if reference.name not in scope.definition.unusable_inputs:
                self._add_missing(scope, "input", reference, scope.inputs, site)
            return NOTHING
        if scope is self._top:
            return reference.text
        return self._guarded(scope, reference, site, lambda: self._input(scope, declared))

    def _follow_output(self, inner: Scope, reference: Reference, site: Site) -> Any:
        name = str(reference.property_name)
        output = inner.outputs.get(name)
        if output is not None:
            return self._guarded(inner, reference, site, lambda: self._output(inner, output))
        what = "all outputs at once" if name == ALL_OUTPUTS else f"the output '{name}'"
        self._add(
            ExecutionGraphStructureError,
            "unknown_output",
            f"{site.owner}: '{site.field}' refers to {what} of the inner workflow "
            f"'{reference.name}', whose outputs are named one by one: "
            f"{', '.join(inner.outputs) or 'none'}.",
            site,
            lambda: did_you_mean(name, inner.outputs),
        )
        return NOTHING

    def _output(self, inner: Scope, output: OutputDeclaration) -> Any:
        """What an output of an inner workflow is in the whole."""
        owner = f"Output '{output.name}' of {inner.title}"
        site = Site(f"{output.where}/selector", owner, inner.name, "selector")
        selected = parse_reference(output.selector)
        if selected is not None and selected.kind != STEP:
            return self.follow(inner, selected, site)
        self._add(
            InvalidReferenceTargetError,
            "unknown_output_target",
            f"{site.owner}: '{output.selector}' is no reference to data; expected $inputs.name or "
            "$steps.step.output.",
            site,
            reference_hint(output.selector),
        )
        return NOTHING

    def _guarded(
        self, scope: Scope, reference: Reference, site: Site, follow: Callable[[], Any]
    ) -> Any:
        """Follows a reference that may lead back to itself."""
        key = scope.name, reference.text
        if key in self._under_way:
            self._add(
                ExecutionGraphStructureError,
                "cycle",
                f"{site.owner}: {reference.text} leads through inner workflows back to itself.",
                site,
            )
            return NOTHING
        self._under_way.add(key)
        try:
            return follow()
        finally:
            self._under_way.discard(key)

    def _add_unknown_binding(self, scope: Scope, name: str) -> None:
        self._add(
            InvalidReferenceTargetError,
            "unknown_binding",
            f"Step '{scope.name}' binds '{name}', which is no input of its inner workflow; inputs: "
            f"{', '.join(scope.inputs) or 'none'}.",
            Site(f"{scope.where}/{pointer_part(name)}", "", scope.name, BINDINGS),
            lambda: did_you_mean(name, scope.inputs),
        )

    def _add_missing(
        self, scope: Scope, what: str, reference: Reference, names: Iterable[str], site: Site
    ) -> None:
        self._add(
            InvalidReferenceTargetError,
            f"unknown_{what}",
            f"{site.owner}: '{site.field}' refers to the {what} '{reference.name}', which does not "
            f"exist in {scope.title}; declared {what}s: {', '.join(names) or 'none'}.",
            site,
            lambda: did_you_mean(reference.name, names),
        )

    def _add(
        self,
        error: type[WorkflowCompilerError],
        code: str,
        message: str,
        site: Site,
        hint: Hint = None,
    ) -> None:
        self._problems.add(
            error,
            code,
            message,
            site.where,
            hint=hint,
            block_id=site.block_id,
            block_type=INNER_WORKFLOW_TYPE if site.is_binding else None,
            property_name=site.field,
        )


def _escaped(value: Any) -> Any:
    """A plain value as a field of a step has to say it: a leading dollar sign is doubled."""
    if isinstance(value, str):
        return f"${value}" if value.startswith("$") else value
    if isinstance(value, list):
        return [_escaped(item) if isinstance(item, str) else item for item in value]
    if isinstance(value, dict):
        return {
            key: _escaped(item) if isinstance(item, str) else item for key, item in value.items()
        }
    return value
