"""Makes the lock of a workflow from what is there. Reads and writes no lock file."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, Any

from execution_engine.versions import ENGINE_VERSION
from workflows.locking.canonical import definition_digest
from workflows.locking.errors import WorkflowLockError
from workflows.locking.lock_file import Lock, ModelPin
from workflows.locking.model_pins import pin_model
from workflows.locking.models_of_workflow import ModelUses, models_of

if TYPE_CHECKING:
    from workflows.session import Session


def make_lock(
    session: Session,
    definition: Mapping[str, Any],
    models: Mapping[str, Iterable[str]] | None = None,
) -> Lock:
    """The lock of a workflow with the blocks and models of a session.

    Args:
        session: whose blocks and models.
        definition: the workflow.
        models: for inputs that name a model, ids to lock beside the input's default.

    Raises:
        WorkflowCompilerError: the definition has problems, all of them in `.errors`.
        WorkflowLockError: models are missing, or an input is none that names a model; the text
            names all of them.
    """
    plan = session.compile(definition)
    uses = models_of(plan)
    model_inputs = _model_inputs(uses, models or {})
    wanted = dict.fromkeys(uses.literals)
    wanted.update((name, None) for names in model_inputs.values() for name in names)
    pins: dict[str, ModelPin] = {}
    faults = []
    for model_id in wanted:
        pin = pin_model(session.model_manager, session.locks.files, model_id)
        if isinstance(pin, ModelPin):
            pins[model_id] = pin
        else:
            users = _users(model_id, uses, model_inputs)
            faults.append(f"model '{model_id}' ({users}) cannot be locked: {pin}")
    if faults:
        raise WorkflowLockError("; ".join(faults) + ".")
    steps, blocks, distributions = session.locks.blocks.pin_steps(plan)
    return Lock(
        lock_version=1,
        definition=definition_digest(plan.definition.raw),
        engine=ENGINE_VERSION,
        distributions=distributions,
        steps=steps,
        blocks=blocks,
        models=pins,
        model_inputs=model_inputs,
        open_models=dict(uses.open),
    )


def _model_inputs(uses: ModelUses, asked: Mapping[str, Iterable[str]]) -> dict[str, list[str]]:
    unknown = sorted(asked.keys() - uses.inputs.keys())
    if unknown:
        known = ", ".join(sorted(uses.inputs)) or "none"
        raise WorkflowLockError(
            f"No input named {', '.join(unknown)} names a model; inputs that do: {known}."
        )
    model_inputs = {}
    for name in uses.inputs:
        ids = [*asked.get(name, ())]
        if name in uses.defaults:
            ids.append(uses.defaults[name])
        model_inputs[name] = sorted(set(ids))
    return model_inputs


def _users(model_id: str, uses: ModelUses, model_inputs: Mapping[str, list[str]]) -> str:
    parts = [f"step {name}" for name in uses.literals.get(model_id, ())]
    parts += [f"input {name}" for name, ids in model_inputs.items() if model_id in ids]
    return ", ".join(parts)
