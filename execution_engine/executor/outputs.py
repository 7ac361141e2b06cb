"""Turns slots into the response: one object a batch element, values nested as they were made."""

from __future__ import annotations

from collections.abc import Collection
from typing import Any

from execution_engine.errors import ExecutionEngineRuntimeError
from execution_engine.executor.axes import Axis
from execution_engine.executor.state import RunState
from execution_engine.kinds.codec import CodecRegistry
from execution_engine.plan import SINGLE, OutputPlan, Plan

# Kinds that can hold no prediction, so that nothing has to be looked for in them.
_PLAIN_KINDS = frozenset(
    {
        "image",
        "string",
        "integer",
        "float",
        "float_zero_to_one",
        "boolean",
        "bytes",
        "numpy_array",
        "embedding",
        "timestamp",
        "secret",
        "video_metadata",
        "contours",
        "rgb_color",
        "top_class",
        "language_model_output",
        "inference_id",
        "parent_id",
        "prediction_type",
        "roboflow_model_id",
    }
)


def construct_outputs(
    plan: Plan, state: RunState, serialize: bool, excluded: Collection[str] = ()
) -> list[dict[str, Any]]:
    """The response: a list with one object an element of the batch, or a single object when nothing
    is batched.

    Args:
        plan: the plan that was run.
        state: its slots.
        serialize: whether values become JSON data.
        excluded: names of outputs to leave out; the number of rows stays what it is with them.
    """
    if not serialize:
        _convert(plan, state)
    rows = _row_count(plan, state)
    columns: list[tuple[str, list[Any]]] = []
    for output in plan.outputs:
        if output.name in excluded:
            continue
        finish = _Finisher(output, plan.codecs, serialize)
        if output.axis == SINGLE:
            columns.append((output.name, [_single(output, state, finish)] * rows))
        else:
            nested = _nested(output, state, finish)
            columns.append((output.name, [nested] * rows if output.generated else nested))
    return [{name: values[row] for name, values in columns} for row in range(rows)]


def _convert(plan: Plan, state: RunState) -> None:
    """Brings results into the representation of the run; codecs write any of them as JSON."""
    for output in plan.outputs:
        for conversion in output.conversions.values():
            assert state.conversions is not None
            try:
                state.conversions.fill(state.slots, conversion)
            except Exception as error:  # whatever the converter of a plug-in raises
                raise ExecutionEngineRuntimeError(
                    f"Output '{output.name}' cannot be converted to the representation "
                    f"'{plan.representation}': {error}",
                    context="workflow_execution | outputs_construction",
                    inner_error=error,
                ) from error


def _row_count(plan: Plan, state: RunState) -> int:
    if any(output.axis != SINGLE and not output.generated for output in plan.outputs):
        return state.axis(0).size
    batch_inputs = [item for item in plan.inputs if not item.declaration.is_parameter]
    if batch_inputs and state.axis(0).size == 0:
        return 0
    return 1


def _single(output: OutputPlan, state: RunState, finish: _Finisher) -> Any:
    if not output.is_object:
        _, slot, kinds = output.members[0]
        return finish.value(state.slots[finish.slot(slot)], kinds)
    return {
        name: finish.value(state.slots[finish.slot(slot)], kinds)
        for name, slot, kinds in output.members
    }


def _nested(output: OutputPlan, state: RunState, finish: _Finisher) -> list[Any]:
    """Values along the output's axis, nested up to the top axis."""
    axis = state.axis(output.axis)
    columns = []
    for _, slot, kinds in output.members:
        columns.append([finish.value(value, kinds) for value in state.slots[finish.slot(slot)]])
    if output.is_object:
        names = [name for name, _, _ in output.members]
        flat: list[Any] = [
            dict(zip(names, values, strict=True)) for values in zip(*columns, strict=True)
        ]
        if not columns:
            flat = [{} for _ in range(axis.size)]
    else:
        flat = columns[0]
    current: Axis = axis
    while current.parent is not None:
        starts = current.starts
        flat = [flat[starts[i] : starts[i + 1]] for i in range(current.parent.size)]
        current = current.parent
    return flat


class _Finisher:
    """Moves predictions to the root space and serialises, as one output asks for."""

    __slots__ = ("_codecs", "_conversions", "_name", "_serialize", "_to_root")

    def __init__(self, output: OutputPlan, codecs: CodecRegistry, serialize: bool) -> None:
        self._codecs = codecs
        self._serialize = serialize
        self._to_root = output.to_root
        self._name = output.name
        self._conversions = {} if serialize else output.conversions

    def slot(self, slot: int) -> int:
        """Where the value of a member lies in the representation that is given out."""
        conversion = self._conversions.get(slot)
        return slot if conversion is None else conversion.slot

    def value(self, value: Any, kinds: tuple[str, ...]) -> Any:
        """The value as it appears in the response."""
        if value is None:
            return None
        if self._to_root and not _PLAIN_KINDS.issuperset(kinds):
            try:
                value = self._moved(value)
            except RecursionError as error:
                raise ExecutionEngineRuntimeError(
                    f"Output '{self._name}' holds a value that holds itself or is nested too deep.",
                    context="workflow_execution | outputs_construction",
                    inner_error=error,
                ) from error
        return self._codecs.serialise(value, kinds) if self._serialize else value

    def _moved(self, value: Any) -> Any:
        if isinstance(value, (str, int, float, bytes)) or value is None:
            return value
        if type(value) is list:
            return [self._moved(item) for item in value]
        if type(value) is tuple:
            return tuple(self._moved(item) for item in value)
        if type(value) is dict:
            return {key: self._moved(item) for key, item in value.items()}
        codec = self._codecs.for_value(value)
        if codec is not None and codec.offers("to_root"):
            return codec.to_root(value)
        return value
