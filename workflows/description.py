"""A workflow as text for terminals and bug reports. Finds nothing out itself."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any

from execution_engine.kinds.builtin_codecs import mask_secret
from execution_engine.kinds.catalogue import SECRET_KIND
from execution_engine.plan import BATCH, EACH, ONCE, Plan
from workflows.inspection import Inspection, MissingBlock, StepView
from workflows.interface import Interface

_LONGEST_LITERAL = 60
_MODES = {ONCE: "runs once", EACH: "runs for each element", BATCH: "runs on the whole batch"}
_STATUS = {
    "ok": "",
    "faulty": "  [has problems]",
    "not_in_build": "  [not in this build]",
    "unknown": "  [unknown block]",
}


def describe_workflow(
    name: str,
    inspection: Inspection,
    interface: Interface,
    missing: Sequence[MissingBlock],
    plan: Plan | None,
) -> str:
    """Inputs, steps in the order they run, outputs, missing blocks and problems.

    Args:
        name: what to call the workflow.
        inspection: its parts.
        interface: its inputs and outputs.
        missing: blocks that are not there.
        plan: how its steps run, None when it cannot be compiled.
    """
    definition = inspection.definition
    counts = ", ".join(
        f"{len(items)} {what}{'' if len(items) == 1 else 's'}"
        for what, items in (
            ("input", interface.inputs),
            ("step", inspection.steps),
            ("output", interface.outputs),
        )
    )
    lines = [f"{name}: {counts}; engine {definition.version}"]
    if interface.inputs:
        lines += ["", "Inputs"]
    for item in interface.inputs:
        text = f"  {item.name}: {item.type}, {' or '.join(item.kinds)}"
        if item.dimensionality > 1:
            text += f", nested {item.dimensionality} deep"
        if item.dimensionality == 0:
            hidden = SECRET_KIND.name in item.kinds and item.default is not None
            text += f", default {_literal(mask_secret(item.default) if hidden else item.default)}"
        lines.append(text)
    if inspection.steps:
        lines += ["", "Steps"]
    modes = {} if plan is None else {step.name: step for step in plan.steps}
    for number, step in enumerate(_in_order(inspection), 1):
        lines += _step_lines(number, step)
        planned = modes.get(step.name)
        if plan is not None and planned is not None:
            gates = f", gated by {', '.join(gate.source for gate in planned.gates)}"
            depth = plan.depth(planned.axis)
            lines.append(
                f"       {_MODES[planned.mode]}"
                f"{f' at depth {depth}' if depth > 1 else ''}{gates if planned.gates else ''}"
            )
    if interface.outputs:
        lines += ["", "Outputs"]
    for output in interface.outputs:
        if isinstance(output.kinds, Mapping):
            kinds = "; ".join(f"{key}: {' or '.join(of)}" for key, of in output.kinds.items())
            kinds = f"object of {kinds}" if kinds else "empty object"
        else:
            kinds = " or ".join(output.kinds)
        lines.append(f"  {output.name}: {output.selector}, {kinds}")
    if missing:
        lines += ["", "Missing blocks", *(f"  {block}" for block in missing)]
    if inspection.problems:
        lines += ["", "Problems"]
        lines += [f"  {number}. {item}" for number, item in enumerate(inspection.problems, 1)]
    return "\n".join(lines)


def _in_order(inspection: Inspection) -> list[StepView]:
    """Steps in the order they run; those that no order can be found for come last."""
    order = list(inspection.graph.order)
    placed = set(order)
    order += [position for position in range(len(inspection.steps)) if position not in placed]
    return [inspection.steps[position] for position in order]


def _step_lines(number: int, step: StepView) -> list[str]:
    block = f"{step.title} ({step.type})" if step.title else step.type or "no type"
    lines = [f"  {number:>2}. {step.name}: {block}{_STATUS[step.status]}"]
    for field in step.fields:
        if field.references and isinstance(field.value, str):
            lines.append(f"       {field.name} <- {field.value}")
        elif field.references:
            sources = dict.fromkeys(reference.text for reference in field.references)
            lines.append(f"       {field.name} <- {', '.join(sources)} in {_literal(field.value)}")
        else:
            lines.append(f"       {field.name} = {_literal(field.value)}")
    if step.outputs:
        lines.append(f"       gives {', '.join(step.outputs)}")
    return lines


def _literal(value: Any) -> str:
    text = json.dumps(value, ensure_ascii=False, default=str)
    return text if len(text) <= _LONGEST_LITERAL else f"{text[: _LONGEST_LITERAL - 3]}..."
