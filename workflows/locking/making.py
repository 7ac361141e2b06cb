"""Makes the lock of a workflow from what is there. Reads and writes no lock file."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from execution_engine.plan import Plan
from execution_engine.versions import ENGINE_VERSION
from workflows.locking.canonical import definition_digest
from workflows.locking.errors import WorkflowLockError
from workflows.locking.lock_file import BlockPin, Lock, ModelPin
from workflows.locking.models_of_workflow import ModelUses, models_of

if TYPE_CHECKING:
    from inference_models.manager.manager import ModelManager
    from workflows.locking.checks import LockChecks
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
        pin = pin_model(session, model_id)
        if isinstance(pin, ModelPin):
            pins[model_id] = pin
        else:
            users = _users(model_id, uses, model_inputs)
            faults.append(f"model '{model_id}' ({users}) cannot be locked: {pin}")
    if faults:
        raise WorkflowLockError("; ".join(faults) + ".")
    steps, blocks, distributions = pin_steps(session.locks, plan)
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


def pin_steps(
    checks: LockChecks, plan: Plan
) -> tuple[dict[str, str], dict[str, BlockPin], dict[str, str]]:
    """Type ids of the steps by name, pins of their blocks by type id, and versions of the
    distributions that these come from, except our own.
    """
    steps = {step.name: step.spec.type_id for step in plan.steps}
    blocks = {type_id: checks.blocks.pin(type_id) for type_id in dict.fromkeys(steps.values())}
    distributions = {}
    for type_id in blocks:
        origin = checks.blocks.origin(type_id)
        if origin.version is not None:
            distributions[origin.distribution] = origin.version
    return steps, blocks, distributions


def pin_model(
    session: Session, model_id: str, manager: ModelManager | None = None
) -> ModelPin | str:
    """The pin of a model, or why there is none; `manager` is the session's when None."""
    from inference_models.errors import InferenceModelsError

    try:
        location = (manager or session.model_manager).package(model_id).location
        found = session.locks.files.of_package(_whole_model(location))
    except InferenceModelsError as error:
        return str(error)
    except OSError as error:
        return f"{error.filename}: {error.strerror or error}"
    return ModelPin(digest=found.total, files=dict(found.files))


def _whole_model(location: Path) -> Path:
    """The folder of all packages of a model, of which hosts may choose different ones."""
    from inference_models.packages.loader import PACKAGES_FOLDER

    return location.parent.parent if location.parent.name == PACKAGES_FOLDER else location


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
