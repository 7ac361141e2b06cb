"""Builds the arguments of a step's calls from slots. Calls nothing."""

from __future__ import annotations

import copy
from collections.abc import Mapping
from typing import Any

import numpy as np

from execution_engine.block_api.batch import Batch
from execution_engine.executor.axes import Axis
from execution_engine.executor.state import RunState
from execution_engine.images.image_data import WorkflowImageData
from execution_engine.kinds.codec import CodecRegistry
from execution_engine.plan import SINGLE, ArgumentPlan, StepPlan, ValuePlan

Columns = list[tuple[str, list[Any]]]


class Masks:
    """Which elements of each axis the gates of a step let through.

    Attributes:
        closed_by: name of the gate that closes the step as a whole, None when none does.
    """

    __slots__ = ("_state", "_verdicts", "closed_by")

    def __init__(self, plan: StepPlan, state: RunState) -> None:
        self._state = state
        self._verdicts: list[tuple[Axis, list[bool], str]] = []
        self.closed_by: str | None = None
        for gate in plan.gates:
            verdict = state.slots[gate.slot]
            if gate.axis == SINGLE or verdict is None:
                if not verdict:
                    self.closed_by = gate.source
            else:
                self._verdicts.append((state.axis(gate.axis), verdict, gate.source))

    def allowed(self, axis: Axis) -> list[bool] | None:
        """One verdict an element of `axis`, None when every element may run."""
        if self.closed_by is not None:
            return [False] * axis.size
        result: list[bool] | None = None
        for gate_axis, verdict, _ in self._verdicts:
            if not _is_ancestor(gate_axis, axis):
                continue
            spread = axis.spread(verdict, gate_axis)
            result = (
                spread if result is None else [a and b for a, b in zip(result, spread, strict=True)]
            )
        return result

    @property
    def gate_names(self) -> str:
        """The gates with a verdict an element, for reports."""
        return ", ".join(name for _, _, name in self._verdicts) or self.closed_by or ""


