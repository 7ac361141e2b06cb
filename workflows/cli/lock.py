"""`weftlens lock`: write down what a workflow runs with, or check that it still does."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from execution_engine.errors import WorkflowError
from workflows.cli.exit_codes import OK, PROBLEM, USAGE
from workflows.cli.run_inputs import UsageError
from workflows.cli.terminal import error_text, write, write_error, write_json
from workflows.files import is_same_file
from workflows.loading import load_definition
from workflows.locking.drift import model_inputs_drift
from workflows.locking.errors import Drift, LockDriftError, WorkflowLockError
from workflows.locking.lock_file import Lock, is_lock_path, lock_path, read_lock, write_lock
from workflows.locking.making import make_lock
from workflows.session import Session


def lock_command(
    path: Path, out: Path | None, check: bool, model_texts: Sequence[str], as_json: bool
) -> int:
    """Locks a workflow, or checks its lock; gives the exit code: 0, 1 for a lock that does not hold
    or cannot be made, 2 for wrong usage.
    """
    try:
        models = parse_models(model_texts)
        if is_lock_path(path):
            raise UsageError(f"'{path}' is a lock; name the workflow")
        if out is not None and is_same_file(out, path):
            raise UsageError(f"'{out}' is the workflow; a lock is a file of its own")
        if check and models:
            raise UsageError("--check takes the models from the lock; leave out --model")
        if as_json and not check:
            raise UsageError("--json goes with --check; the lock itself is JSON")
    except UsageError as error:
        write_error(f"weftlens lock: {error}")
        return USAGE
    target = lock_path(path) if out is None else out
    with Session() as session:
        try:
            if check:
                return _check(session, path, target, as_json)
            return _write(session, path, target, models)
        except WorkflowError as error:
            write_error(error_text(path.name, error))
            return PROBLEM


def parse_models(texts: Sequence[str]) -> dict[str, list[str]]:
    """Model ids by input name from `name=id` texts.

    Raises:
        UsageError: a text has no `=`, or nothing on one side of it.
    """
    models: dict[str, list[str]] = {}
    for text in texts:
        name, _, model_id = text.partition("=")
        if not name or not model_id:
            raise UsageError(f"--model takes INPUT=MODEL, got '{text}'")
        models.setdefault(name, []).append(model_id)
    return models


def counted(count: int, noun: str) -> str:
    """A number with its noun, such as "1 step" and "2 steps"."""
    return f"{count} {noun}{'' if count == 1 else 's'}"


def _write(session: Session, path: Path, target: Path, models: dict[str, list[str]]) -> int:
    definition = load_definition(path).definition
    lock = make_lock(session, definition, models)
    before = _before(target)
    changes: list[Drift] = []
    if before is not None:
        changes += session.locks.find_drift(definition, before)
        changes += model_inputs_drift(before, lock)
    if before == lock:
        write(f"{target} is up to date: {_content(lock)}")
    else:
        write_lock(lock, target)
        write(f"{target}: {_content(lock)}")
        for change in changes:
            write(f"  changed: {change}")
    for line in _notes(lock):
        write(f"  {line}")
    return OK


def _before(target: Path) -> Lock | None:
    """The lock that was there, if it can be read."""
    if not target.exists():
        return None
    try:
        return read_lock(target)
    except WorkflowLockError as error:
        write_error(f"replaced: {error.public_message}")
        return None


def _content(lock: Lock) -> str:
    parts = [f"engine {lock.engine}", counted(len(lock.steps), "step")]
    parts += [counted(len(lock.blocks), "block"), counted(len(lock.models), "model")]
    return ", ".join(parts)


def _notes(lock: Lock) -> list[str]:
    """What a reader must know of models that are chosen by a run."""
    lines = []
    for name, allowed in sorted(lock.model_inputs.items()):
        if allowed:
            lines.append(f"input '{name}' may name the model {' or '.join(allowed)}")
        else:
            lines.append(
                f"input '{name}' names a model and has no default: a locked run refuses every "
                f"model until one is locked with --model {name}=MODEL"
            )
    for place, source in sorted(lock.open_models.items()):
        lines.append(f"{place} gets its model from {source} during a run: it cannot be locked")
    return lines


def _check(session: Session, path: Path, target: Path, as_json: bool) -> int:
    drifts: tuple[Drift, ...] = ()
    text = accept = ""
    try:
        session.locks.check(load_definition(path).definition, target, workflow_name=str(path))
    except LockDriftError as error:
        drifts, accept, text = error.drifts, error.accept, error.public_message
    if as_json:
        write_json(
            {
                "workflow": str(path),
                "lock": str(target),
                "holds": not drifts,
                "drifts": [drift.to_dict() for drift in drifts],
                "accept": accept or None,
            }
        )
    elif drifts:
        write(text)
    else:
        write(f"{target} holds: {_content(session.locks.load(target))}")
    return PROBLEM if drifts else OK
