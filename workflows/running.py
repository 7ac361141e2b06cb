"""`run_locally` and `compile_workflow`: one call from a workflow to its results. Holds the default
session, the only object of this package that outlives a call.
"""

from __future__ import annotations

import os
import threading
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from execution_engine.executor.limits import CancellationToken
from execution_engine.executor.report import RunReport
from execution_engine.kinds.representation import NUMPY
from execution_engine.plan import Plan
from execution_engine.profiling import WorkflowsProfiler
from execution_engine.registry.init_parameters import core_parameter
from workflows.loading import WorkflowSource
from workflows.session import (
    MODEL_MANAGER,
    REMOTE,
    RepresentationName,
    Session,
    definition_of,
)

if TYPE_CHECKING:
    from workflows.locking.lock_file import LockSource
    from workflows.workflow import Workflow

_default: Session | None = None
_default_lock = threading.Lock()


def default_session() -> Session:
    """The session of calls that name none: made at the first call, with settings from the
    environment. It is why a second call neither compiles nor loads a model again. After
    `default_session().close()` the next call makes a new one.
    """
    global _default
    with _default_lock:
        if _default is None or _default.closed:
            _default = Session()
        return _default


def compile_workflow(
    workflow: WorkflowSource | Workflow,
    session: Session | None = None,
    representation: RepresentationName = NUMPY,
) -> Plan:
    """The plan of a workflow, checked and ready to run.

    Args:
        workflow: a JSON object, JSON text, the path of a file, or a `Workflow`.
        session: whose blocks and plans to use; `default_session()` when None.
        representation: see `run_locally`.

    Raises:
        WorkflowCompilerError: the definition has problems, all of them in `.errors`.
        WorkflowEnvironmentConfigurationError: the representation needs a library that is not
            installed.
        NotSupportedExecutionEngineError: it asks for another engine version.
    """
    return (session or default_session()).compile(workflow, representation=representation)


def run_locally(
    workflow: WorkflowSource | Workflow,
    inputs: Mapping[str, Any],
    *,
    session: Session | None = None,
    serialize: bool = False,
    max_concurrent_steps: int = 1,
    deadline: float | None = None,
    cancellation: CancellationToken | None = None,
    report: RunReport | None = None,
    profiler: WorkflowsProfiler | None = None,
    init_parameters: Mapping[str, Any] | None = None,
    representation: RepresentationName = NUMPY,
    lock: LockSource | None = None,
) -> list[dict[str, Any]]:
    """Runs a workflow in this process with fresh block state.

    Example:
        results = run_locally("workflow.json", {"image": "street.jpg", "confidence": 0.4})

    Args:
        workflow: a JSON object, JSON text, the path of a file, or a `Workflow`.
        inputs: values of the workflow's inputs by name. An image is a uint8 array (h, w, 3) BGR or
            (h, w), encoded bytes, a path, base64 text, a `WorkflowImageData`, or a list of these.
            Never changed.
        session: whose blocks, plans, models and settings to use; `default_session()` when None.
        serialize: give JSON data instead of Python objects.
        max_concurrent_steps: how many independent steps may run at the same time.
        deadline: seconds the run may take; checked before every call of a block and at its end.
        cancellation: lets another thread stop the run before its next call of a block.
        report: filled with the calls of each step and what was skipped and why.
        profiler: records where the time went.
        init_parameters: constructor arguments of blocks, as `source.name` or `name`.
        representation: how steps hand predictions and pixels on. `numpy`: arrays and
            `sv.Detections`. `tensor`: torch tensors and `inference_models.predictions` wherever a
            block has a sibling for them, also in the results. `auto`: tensors around models that do
            not run on the CPU, results as with `numpy`. JSON is the same in all of them. `numpy` is
            the default because it needs no torch and is the faster one on a CPU.
        lock: refuse to run with anything but what this lock says: the path of a lock file, its JSON
            object, or a `Lock`.

    Returns:
        One object an element of the batch, with one member a declared output.

    Raises:
        WorkflowCompilerError: the definition has problems, all of them in `.errors`.
        RuntimeInputError: a value does not fit the declared inputs.
        StepExecutionError: the code of a block raised.
        RunDeadlineExceededError, RunCancelledError: the run was stopped.
        WorkflowEnvironmentConfigurationError: the representation needs a library that is not
            installed.
        LockDriftError: something differs from the lock; `.drifts` holds every difference.
        WorkflowLockError: the lock cannot be read.
    """
    session = session or default_session()
    if lock is not None:
        workflow = locked(workflow, lock, inputs, session, init_parameters)
    engine = session.engine(
        workflow,
        max_concurrent_steps=max_concurrent_steps,
        init_parameters=init_parameters,
        profiler=profiler,
        representation=representation,
    )
    with engine:
        return engine.run(
            inputs,
            serialize_results=serialize,
            deadline=deadline,
            cancellation=cancellation,
            report=report,
        )


def locked(
    workflow: WorkflowSource | Workflow,
    lock: LockSource,
    inputs: Mapping[str, Any],
    session: Session,
    init_parameters: Mapping[str, Any] | None = None,
) -> Mapping[str, Any]:
    """The definition of a workflow that its lock allows to run, read once.

    Raises:
        LockDriftError: something differs from the lock; `.drifts` holds every difference.
        WorkflowLockError: the lock cannot be read.
    """
    name = _file_of(workflow)
    definition = definition_of(workflow)
    parameters = init_parameters or {}
    manager = core_parameter(parameters, MODEL_MANAGER)
    if manager is None and session.execution_mode(parameters) == REMOTE:
        manager = session.remote_models
    session.locks.check(definition, lock, inputs, workflow_name=name, model_manager=manager)
    return definition


def _file_of(workflow: WorkflowSource | Workflow) -> str:
    """The file a workflow comes from, empty when there is none."""
    if isinstance(workflow, (str, os.PathLike)):
        text = os.fspath(workflow)
        return "" if text.lstrip().startswith("{") else text
    return str(getattr(workflow, "origin", ""))