class ArgumentBuilder:
    """Reads the arguments of one step.

    Args:
        plan: the step.
        codecs: used to copy values for blocks that write in place.
    """

    __slots__ = ("_accepts_empty", "_codecs", "_plan", "single", "spread")

    def __init__(self, plan: StepPlan, codecs: CodecRegistry) -> None:
        self._plan = plan
        self._codecs = codecs
        self._accepts_empty = plan.spec.accepts_empty
        self.single: list[ArgumentPlan] = []
        self.spread: list[ArgumentPlan] = []
        for argument in plan.arguments:
            axes = {value.axis for value in _values(argument)} - {SINGLE}
            if not axes and not argument.cast:
                self.single.append(argument)
            else:
                self.spread.append(argument)

    def singles(self, state: RunState, closed: bool) -> tuple[dict[str, Any], str | None]:
        """Constants and single values, with the name of the argument that is empty (None when none
        is).

        Only a value made by a step counts as empty when it is None. With `closed` every such value
        is empty.
        """
        arguments = dict(self._plan.constants)
        empty: str | None = None
        for argument in self.single:
            if argument.value is not None:
                value = state.slots[argument.value.slot]
                if closed:
                    value = None
                if value is None and (argument.value.from_step or closed):
                    empty = argument.name
                if argument.private and value is not None:
                    value = private_copy(value, self._codecs)
                arguments[argument.name] = value
                continue
            container = argument.template.copy()
            for key, part in argument.parts:
                value = None if closed else state.slots[part.slot]
                if value is None and (part.from_step or closed):
                    empty = argument.name
                container[key] = private_copy(value, self._codecs) if argument.private else value
            arguments[argument.name] = container
        return arguments, empty

    def columns(self, state: RunState, axis: Axis | None, masks: Masks | None) -> Columns:
        """One list of values for each batch-oriented argument, aligned with the step's axis (or
        with one call).

        An entry is None where the element is empty and the block does not take empty elements.
        """
        return [
            (argument.name, self._column(argument, state, axis, masks)) for argument in self.spread
        ]

    def _column(
        self, argument: ArgumentPlan, state: RunState, axis: Axis | None, masks: Masks | None
    ) -> list[Any]:
        if argument.value is not None or not argument.parts:
            column = self._value_column(argument, argument.value, state, axis, masks)
        else:
            parts = [
                (key, self._value_column(argument, part, state, axis, masks), part)
                for key, part in argument.parts
            ]
            column = []
            for position in range(1 if axis is None else axis.size):
                container: Any = argument.template.copy()
                empty = False
                for key, values, part in parts:
                    container[key] = values[position]
                    if values[position] is None and (part.from_step or part.axis != SINGLE):
                        empty = True
                column.append(None if empty and not self._accepts_empty else container)
        if argument.private:
            column = [
                None if value is None else private_copy(value, self._codecs) for value in column
            ]
        return column

    def _value_column(
        self,
        argument: ArgumentPlan,
        value: ValuePlan | None,
        state: RunState,
        axis: Axis | None,
        masks: Masks | None,
    ) -> list[Any]:
        if value is None or value.axis == SINGLE:
            single = argument.constant if value is None else state.slots[value.slot]
            return self._repeat(argument, single, state, axis)
        own = state.axis(value.axis)
        content = state.slots[value.slot]
        if content is None:
            content = [None] * own.size
        allowed = None if masks is None else masks.allowed(own)
        if allowed is not None:
            content = [
                item if open_ else None for item, open_ in zip(content, allowed, strict=True)
            ]
        if own is axis:
            return content
        return self._groups(content, own, axis)

    def _repeat(
        self, argument: ArgumentPlan, single: Any, state: RunState, axis: Axis | None
    ) -> list[Any]:
        """One value for every call; as batches when it is cast one level below the calls."""
        calls = 1 if axis is None else axis.size
        if not argument.cast or single is None:
            return [single] * calls
        if argument.cast_axis == SINGLE:
            return [Batch([single], [(0,)])]
        own = state.axis(argument.cast_axis)
        if own is axis:
            return [single] * calls
        return self._groups([single] * own.size, own, axis)

    def _groups(self, content: list[Any], own: Axis, axis: Axis | None) -> list[Any]:
        """The children of every call as a `Batch`; None where there is nothing left."""
        ranges = [range(own.size)] if axis is None else [own.children(i) for i in range(axis.size)]
        groups: list[Any] = []
        for positions in ranges:
            if self._accepts_empty:
                kept = list(positions)
            else:
                kept = [i for i in positions if content[i] is not None]
            if not kept:
                groups.append(None)
                continue
            groups.append(Batch([content[i] for i in kept], _Indices(own, kept)))
        return groups


class _Indices:
    """Makes the indices of a group when a block asks for them."""

    __slots__ = ("_axis", "_positions")

    def __init__(self, axis: Axis, positions: list[int]) -> None:
        self._axis = axis
        self._positions = positions

    def __call__(self) -> list[tuple[int, ...]]:
        indices = self._axis.indices
        return [indices[i] for i in self._positions]


def batch_of(content: list[Any], axis: Axis, positions: list[int]) -> Batch[Any]:
    """A batch of elements at positions of an axis."""
    return Batch(content, _Indices(axis, positions))


def private_copy(value: Any, codecs: CodecRegistry) -> Any:
    """A copy of a value that a block may write to: images, arrays, predictions and containers of
    them.
    """
    if isinstance(value, WorkflowImageData):
        return value.writable_copy()
    if isinstance(value, np.ndarray):
        return value.copy()
    if isinstance(value, Batch):
        return Batch([private_copy(item, codecs) for item in value], value.indices)
    if isinstance(value, list):
        return [private_copy(item, codecs) for item in value]
    if isinstance(value, Mapping):
        return {key: private_copy(item, codecs) for key, item in value.items()}
    codec = codecs.for_value(value)
    if codec is not None and codec.offers("copy"):
        return codec.copy(value)
    return copy.deepcopy(value)


def _values(argument: ArgumentPlan) -> list[ValuePlan]:
    if argument.value is not None:
        return [argument.value]
    return [part for _, part in argument.parts]


def _is_ancestor(candidate: Axis, axis: Axis) -> bool:
    current: Axis | None = axis
    while current is not None:
        if current is candidate:
            return True
        current = current.parent
    return False
