"""`LockChecks`: holds workflows against their locks, again at every run, at little cost. A session
owns one; it makes and writes no locks.
"""

from __future__ import annotations

import os
import shlex
import threading
from collections import OrderedDict
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from execution_engine.plan import Plan
from execution_engine.versions import ENGINE_VERSION
from workflows.locking import drift
from workflows.locking.block_pins import BlockPins
from workflows.locking.canonical import definition_digest
from workflows.locking.errors import Drift, LockDriftError, WorkflowLockError
from workflows.locking.lock_file import Lock, LockSource, lock_path, parse_lock, read_lock
from workflows.locking.model_pins import pin_model
from workflows.locking.models_of_workflow import ModelUses, models_of
from workflows.model_folder.package_files import FileDigests

if TYPE_CHECKING:
    from inference_models.manager.manager import ModelManager
    from workflows.session import Session

_PATHS = (str, os.PathLike)
_REMEMBERED = 256


class LockChecks:
    """Checks of locks that share what they looked up. Thread-safe.

    Digests of blocks are made once, since imported code stays; digests of files are made again when
    a file changes.

    Args:
        session: whose blocks and models.
    """

    def __init__(self, session: Session) -> None:
        self._session = session
        self.files = FileDigests()
        self.blocks = BlockPins(session.registry, self.files)
        self._read: OrderedDict[str, tuple[str, Lock]] = OrderedDict()
        self._fixed: OrderedDict[tuple[str, str], tuple[Drift, ...]] = OrderedDict()
        self._plans: OrderedDict[int, tuple[Plan, str, ModelUses]] = OrderedDict()
        self._lock = threading.Lock()

    def load(self, source: LockSource) -> Lock:
        """The lock behind a path, a JSON object or a `Lock`.

        Raises:
            WorkflowLockError: there is none, or it cannot be read.
            TypeError: `source` is none of these.
        """
        if isinstance(source, Lock):
            return source
        if isinstance(source, Mapping):
            return parse_lock(source)
        if not isinstance(source, _PATHS):
            raise TypeError(
                f"a lock is a path, a JSON object or a Lock, got {type(source).__name__}"
            )
        path = os.path.abspath(os.fspath(source))
        try:
            digest = self.files.of_file(path)
        except (OSError, ValueError):
            return read_lock(Path(source))  # which says what is wrong with it
        with self._lock:
            known = self._read.get(path)
            if known is not None and known[0] == digest:
                return known[1]
        lock = read_lock(Path(source))
        with self._lock:
            _remember(self._read, path, (digest, lock))
        return lock

    def check(
        self,
        definition: Mapping[str, Any],
        source: LockSource,
        inputs: Mapping[str, Any] | None = None,
        *,
        workflow_name: str = "",
        model_manager: ModelManager | None = None,
    ) -> None:
        """Refuses a workflow that differs from its lock.

        Args:
            definition: the workflow.
            source: the lock: a path, a JSON object or a `Lock`.
            inputs: values of the run, for inputs that name a model; None to check every model the
                lock holds.
            workflow_name: path of the workflow, for the command that accepts the differences.
            model_manager: whose models the run uses; the session's when None.

        Raises:
            LockDriftError: there are differences; `.drifts` holds all of them.
            WorkflowLockError: the lock cannot be read.
            WorkflowCompilerError: the workflow has problems.
        """
        lock = self.load(source)
        drifts = self.find_drift(definition, lock, inputs, model_manager=model_manager)
        if drifts:
            _, uses = self._read_plan(self._session.compile(definition))
            name = f"The lock {os.fspath(source)}" if isinstance(source, _PATHS) else "The lock"
            words = ["weftlens", "lock", workflow_name or "WORKFLOW"]
            if workflow_name and isinstance(source, _PATHS):
                usual = lock_path(Path(workflow_name))
                if os.path.abspath(usual) != os.path.abspath(source):
                    words += ["--out", os.fspath(source)]
            accept = shlex.join([*words, *_model_options(lock, uses, inputs or {})])
            raise LockDriftError(name, drifts, accept)

    def find_drift(
        self,
        definition: Mapping[str, Any],
        lock: Lock,
        inputs: Mapping[str, Any] | None = None,
        *,
        model_manager: ModelManager | None = None,
    ) -> list[Drift]:
        """Every difference between a lock and what is there; arguments and errors as `check`."""
        plan = self._session.compile(definition)
        digest, uses = self._read_plan(plan)
        key = (lock.digest, digest)
        with self._lock:
            fixed = self._fixed.get(key)
        if fixed is None:
            fixed = tuple(self._fixed_drift(plan, lock, digest))
            with self._lock:
                _remember(self._fixed, key, fixed)
        return [*fixed, *self._model_drift(uses, lock, inputs, model_manager)]

    def _read_plan(self, plan: Plan) -> tuple[str, ModelUses]:
        """Digest of a plan's definition and the models it names."""
        with self._lock:
            known = self._plans.get(id(plan))
        if known is None:
            try:
                digest = definition_digest(plan.definition.raw)
            except (TypeError, ValueError) as error:
                raise WorkflowLockError(f"The workflow is no JSON data: {error}.", error) from error
            known = (plan, digest, models_of(plan))
            with self._lock:
                # The plan is kept, so that no other one can get its id.
                _remember(self._plans, id(plan), known)
        return known[1:]

    def _fixed_drift(self, plan: Plan, lock: Lock, digest: str) -> Iterator[Drift]:
        """What cannot change as long as the process lives."""
        steps, blocks, distributions = self.blocks.pin_steps(plan)
        yield from drift.engine_drift(lock, ENGINE_VERSION)
        yield from drift.definition_drift(lock, digest, steps)
        yield from drift.distribution_drift(lock, distributions)
        yield from drift.block_drift(lock, blocks)

    def _model_drift(
        self,
        uses: ModelUses,
        lock: Lock,
        inputs: Mapping[str, Any] | None,
        manager: ModelManager | None,
    ) -> Iterator[Drift]:
        wanted = dict.fromkeys(uses.literals)
        if inputs is None:
            wanted.update(dict.fromkeys(lock.models))
        for name in uses.inputs:
            chosen = (inputs or {}).get(name, uses.defaults.get(name))
            if not isinstance(chosen, str):
                continue  # no model at all, or what the run itself refuses
            if chosen in lock.models and chosen in lock.model_inputs.get(name, ()):
                wanted[chosen] = None
            else:
                yield drift.model_choice(name, chosen, lock)
        for model_id in wanted:
            locked = lock.models.get(model_id)
            if locked is None:
                continue  # the workflow is another one than was locked, which is told already
            found = pin_model(manager or self._session.model_manager, self.files, model_id)
            if found != locked:
                yield from drift.model_drift(model_id, locked, found)


def _model_options(lock: Lock, uses: ModelUses, inputs: Mapping[str, Any]) -> list[str]:
    """Words of a command that locks the models that were or are chosen for inputs."""
    words = []
    for name in uses.inputs:
        chosen = {*lock.model_inputs.get(name, ()), inputs.get(name)} - {uses.defaults.get(name)}
        for model_id in sorted(item for item in chosen if isinstance(item, str)):
            words += ["--model", f"{name}={model_id}"]
    return words


def _remember(table: OrderedDict[Any, Any], key: Any, value: Any) -> None:
    table[key] = value
    table.move_to_end(key)
    if len(table) > _REMEMBERED:
        table.popitem(last=False)
