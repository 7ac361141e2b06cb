"""Runs one workflow for one request, on a worker thread: from the definition to the JSON text of
the answer. Knows no route.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from execution_engine.errors import (
    ClientCausedStepExecutionError,
    RunCancelledError,
    RunDeadlineExceededError,
    WorkflowError,
)
from execution_engine.executor.report import RunReport
from execution_engine.profiling import ChromeTraceProfiler
from workflows.server.errors import status_of_model_error
from workflows.server.faults import DeadlineExceededError
from workflows.server.host import model_calls
from workflows.server.lossless import lossless_rows
from workflows.server.observability.steps import StepObserver
from workflows.server.response_json import to_json
from workflows.server.workflow_locks import check_locks
from workflows.session import CORE_SOURCE

if TYPE_CHECKING:
    from workflows.server.host import Job, ServerHost
    from workflows.server.request_bodies import RunOptions

_DISABLE_SINKS = "disable_sinks"


def run_workflow(
    host: ServerHost,
    job: Job,
    definition: Mapping[str, Any],
    options: RunOptions,
    *,
    is_preview: bool = False,
    stored: Path | None = None,
) -> bytes:
    """The answer to a run: `{"outputs": [...]}`, with `profiler_trace` where it was asked for and
    `lock_digest` where a lock came along.

    Args:
        host: session and metrics.
        job: deadline and cancellation.
        definition: the workflow.
        options: inputs and what the client wants of the answer.
        is_preview: noted in the profile.
        stored: file of a stored workflow.

    Raises:
        DeadlineExceededError: the deadline passed between two steps.
        WorkflowError: the definition, its inputs or a step; see `errors`.
    """
    trace = ChromeTraceProfiler(max_runs=1) if options.enable_profiling else None
    observer = StepObserver(job.record, host.metrics, trace)
    outcome = "failed"
    try:
        lock_digest = check_locks(host, definition, options, stored)
        with (
            model_calls(job),
            host.session.engine(
                definition,
                init_parameters=_init_parameters(options),
                profiler=observer,
                step_error_handler=_explain_model_error,
                workflow_id=options.workflow_id,
            ) as engine,
        ):
            report = RunReport() if options.lossless else None
            outputs = engine.run(
                options.inputs,
                serialize_results=not options.lossless,
                report=report,
                _is_preview=is_preview,
                deadline=job.time_left,
                cancellation=job.token,
                excluded_outputs=options.excluded_fields or (),
            )
            if report is not None:
                outputs = lossless_rows(outputs, engine.plan)
                if report.secrets is not None:
                    outputs = [report.secrets.in_data(row) for row in outputs]
        outcome = "ok"
    except RunDeadlineExceededError as error:
        outcome = "deadline"
        raise DeadlineExceededError(
            f"{error.public_message} The request had waited {job.record.times.queued or 0:.3g} s "
            "for a worker.",
            job.record.step,
        ) from error
    except RunCancelledError:
        outcome = "cancelled"
        raise
    finally:
        host.metrics.runs.labels(outcome).inc()
    answer: dict[str, Any] = {"outputs": outputs}
    if lock_digest is not None:
        answer["lock_digest"] = lock_digest
    if trace is not None:
        answer["profiler_trace"] = trace.export_trace()
    return to_json(answer)


def _init_parameters(options: RunOptions) -> dict[str, Any] | None:
    if not options.disable_sinks:
        return None
    # Both names: the qualified one wins over the default of the core, the plain one reaches the
    # blocks of other plug-ins.
    return {_DISABLE_SINKS: True, f"{CORE_SOURCE}.{_DISABLE_SINKS}": True}


def _explain_model_error(step: str, error: Exception) -> None:
    """A model that is not there or takes no such parameter is the client's doing, not a fault of
    the step.
    """
    name = type(error).__name__
    if name == "ModelDeadlineExceededError":
        raise RunDeadlineExceededError(
            f"The deadline passed while step '{step}' waited for its model.", "workflow_execution"
        ) from error
    if name == "ModelCallCancelledError":
        raise RunCancelledError(
            f"The run was cancelled while step '{step}' waited for its model.", "workflow_execution"
        ) from error
    status = status_of_model_error(error)
    if status is None or status == 500 or isinstance(error, WorkflowError):
        return
    raise ClientCausedStepExecutionError(
        f"Step '{step}': {error}",
        status_code=status,
        block_id=step,
        inner_error=error,
    ) from error
