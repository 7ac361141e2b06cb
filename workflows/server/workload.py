"""What running a compiled workflow takes: steps, edges, depths, models and operations. Runs nothing
and loads no model.

A discovery is `{items, complete, unknown_reasons}`: what a definition alone tells, and why that may
not be all.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from execution_engine.definition.references import is_reference
from execution_engine.kinds.catalogue import ROBOFLOW_MODEL_ID_KIND
from execution_engine.plan import Plan, StepPlan

_MODEL_KIND = ROBOFLOW_MODEL_ID_KIND.name


def describe_workload(plan: Plan) -> dict[str, Any]:
    """Nodes and edges of a plan, what each step is and uses, and a summary, as JSON data."""
    steps = {step.name: _step(plan, step) for step in plan.steps}
    by_depth: dict[str, list[str]] = {}
    for name, step in steps.items():
        by_depth.setdefault(str(step["input_dimensionality"]), []).append(name)
    depths = [item.declaration.dimensionality for item in plan.inputs]
    depths += [plan.depth(step.output_axis) for step in plan.steps]
    found = [step["resources"] for step in steps.values()]
    return {
        "nodes": [
            *(f"$inputs.{item.declaration.name}" for item in plan.inputs),
            *(f"$steps.{name}" for name in steps),
            *(f"$outputs.{output.name}" for output in plan.outputs),
        ],
        "edges": _edges(plan),
        "steps": steps,
        "summary": {
            "models": _joined(found),
            "max_dimensionality": max(depths, default=0),
            "steps_by_dimensionality": by_depth,
        },
    }


def _step(plan: Plan, step: StepPlan) -> dict[str, Any]:
    # Defaults are not validated: the 0 of a float would be warned of.
    written = step.manifest.model_dump(warnings=False)
    return {
        "block_type": step.spec.type_id,
        "input_dimensionality": plan.depth(step.axis),
        "output_dimensionality": plan.depth(step.output_axis),
        "accepts_batch_input": step.spec.accepts_batch_input,
        "resources": _models(step),
        "restrictions": _discovery(list(step.manifest.get_restrictions())),
        "operations": _discovery(list(dict.fromkeys(_operations(written)))),
    }


def _models(step: StepPlan) -> dict[str, Any]:
    items, reasons = [], []
    for name in step.spec.fields_of_kind(_MODEL_KIND):
        value = getattr(step.manifest, name, None)
        if is_reference(value):
            reasons.append(f"'{name}' of step '{step.name}' is {value}, known when it runs")
        elif isinstance(value, str):
            items.append({"type": "model", "model_id": value})
    return _discovery(items, reasons)


def _operations(value: Any) -> Iterator[str]:
    """Types of the operations of the query language in the fields of a step."""
    if isinstance(value, Mapping):
        operations = value.get("operations")
        if isinstance(operations, (list, tuple)):
            for operation in operations:
                if isinstance(operation, Mapping) and isinstance(operation.get("type"), str):
                    yield operation["type"]
        for item in value.values():
            yield from _operations(item)
    elif isinstance(value, (list, tuple)):
        for item in value:
            yield from _operations(item)


def _edges(plan: Plan) -> list[dict[str, str]]:
    sources = {item.slot: f"$inputs.{item.declaration.name}" for item in plan.inputs}
    sources.update({item.slot: f"$inputs.{item.parameter.name}" for item in plan.substitutions})
    for step in plan.steps:
        for slot in (*step.outputs.values(), *step.targets.values()):
            sources[slot] = f"$steps.{step.name}"
    edges: dict[tuple[str, str], None] = {}
    for step in plan.steps:
        used = [value.slot for argument in step.arguments for value in argument.values]
        used += [gate.slot for gate in step.gates]
        for slot in used:
            edges[sources[slot], f"$steps.{step.name}"] = None
    for output in plan.outputs:
        for _, slot, _ in output.members:
            edges[sources[slot], f"$outputs.{output.name}"] = None
    return [{"source": source, "target": target} for source, target in edges]


def _joined(found: list[dict[str, Any]]) -> dict[str, Any]:
    items = {item["model_id"]: item for discovery in found for item in discovery["items"]}
    reasons = [reason for discovery in found for reason in discovery["unknown_reasons"]]
    return _discovery(list(items.values()), reasons)


def _discovery(items: list[Any], reasons: list[str] | None = None) -> dict[str, Any]:
    return {"items": items, "complete": not reasons, "unknown_reasons": reasons or []}
