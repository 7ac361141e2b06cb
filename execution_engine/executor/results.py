"""Checks what a block returned and writes it to slots. Calls no block."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NoReturn

from execution_engine.block_api.flow_control import FlowControl
from execution_engine.errors import (
    ExecutionEngineRuntimeError,
    InvalidBlockBehaviourError,
    RuntimeLimitsCausedStepExecutionError,
)
from execution_engine.executor.axes import Axis
from execution_engine.executor.state import RunState
from execution_engine.plan import SINGLE, StepPlan

_CONTEXT = "workflow_execution | step_execution"


class ResultWriter:
    """Writes the results of one step.

    Args:
        plan: the step.
    """

    __slots__ = ("_controls", "_expected", "_plan", "_what")

    def __init__(self, plan: StepPlan) -> None:
        self._plan = plan
        self._expected = plan.outputs.keys()
        self._controls = plan.spec.is_control_flow
        self._what = f"Step '{plan.name}' ({plan.spec.type_id})"

    def write_one(self, state: RunState, result: Any) -> None:
        """The result of a step that ran once; a batch block's list of one is taken apart."""
        if isinstance(result, list) and len(result) == 1 and not self._is_child(result[0]):
            result = result[0]
        if self._controls:
            self._write_verdicts(state, [result], None)
        elif self._plan.spec.output_offset > 0:
            self._write_children(state, [result], None)
        else:
            if type(result) is not dict or result.keys() != self._expected:
                self._refuse(result)
            for name, slot in self._plan.outputs.items():
                state.slots[slot] = result[name]

    def write_batch(self, state: RunState, axis: Axis, positions: list[int], results: Any) -> None:
        """The results of one call for the elements at `positions` of an axis."""
        if isinstance(results, FlowControl):
            results = [results] * len(positions)
        if not isinstance(results, list):
            raise InvalidBlockBehaviourError(
                f"{self._what} works on batches and must return a list, got "
                f"{type(results).__name__}.",
                context=_CONTEXT,
            )
        if len(results) != len(positions):
            raise ExecutionEngineRuntimeError(
                f"{self._what} got {len(positions)} elements and returned {len(results)} results.",
                context=_CONTEXT,
            )
        self.write_each(state, axis, positions, results)

    def write_each(
        self, state: RunState, axis: Axis, positions: list[int], results: list[Any]
    ) -> None:
        """One result for each of `positions`; the other elements of the axis stay empty."""
        if self._controls:
            verdicts = _spread(axis, positions, results, FlowControl())
            self._write_verdicts(state, verdicts, axis)
            return
        if self._plan.spec.output_offset > 0:
            self._write_children(state, _spread(axis, positions, results, []), axis)
            return
        expected = self._expected
        for result in results:
            if type(result) is not dict or result.keys() != expected:
                self._refuse(result)
        for name, slot in self._plan.outputs.items():
            column = [result[name] for result in results]
            state.slots[slot] = _spread(axis, positions, column, None)

    def write_nothing(self, state: RunState) -> int | None:
        """Leaves every output empty and every branch closed; the number of elements left out, None
        for a step that runs once.
        """
        plan = self._plan
        axis = None if plan.axis == SINGLE else state.axis(plan.axis)
        if plan.spec.output_offset > 0:
            state.axes[plan.output_axis] = Axis([0] * (1 if axis is None else axis.size), axis)
            for slot in plan.outputs.values():
                state.slots[slot] = []
        elif axis is not None:
            for slot in plan.outputs.values():
                state.slots[slot] = [None] * axis.size
        for slot in plan.targets.values():
            state.slots[slot] = False if axis is None else [False] * axis.size
        return None if axis is None else axis.size

    def _is_child(self, result: Any) -> bool:
        return self._plan.spec.output_offset > 0 and not isinstance(result, list)

    def _write_children(self, state: RunState, results: list[Any], axis: Axis | None) -> None:
        """Outputs of a step that turns one element into several."""
        rows: list[dict[str, Any]] = []
        for result in results:
            if not isinstance(result, list):
                raise InvalidBlockBehaviourError(
                    f"{self._what} makes several elements of one and must return a list of "
                    f"objects, got {type(result).__name__}.",
                    context=_CONTEXT,
                )
            for row in result:
                if type(row) is not dict or row.keys() != self._expected:
                    self._refuse(row)
            rows.extend(result)
        state.axes[self._plan.output_axis] = Axis([len(result) for result in results], axis)
        for name, slot in self._plan.outputs.items():
            state.slots[slot] = [row[name] for row in rows]

    def _write_verdicts(self, state: RunState, results: list[Any], axis: Axis | None) -> None:
        selected: list[frozenset[str]] = []
        for result in results:
            if not isinstance(result, FlowControl):
                raise InvalidBlockBehaviourError(
                    f"{self._what} decides what runs and must return FlowControl, got "
                    f"{type(result).__name__}.",
                    context=_CONTEXT,
                )
            targets = frozenset(result.targets())
            unknown = targets - self._plan.targets.keys()
            if unknown:
                raise ExecutionEngineRuntimeError(
                    f"{self._what} selected {', '.join(sorted(unknown))}, which is not among its "
                    "declared targets.",
                    context=_CONTEXT,
                )
            selected.append(targets)
        for text, slot in self._plan.targets.items():
            verdicts = [text in targets for targets in selected]
            state.slots[slot] = verdicts if axis is not None else verdicts[0]

    def _refuse(self, result: Any) -> NoReturn:
        names = list(self._expected)
        if not isinstance(result, dict):
            raise InvalidBlockBehaviourError(
                f"{self._what} must return an object with its outputs {', '.join(names)}, got "
                f"{type(result).__name__}.",
                context=_CONTEXT,
            )
        missing = [name for name in names if name not in result]
        extra = [str(name) for name in result if name not in self._expected]
        parts = []
        if missing:
            parts.append(f"lacks {', '.join(missing)}")
        if extra:
            parts.append(f"has {', '.join(extra)} too many")
        raise ExecutionEngineRuntimeError(
            f"{self._what} declares the outputs {', '.join(names) or 'none'}; its result "
            f"{' and '.join(parts)}.",
            context=_CONTEXT,
        )


def counting_children(run: Callable[..., Any], plan: StepPlan, most: int) -> Callable[..., Any]:
    """`run` of a step that makes several elements of one; raises as soon as its calls have made
    more than `most`.
    """
    made = 0

    def counted(**arguments: Any) -> Any:
        nonlocal made
        result = run(**arguments)
        if isinstance(result, list):
            made += sum(len(one) if isinstance(one, list) else 1 for one in result)
        if made > most:
            raise RuntimeLimitsCausedStepExecutionError(
                f"Step '{plan.name}' ({plan.spec.type_id}) makes more than {most} elements, which "
                "is the most that this host lets a step make.",
                status_code=400,
                block_id=plan.name,
                block_type=plan.spec.type_id,
            )
        return result

    return counted


def _spread(axis: Axis, positions: list[int], values: list[Any], empty: Any) -> list[Any]:
    """Values at positions of an axis as a whole column."""
    if len(positions) == axis.size:
        return values
    column: list[Any] = [empty] * axis.size
    for position, value in zip(positions, values, strict=True):
        column[position] = value
    return column
