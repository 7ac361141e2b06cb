"""Runs one step: one call, one call an element, or one call for the whole batch. Scheduling is done
elsewhere.
"""

from __future__ import annotations

import traceback
from collections.abc import Callable
from typing import Any

from execution_engine.block_api.block import WorkflowBlock
from execution_engine.block_api.flow_control import FlowControl
from execution_engine.errors import (
    BlockTraceback,
    ExecutionEngineRuntimeError,
    InvalidBlockBehaviourError,
    StepExecutionError,
    WorkflowError,
)
from execution_engine.executor.arguments import ArgumentBuilder, Columns, Masks, batch_of
from execution_engine.executor.axes import Axis
from execution_engine.executor.report import SkippedStep, SkipReason
from execution_engine.executor.state import RunState
from execution_engine.kinds.codec import CodecRegistry
from execution_engine.plan import BATCH, ONCE, SINGLE, StepPlan

StepErrorHandler = Callable[[str, Exception], None]
_CONTEXT = "workflow_execution | step_execution"


class StepRunner:
    """A step bound to its block instance.

    Args:
        plan: the step.
        block: the instance; its state lives as long as the runner.
        codecs: kinds and codecs.
        future_slots: slots among the step's inputs that may hold futures.
        error_handler: called with the step's name and the error before it is wrapped; may raise its
            own.
    """

    def __init__(
        self,
        plan: StepPlan,
        block: WorkflowBlock,
        codecs: CodecRegistry,
        future_slots: frozenset[int] = frozenset(),
        error_handler: StepErrorHandler | None = None,
    ) -> None:
        self.plan = plan
        self.block = block
        self._run: Callable[..., Any] = block.run
        self._error_handler = error_handler
        self._builder = ArgumentBuilder(plan, codecs)
        self._accepts_empty = plan.spec.accepts_empty
        self._names = list(plan.outputs)
        self._slots = list(plan.outputs.values())
        self._expected = plan.outputs.keys()
        self._controls = plan.spec.is_control_flow
        used = {
            value.slot
            for argument in plan.arguments
            for value in (argument.value, *(part for _, part in argument.parts))
            if value is not None
        }
        self._future_inputs = tuple(used & future_slots)

    def run(self, state: RunState) -> None:
        """Runs the step and writes its outputs (or verdicts) to the state."""
        for slot in self._future_inputs:
            state.resolve(slot)
        plan = self.plan
        if state.limits is not None:
            state.limits.check(plan.name)
        masks = Masks(plan, state) if plan.gates else None
        closed = masks is not None and masks.closed_by is not None
        arguments, empty = self._builder.singles(state, closed)
        reads_nothing = not self._builder.single and not self._builder.spread
        if closed and masks is not None and (not self._accepts_empty or reads_nothing):
            self._skip(state, "gate closed", masks.closed_by or "")
            return
        if empty is not None and not self._accepts_empty:
            self._skip(state, "input empty", empty)
            return
        if plan.mode == ONCE:
            self._run_once(state, arguments, masks)
        elif plan.mode == BATCH:
            self._run_batch(state, arguments, masks)
        else:
            self._run_each(state, arguments, masks)

    def _run_once(self, state: RunState, arguments: dict[str, Any], masks: Masks | None) -> None:
        columns = self._builder.columns(state, None, masks)
        for name, column in columns:
            if column[0] is None and not self._accepts_empty and self._is_batch(name):
                self._skip(state, "input empty", name)
                return
            arguments[name] = column[0]
        result = self._call(state, arguments)
        cast = any(argument.cast for argument in self.plan.arguments)
        if self._controls:
            selected = result[0] if isinstance(result, list) and len(result) == 1 else result
            self._set_verdicts(state, [selected], None)
        elif self.plan.spec.output_offset > 0:
            if (
                cast
                and isinstance(result, list)
                and len(result) == 1
                and isinstance(result[0], list)
            ):
                result = result[0]
            self._store_children(state, [result], None)
        else:
            if isinstance(result, list) and len(result) == 1:
                result = result[0]
            if type(result) is not dict or result.keys() != self._expected:
                self._refuse(result)
            for name, slot in self.plan.outputs.items():
                state.slots[slot] = result[name]

    def _run_each(self, state: RunState, arguments: dict[str, Any], masks: Masks | None) -> None:
        axis = state.axis(self.plan.axis)
        columns = self._builder.columns(state, axis, masks)
        positions = self._positions(state, axis, columns, masks)
        results: list[Any] = []
        run, limits = self._run, state.limits
        try:
            if len(columns) == 1:
                name, column = columns[0]
                for position in positions:
                    if limits is not None:
                        limits.check(self.plan.name)
                    arguments[name] = column[position]
                    results.append(run(**arguments))
            else:
                for position in positions:
                    if limits is not None:
                        limits.check(self.plan.name)
                    for name, column in columns:
                        arguments[name] = column[position]
                    results.append(run(**arguments))
        except WorkflowError:
            raise
        except Exception as error:
            self._wrap(error)
        if state.report is not None:
            state.report.calls[self.plan.name] = len(results)
        self._store(state, axis, positions, results)

    def _run_batch(self, state: RunState, arguments: dict[str, Any], masks: Masks | None) -> None:
        axis = state.axis(self.plan.axis)
        columns = self._builder.columns(state, axis, masks)
        positions = self._positions(state, axis, columns, masks)
        if not positions:
            self._store(state, axis, [], [])
            return
        whole = len(positions) == axis.size
        batched = self._batched_arguments()
        for name, column in columns:
            content = column if whole else [column[i] for i in positions]
            argument = batched.get(name)
            if argument is None:
                arguments[name] = batch_of(list(content), axis, positions)
            else:
                arguments[name] = _transpose(argument, content, axis, positions)
        results = self._call(state, arguments)
        if isinstance(results, FlowControl):
            results = [results] * len(positions)
        if not isinstance(results, list):
            raise InvalidBlockBehaviourError(
                f"Step '{self.plan.name}' ({self.plan.spec.type_id}) works on batches and must "
                "return a list, got "
                f"{type(results).__name__}.",
                context=_CONTEXT,
            )
        if len(results) != len(positions):
            raise ExecutionEngineRuntimeError(
                f"Step '{self.plan.name}' ({self.plan.spec.type_id}) got {len(positions)} elements "
                "and returned "
                f"{len(results)} results.",
                context=_CONTEXT,
            )
        self._store(state, axis, positions, results)

    def _batched_arguments(self) -> dict[str, Any]:
        """Templates of the arguments that are lists or objects of batches."""
        return {
            argument.name: argument
            for argument in self._builder.spread
            if argument.value is None and argument.parts
        }

    def _positions(
        self, state: RunState, axis: Axis, columns: Columns, masks: Masks | None
    ) -> list[int]:
        """Positions of the elements that run."""
        allowed = None if masks is None else masks.allowed(axis)
        positions = list(range(axis.size))
        if not self._accepts_empty or not columns:
            if allowed is not None:
                positions = [i for i in positions if allowed[i]]
                self._note(
                    state,
                    "gate closed",
                    masks.gate_names if masks else "",
                    axis.size - len(positions),
                )
            for name, column in columns:
                if self._is_batch(name) and None in _identities(column):
                    kept = [i for i in positions if column[i] is not None]
                    self._note(state, "input empty", name, len(positions) - len(kept))
                    positions = kept
        return positions

    def _is_batch(self, name: str) -> bool:
        """Whether None in the argument means an empty element (not a parameter that is None)."""
        for argument in self._builder.spread:
            if argument.name == name:
                if argument.value is not None:
                    return argument.value.axis != SINGLE or argument.value.from_step
                return bool(argument.parts)
        return False

    def _call(self, state: RunState, arguments: dict[str, Any]) -> Any:
        if state.report is not None:
            state.report.calls[self.plan.name] = 1
        try:
            return self._run(**arguments)
        except WorkflowError:
            raise
        except Exception as error:
            self._wrap(error)

    def _wrap(self, error: Exception) -> None:
        if self._error_handler is not None:
            self._error_handler(self.plan.name, error)
        last = traceback.extract_tb(error.__traceback__)[-1:]
        raise StepExecutionError(
            str(error) or type(error).__name__,
            context=_CONTEXT,
            inner_error=error,
            block_id=self.plan.name,
            block_type=self.plan.spec.type_id,
            block_traceback=BlockTraceback(
                "".join(traceback.format_exception(error)),
                last[0].lineno if last else None,
                last[0].line if last else None,
            ),
        ) from error

    def _store(self, state: RunState, axis: Axis, positions: list[int], results: list[Any]) -> None:
        if self._controls:
            verdicts: list[Any] = [None] * axis.size
            for position, result in zip(positions, results, strict=True):
                verdicts[position] = result
            self._set_verdicts(state, verdicts, axis)
            return
        if self.plan.spec.output_offset > 0:
            children: list[Any] = [[]] * axis.size
            for position, result in zip(positions, results, strict=True):
                children[position] = result
            self._store_children(state, children, axis)
            return
        expected = self._expected
        for result in results:
            if type(result) is not dict or result.keys() != expected:
                self._refuse(result)
        for name, slot in self.plan.outputs.items():
            if len(positions) == axis.size:
                state.slots[slot] = [result[name] for result in results]
            else:
                column: list[Any] = [None] * axis.size
                for position, result in zip(positions, results, strict=True):
                    column[position] = result[name]
                state.slots[slot] = column

    def _store_children(self, state: RunState, results: list[Any], axis: Axis | None) -> None:
        """Outputs of a step that turns one element into several."""
        rows: list[dict[str, Any]] = []
        for result in results:
            if not isinstance(result, list):
                raise InvalidBlockBehaviourError(
                    f"Step '{self.plan.name}' ({self.plan.spec.type_id}) makes several elements of "
                    "one and must return "
                    f"a list of objects, got {type(result).__name__}.",
                    context=_CONTEXT,
                )
            for row in result:
                if type(row) is not dict or row.keys() != self._expected:
                    self._refuse(row)
            rows.extend(result)
        state.axes[self.plan.output_axis] = Axis([len(result) for result in results], axis)
        for name, slot in self.plan.outputs.items():
            state.slots[slot] = [row[name] for row in rows]

    def _set_verdicts(self, state: RunState, results: list[Any], axis: Axis | None) -> None:
        selected: list[frozenset[str]] = []
        for result in results:
            if result is None and axis is not None:
                selected.append(frozenset())
                continue
            if not isinstance(result, FlowControl):
                raise InvalidBlockBehaviourError(
                    f"Step '{self.plan.name}' ({self.plan.spec.type_id}) decides what runs and "
                    "must return FlowControl, "
                    f"got {type(result).__name__}.",
                    context=_CONTEXT,
                )
            targets = frozenset(result.targets())
            unknown = targets - self.plan.targets.keys()
            if unknown:
                raise ExecutionEngineRuntimeError(
                    f"Step '{self.plan.name}' ({self.plan.spec.type_id}) selected "
                    f"{', '.join(sorted(unknown))}, which "
                    "is not among its declared targets.",
                    context=_CONTEXT,
                )
            selected.append(targets)
        for text, slot in self.plan.targets.items():
            verdicts = [text in targets for targets in selected]
            state.slots[slot] = verdicts if axis is not None else verdicts[0]

    def _skip(self, state: RunState, reason: SkipReason, because_of: str) -> None:
        """Leaves every output empty and every branch closed."""
        plan = self.plan
        if plan.spec.output_offset > 0:
            parent = None if plan.axis == SINGLE else state.axis(plan.axis)
            counts = [0] * (1 if parent is None else parent.size)
            state.axes[plan.output_axis] = Axis(counts, parent)
            for slot in self._slots:
                state.slots[slot] = []
        elif plan.axis != SINGLE:
            size = state.axis(plan.axis).size
            for slot in self._slots:
                state.slots[slot] = [None] * size
        elements = None if plan.axis == SINGLE else state.axis(plan.axis).size
        self._note(state, reason, because_of, elements)

    def _note(
        self, state: RunState, reason: SkipReason, because_of: str, elements: int | None
    ) -> None:
        if state.report is not None and elements != 0:
            state.report.calls.setdefault(self.plan.name, 0)
            state.report.skipped.append(SkippedStep(self.plan.name, reason, because_of, elements))

    def _refuse(self, result: Any) -> None:
        what = f"Step '{self.plan.name}' ({self.plan.spec.type_id})"
        if not isinstance(result, dict):
            raise InvalidBlockBehaviourError(
                f"{what} must return an object with its outputs {', '.join(self._names)}, got "
                f"{type(result).__name__}.",
                context=_CONTEXT,
            )
        missing = [name for name in self._names if name not in result]
        extra = [str(name) for name in result if name not in self._expected]
        parts = []
        if missing:
            parts.append(f"lacks {', '.join(missing)}")
        if extra:
            parts.append(f"has {', '.join(extra)} too many")
        raise ExecutionEngineRuntimeError(
            f"{what} declares the outputs {', '.join(self._names) or 'none'}; its result "
            f"{' and '.join(parts)}.",
            context=_CONTEXT,
        )


def _identities(column: list[Any]) -> list[Any]:
    """The column with all but None replaced, so that `in` never calls `__eq__` of a value."""
    return [None if value is None else 0 for value in column]


def _transpose(argument: Any, content: list[Any], axis: Axis, positions: list[int]) -> Any:
    """A list (or object) of batches from one list (or object) an element."""
    template = argument.template
    batched = {key for key, value in argument.parts if value.axis != SINGLE or argument.cast}
    result = template.copy()
    for key, _ in argument.parts:
        if key in batched:
            result[key] = batch_of([container[key] for container in content], axis, positions)
        else:
            result[key] = content[0][key]
    return result
