"""Makes the block instances of an engine. Instances are never shared between engines."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from execution_engine.block_api.block import WorkflowBlock
from execution_engine.errors import (
    BlockInitParameterNotProvidedError,
    BlockInterfaceError,
    WorkflowError,
)
from execution_engine.plan import Plan, StepPlan
from execution_engine.registry.registry import BlockRegistry

_CONTEXT = "workflow_compilation | steps_initialisation"


def create_blocks(
    plan: Plan, registry: BlockRegistry, init_parameters: Mapping[str, Any]
) -> list[WorkflowBlock]:
    """One fresh block for each step of the plan, in its order; on a failure those already made are
    closed.

    Raises:
        BlockInitParameterNotProvidedError: a constructor argument has no value; the text names step
            and argument.
        BlockInterfaceError: a constructor does not take the arguments its block asks for, or
            raised; errors of the engine pass as they are.
    """
    created: list[WorkflowBlock] = []
    try:
        for step in plan.steps:
            created.append(_create(step, registry, init_parameters))
    except BaseException as error:
        try:
            close_blocks(created)
        except Exception as later:
            error.add_note(f"Closing the blocks made before failed too: {later}")
        raise
    return created


def close_blocks(blocks: list[WorkflowBlock]) -> None:
    """Closes every block; the first error is raised after all were closed."""
    first: Exception | None = None
    for block in blocks:
        try:
            block.close()
        except Exception as error:
            first = first or error
    if first is not None:
        raise first


def _create(
    step: StepPlan, registry: BlockRegistry, init_parameters: Mapping[str, Any]
) -> WorkflowBlock:
    arguments: dict[str, Any] = {}
    for parameter in step.spec.init_parameters:
        found, value = registry.initializer(step.spec.source, parameter, init_parameters)
        if not found:
            raise BlockInitParameterNotProvidedError(
                f"Step '{step.name}' ({step.spec.type_id}) needs the init parameter "
                f"'{step.spec.source}.{parameter}'; given: {', '.join(init_parameters) or 'none'}.",
                context=_CONTEXT,
            )
        arguments[parameter] = value
    try:
        block = step.block(**arguments)
    except WorkflowError:
        raise
    except TypeError as error:
        raise BlockInterfaceError(
            f"Step '{step.name}': {step.spec.module}.{step.spec.class_name} cannot be made with "
            f"the init parameters {', '.join(arguments) or 'none'}: {error}",
            context=_CONTEXT,
            inner_error=error,
        ) from error
    except Exception as error:  # whatever the constructor of a plug-in raises
        raise BlockInterfaceError(
            f"Step '{step.name}': {step.spec.module}.{step.spec.class_name} cannot be made: "
            f"{type(error).__name__}: {error}",
            context=_CONTEXT,
            inner_error=error,
        ) from error
    block._workflow_step_name = step.name  # type: ignore[attr-defined]
    block._workflow_step_type = step.spec.type_id  # type: ignore[attr-defined]
    block._workflow_step_selector = f"$steps.{step.name}"  # type: ignore[attr-defined]
    return block
