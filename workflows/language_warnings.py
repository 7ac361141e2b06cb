"""Warnings about the query language in the steps of a workflow. Finds no problem."""

from __future__ import annotations

from collections.abc import Iterator

from execution_engine.compiler.steps import ParsedStep
from execution_engine.definition.json_pointer import pointer_part
from execution_engine.definition.references import did_you_mean
from execution_engine.errors import Problem
from execution_engine.query_language.advice import (
    find_names,
    find_silent_groups,
    holds_definition,
)
from workflows.inspection import Inspection


def query_language_warnings(inspection: Inspection) -> list[Problem]:
    """Groups of statements without an operator, and names that the step gives no value for.

    Steps that are faulty are left out: what they hold is not known for certain.
    """
    return [warning for node in inspection.graph.nodes for warning in _of_step(node.step)]


def _of_step(step: ParsedStep) -> Iterator[Problem]:
    if step.manifest is None or step.spec is None:
        return
    written = {
        field.name: alias
        for field in step.spec.fields.values()
        for alias in field.aliases
        if alias in step.declaration.body
    }
    values = step.manifest.__dict__
    # A field of named references is what gives definitions of the same step their parameters.
    sources = [
        field.name
        for field in step.spec.fields.values()
        if any(form.container == "dict" and form.element != "step" for form in field.references)
        and isinstance(values.get(field.name), dict)
    ]
    given = {name for source in sources for name in values[source]}
    for field, alias in written.items():
        if not holds_definition(values.get(field)):
            continue
        data = step.declaration.body[alias]
        where = f"{step.declaration.where}/{pointer_part(alias)}"
        for silence in find_silent_groups(data, where):
            yield Problem(
                "joined_by_or",
                f"Step '{step.name}': {silence.statements} statements without an `operator` are "
                "joined by `or`; say `and` or `or`.",
                silence.where,
                None,
                step.name,
                step.declaration.type,
                field,
            )
        for named in find_names(data, where, given) if sources else ():
            yield Problem(
                "parameter_not_given",
                f"Step '{step.name}' uses the parameter '{named.name}', which "
                f"{' or '.join(sources)} does not give; it gives "
                f"{', '.join(sorted(given)) or 'nothing'}.",
                named.where,
                did_you_mean(named.name, given),
                step.name,
                step.declaration.type,
                field,
            )
