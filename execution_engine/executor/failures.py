"""Turns what the code of a block raised into the error that leaves the engine."""

from __future__ import annotations

import traceback
from collections.abc import Callable
from typing import NoReturn

from execution_engine.definition.references import is_reference
from execution_engine.errors import (
    BlockTraceback,
    RoboflowQueryLanguageError,
    StepExecutionError,
    WorkflowError,
)
from execution_engine.plan import StepPlan

StepErrorHandler = Callable[[str, Exception], None]


def raise_step_failure(
    step: StepPlan, error: Exception, handler: StepErrorHandler | None
) -> NoReturn:
    """Raises `StepExecutionError` for an error of a step, unless the host's handler raises its own.

    A note on the error says which steps and inputs the step takes its values from.

    Args:
        step: the step whose code raised.
        error: what it raised; no `WorkflowError`, those pass as they are.
        handler: called first with the step's name and the error.
    """
    if handler is not None:
        handler(step.name, error)
    last = traceback.extract_tb(error.__traceback__)[-1:]
    failure = StepExecutionError(
        str(error) or type(error).__name__,
        context="workflow_execution | step_execution",
        inner_error=error,
        block_id=step.name,
        block_type=step.spec.type_id,
    )
    failure.block_traceback = BlockTraceback(
        "".join(traceback.format_exception(error)),
        last[0].lineno if last else None,
        last[0].line if last else None,
    )
    _note_sources(step, failure)
    raise failure from error


def name_step(step: StepPlan, error: WorkflowError) -> None:
    """Names the step in an error of the query language that its block let through.

    Such errors keep their class. Other errors of the engine, and those that name a step already,
    stay as they are.
    """
    if not isinstance(error, RoboflowQueryLanguageError) or error.block_id is not None:
        return
    error.block_id, error.block_type = step.name, step.spec.type_id
    error.public_message = f"Step '{step.name}' ({step.spec.type_id}): {error.public_message}"
    error.args = (error.public_message,)
    _note_sources(step, error)


def _note_sources(step: StepPlan, error: WorkflowError) -> None:
    sources = [
        f"{name} from {value}"
        for name, value in step.manifest.__dict__.items()
        if is_reference(value)
    ]
    if sources:
        error.add_note(f"Step '{step.name}' takes {', '.join(sources)}.")
