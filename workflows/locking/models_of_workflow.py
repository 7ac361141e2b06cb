"""Which models a workflow names, and how: by a literal, by an input, or only during a run. Looks
for no package.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from execution_engine.definition.references import INPUT, is_reference, parse_reference, unescape
from execution_engine.kinds.catalogue import ROBOFLOW_MODEL_ID_KIND
from execution_engine.plan import Plan

MODEL_KIND = ROBOFLOW_MODEL_ID_KIND.name


@dataclass(frozen=True, slots=True)
class ModelUses:
    """The models of a workflow.

    Attributes:
        literals: model id to the steps that name it.
        inputs: input name to the steps it names a model for.
        defaults: the model an input names when a run gives none, where it has such a default.
        open: `step.field` to the selector its model comes from during a run.
    """

    literals: Mapping[str, tuple[str, ...]]
    inputs: Mapping[str, tuple[str, ...]]
    defaults: Mapping[str, str]
    open: Mapping[str, str]


def models_of(plan: Plan) -> ModelUses:
    """The models that the steps of a plan name in fields of the kind `roboflow_model_id`."""
    literals: dict[str, list[str]] = {}
    inputs: dict[str, list[str]] = {}
    unknown: dict[str, str] = {}
    for step in plan.steps:
        for name in step.spec.fields_of_kind(MODEL_KIND):
            for place, value in _texts(name, getattr(step.manifest, name, None)):
                reference = parse_reference(value) if is_reference(value) else None
                if reference is None:
                    literals.setdefault(unescape(value), []).append(step.name)
                elif reference.kind == INPUT:
                    inputs.setdefault(reference.name, []).append(step.name)
                else:
                    unknown[f"{step.name}.{place}"] = value
    defaults = {
        item.declaration.name: item.declaration.default
        for item in plan.inputs
        if item.declaration.name in inputs and isinstance(item.declaration.default, str)
    }
    return ModelUses(
        {name: tuple(dict.fromkeys(steps)) for name, steps in literals.items()},
        {name: tuple(dict.fromkeys(steps)) for name, steps in inputs.items()},
        defaults,
        unknown,
    )


def _texts(place: str, value: Any) -> list[tuple[str, str]]:
    """The texts of a field: its value, or the elements of its list or object."""
    if isinstance(value, str):
        return [(place, value)]
    if isinstance(value, Mapping):
        return [(f"{place}.{key}", item) for key, item in value.items() if isinstance(item, str)]
    if isinstance(value, (list, tuple)):
        return [(f"{place}.{i}", item) for i, item in enumerate(value) if isinstance(item, str)]
    return []
