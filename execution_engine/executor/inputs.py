"""Reads what a caller gives a run: decodes batch inputs, takes defaults, checks parameters. Never
changes the caller's data.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from pydantic import ValidationError

from execution_engine.compiler.validation_messages import literal_expectations
from execution_engine.definition.parser import describe
from execution_engine.errors import RuntimeInputError, WorkflowImageLoadError
from execution_engine.executor.axes import Axis
from execution_engine.executor.state import RunState
from execution_engine.kinds.codec import DecodingContext
from execution_engine.plan import InputPlan, Plan

_ASSEMBLY = "workflow_execution | workflow_input_assembly"
_VALIDATION = "workflow_execution | runtime_input_validation"
# (decoder of the n-th element) -> what the caller gave for it
Decode = Callable[[str, Any], Any]


def assemble_inputs(
    plan: Plan, given: Mapping[str, Any], state: RunState, context: DecodingContext
) -> None:
    """Fills the slots of all inputs.

    Raises:
        RuntimeInputError: a batch input is missing, sizes disagree, or a value does not decode.
    """
    if not isinstance(given, Mapping):
        raise RuntimeInputError(
            f"The inputs of a run are an object of values by name, got {describe(given)}.",
            context=_ASSEMBLY,
        )
    size = _batch_size(plan, given)
    _check_batch(size, context)
    for item in plan.inputs:
        if item.declaration.is_parameter:
            name = item.declaration.name
            state.slots[item.slot] = given.get(name, item.declaration.default)
        else:
            _assemble_batch(item, given, size, state, context)
    if state.axes[0] is None:
        state.axes[0] = Axis([size])


def check_parameters(plan: Plan, state: RunState) -> None:
    """Checks parameters against the fields they feed and stores the values as those fields take
    them.

    Raises:
        RuntimeInputError: a value fits none of a field's literal forms.
    """
    for item in plan.substitutions:
        value = state.slots[item.source]
        scratch = item.manifest.model_copy()
        try:
            scratch.__pydantic_validator__.validate_assignment(scratch, item.field, value)
        except ValidationError as error:
            declared = item.parameter
            missing = " (it was not given and has no default)" if value is None else ""
            raise RuntimeInputError(
                f"Parameter '{declared.name}' is {describe(value)}{missing}, which '{item.field}' "
                f"of step '{item.step}' does not take: it takes {literal_expectations(error)}.",
                context=_VALIDATION,
                inner_error=error,
            ) from error
        state.slots[item.slot] = scratch.__dict__[item.field]


def _batch_size(plan: Plan, given: Mapping[str, Any]) -> int:
    """Length of the first batch value that is no list of one; 1 when there is none."""
    for item in plan.inputs:
        if item.declaration.is_parameter:
            continue
        value = given.get(item.declaration.name)
        if isinstance(value, (list, tuple)) and len(value) != 1:
            return len(value)
    return 1


def _check_batch(size: int, context: DecodingContext) -> None:
    most = context.limits.max_batch
    if most is not None and size > most:
        raise RuntimeInputError(
            f"The batch of this run has {size} elements; this host takes at most {most}.",
            context=_ASSEMBLY,
        )


def _assemble_batch(
    item: InputPlan,
    given: Mapping[str, Any],
    size: int,
    state: RunState,
    context: DecodingContext,
) -> None:
    name = item.declaration.name
    value = given.get(name)
    if value is None:
        known = ", ".join(given) or "nothing"
        found = "is null" if name in given else f"was not given; the run got: {known}"
        raise RuntimeInputError(
            f"Input '{name}' ({item.declaration.type}) {found}.", context=_ASSEMBLY
        )

    decoded = 0

    def decode(identifier: str, leaf: Any) -> Any:
        nonlocal decoded
        decoded += 1
        _check_batch(decoded, context)
        return _decode(item, identifier, leaf, context)

    depth = item.declaration.dimensionality
    if isinstance(value, (list, tuple)):
        if len(value) == 1 and size != 1:
            first = _nested(decode, name, f"{name}.[0]", value[0], depth - 1)
            nested = [first] * size
        elif len(value) == size:
            nested = [
                _nested(decode, name, f"{name}.[{i}]", element, depth - 1)
                for i, element in enumerate(value)
            ]
        else:
            raise RuntimeInputError(
                f"Input '{name}' has {len(value)} elements, but this run has a batch of {size}.",
                context=_ASSEMBLY,
            )
    elif depth > 1:
        raise RuntimeInputError(
            f"Input '{name}' is nested {depth} levels deep and needs a list, got "
            f"{describe(value)}.",
            context=_ASSEMBLY,
        )
    else:
        nested = [decode(name, value)] * size
    axis = Axis([size])
    if state.axes[0] is None:
        state.axes[0] = axis
    current = state.axes[0]
    column: list[Any] = nested
    for number in item.axes[1:]:
        current = Axis([len(inner) for inner in column], current)
        state.axes[number] = current
        column = [leaf for inner in column for leaf in inner]
    state.slots[item.slot] = column


def _nested(decode: Decode, name: str, identifier: str, value: Any, depth: int) -> Any:
    if depth == 0:
        return decode(identifier, value)
    if not isinstance(value, (list, tuple)):
        raise RuntimeInputError(
            f"Input '{name}' needs a list at '{identifier}' ({depth} more "
            f"level{'s' if depth > 1 else ''} of nesting), "
            f"got {describe(value)}.",
            context=_ASSEMBLY,
        )
    return [
        _nested(decode, name, f"{identifier}.[{i}]", element, depth - 1)
        for i, element in enumerate(value)
    ]


def _decode(item: InputPlan, identifier: str, value: Any, context: DecodingContext) -> Any:
    if value is None or not item.codecs:
        return value
    refusals: list[str] = []
    first: Exception | None = None
    for codec in item.codecs:
        try:
            return codec.deserialise(identifier, value, context)
        except Exception as error:  # the contract: any refusal means "try the next kind"
            first = first or error
            refusals.append(f"as {codec.kind}: {str(error).rstrip('.')}")
    message = f"Input '{identifier}' does not decode ({'; '.join(refusals)})."
    if len(refusals) == 1 and isinstance(first, WorkflowImageLoadError):
        message = first.public_message  # it names the input itself
    raise RuntimeInputError(
        message,
        context=_ASSEMBLY,
        inner_error=first,
    ) from first
