"""Builds the arguments of a step's calls from slots. Calls nothing."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from execution_engine.block_api.batch import Batch
from execution_engine.executor.axes import Axis
from execution_engine.executor.masks import Masks
from execution_engine.executor.state import RunState
from execution_engine.plan import SINGLE, ArgumentPlan, StepPlan, ValuePlan

Columns = list[tuple[str, list[Any]]]


class ArgumentBuilder:
    """Reads the arguments of one step.

    Args:
        plan: the step.

    Attributes:
        reads_slots: whether any argument comes from a slot.
        reads_batches: whether any argument comes from a slot with one value a batch element.
        can_be_empty: arguments for which None means an empty element, not a parameter that is None.
        batched_containers: arguments that are lists or objects of values, by name.
    """

    __slots__ = (
        "_accepts_empty",
        "_cast",
        "_constants",
        "_single",
        "_spread",
        "batched_containers",
        "can_be_empty",
        "reads_batches",
        "reads_slots",
    )

    def __init__(self, plan: StepPlan) -> None:
        self._accepts_empty = plan.spec.accepts_empty
        self._constants: Mapping[str, Any] = plan.constants
        self._single: list[ArgumentPlan] = []
        self._cast: list[ArgumentPlan] = []
        self._spread: list[ArgumentPlan] = []
        self.can_be_empty: set[str] = set()
        self.batched_containers: dict[str, ArgumentPlan] = {}
        self.reads_slots = self.reads_batches = False
        for argument in plan.arguments:
            values = argument.values
            self.reads_slots = self.reads_slots or bool(values)
            batched = any(value.axis != SINGLE for value in values)
            self.reads_batches = self.reads_batches or batched
            if batched or (argument.cast and argument.template is not None):
                self._spread.append(argument)
            elif argument.cast:
                self._cast.append(argument)
            else:
                self._single.append(argument)
            if argument.template is not None and argument not in self._single:
                self.batched_containers[argument.name] = argument
            if any(value.axis != SINGLE or value.from_step for value in values):
                self.can_be_empty.add(argument.name)

    def singles(self, state: RunState, closed: bool) -> tuple[dict[str, Any], str | None]:
        """Constants and single values, with the name of the argument that is empty (None when none
        is).

        Only a value made by a step counts as empty when it is None. With `closed` every value is
        empty.
        """
        arguments = dict(self._constants)
        empty: str | None = None
        slots = state.slots
        for argument in self._single:
            value_plan = argument.value
            if value_plan is not None:
                value = None if closed else slots[value_plan.slot]
                if value is None and (value_plan.from_step or closed):
                    empty = argument.name
                arguments[argument.name] = value
                continue
            container = argument.template.copy()
            for key, part in argument.parts:
                value = None if closed else slots[part.slot]
                if value is None and (part.from_step or closed):
                    empty = argument.name
                container[key] = value
            arguments[argument.name] = container
        for argument in self._cast:
            value_plan = argument.value
            if value_plan is None:
                continue
            value = None if closed else slots[value_plan.slot]
            if value is None:
                arguments[argument.name] = None
                if value_plan.from_step or closed:
                    empty = argument.name
        return arguments, empty

    def columns(
        self, state: RunState, axis: Axis | None, masks: Masks | None, arguments: Mapping[str, Any]
    ) -> Columns:
        """One list of values for each argument that is not in `arguments`, aligned with the step's
        axis (or with one call).

        An entry is None where the element is empty and the block does not take empty elements.
        """
        columns = [
            (argument.name, self._column(argument, state, axis, masks)) for argument in self._spread
        ]
        for argument in self._cast:
            if argument.name not in arguments:
                columns.append((argument.name, self._column(argument, state, axis, masks)))
        return columns

    def _column(
        self, argument: ArgumentPlan, state: RunState, axis: Axis | None, masks: Masks | None
    ) -> list[Any]:
        if argument.template is None:
            if argument.value is None:
                return _repeated(argument, argument.constant, state, axis)
            return self._value_column(argument, argument.value, state, axis, masks)
        parts = [
            (key, self._value_column(argument, part, state, axis, masks), part)
            for key, part in argument.parts
        ]
        fixed = [
            (key, _repeated(argument, argument.template[key], state, axis))
            for key in argument.cast_keys
        ]
        column: list[Any] = []
        for position in range(1 if axis is None else axis.size):
            container: Any = argument.template.copy()
            empty = False
            for key, values, part in parts:
                container[key] = values[position]
                if values[position] is None and (part.from_step or part.axis != SINGLE):
                    empty = True
            for key, values in fixed:
                container[key] = values[position]
            column.append(None if empty and not self._accepts_empty else container)
        return column

    def _value_column(
        self,
        argument: ArgumentPlan,
        value: ValuePlan,
        state: RunState,
        axis: Axis | None,
        masks: Masks | None,
    ) -> list[Any]:
        if value.axis == SINGLE:
            return _repeated(argument, state.slots[value.slot], state, axis)
        own = state.axis(value.axis)
        content = state.slots[value.slot]
        allowed = None if masks is None else masks.allowed(own)
        if allowed is not None:
            content = [
                item if open_ else None for item, open_ in zip(content, allowed, strict=True)
            ]
        if own is axis:
            return content
        return _grouped(content, own, axis, self._accepts_empty)


def batch_of(content: list[Any], axis: Axis, positions: list[int]) -> Batch[Any]:
    """A batch of elements at positions of an axis."""
    return Batch(content, _Indices(axis, positions))


def transposed(argument: ArgumentPlan, content: list[Any], axis: Axis, positions: list[int]) -> Any:
    """A list (or object) of batches from one list (or object) an element."""
    result = argument.template.copy()
    for key, value in argument.parts:
        values = [container[key] for container in content]
        batched = value.axis != SINGLE or (argument.cast and values[0] is not None)
        result[key] = batch_of(values, axis, positions) if batched else values[0]
    for key in argument.cast_keys:
        result[key] = batch_of([container[key] for container in content], axis, positions)
    return result


class _Indices:
    """Makes the indices of a group when a block asks for them."""

    __slots__ = ("_axis", "_positions")

    def __init__(self, axis: Axis, positions: list[int]) -> None:
        self._axis = axis
        self._positions = positions

    def __call__(self) -> list[tuple[int, ...]]:
        indices = self._axis.indices
        return [indices[i] for i in self._positions]


def _repeated(argument: ArgumentPlan, single: Any, state: RunState, axis: Axis | None) -> list[Any]:
    """One value for every call; as batches when the argument is cast to a level below the calls."""
    calls = 1 if axis is None else axis.size
    if not argument.cast or single is None:
        return [single] * calls
    if argument.cast_axis == SINGLE:
        for level in range(argument.cast_wraps, 0, -1):
            single = Batch([single], [(0,) * level])
        return [single]
    own = state.axis(argument.cast_axis)
    content = [single] * own.size
    if argument.cast_wraps:
        content = [Batch([single], [(*index, 0)]) for index in own.indices]
    return content if own is axis else _grouped(content, own, axis, False)


def _grouped(
    content: list[Any], own: Axis, axis: Axis | None, keep_empty: bool
) -> list[Batch[Any] | None]:
    """The children of every call as a `Batch`; None where there is nothing left."""
    ranges = [range(own.size)] if axis is None else [own.children(i) for i in range(axis.size)]
    groups: list[Batch[Any] | None] = []
    for positions in ranges:
        kept = list(positions) if keep_empty else [i for i in positions if content[i] is not None]
        groups.append(batch_of([content[i] for i in kept], own, kept) if kept else None)
    return groups
