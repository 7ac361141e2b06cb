"""Runs one step: one call, one call an element, or one call for the whole batch. Scheduling is done
elsewhere.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from execution_engine.block_api.batch import Batch
from execution_engine.block_api.block import WorkflowBlock
from execution_engine.errors import WorkflowError
from execution_engine.executor.arguments import ArgumentBuilder, Columns, batch_of, transposed
from execution_engine.executor.axes import Axis
from execution_engine.executor.failures import (
    StepErrorHandler,
    name_step,
    raise_step_failure,
)
from execution_engine.executor.futures import FutureSlots
from execution_engine.executor.masks import Masks
from execution_engine.executor.private_copies import private_copy
from execution_engine.executor.report import SkippedStep, SkipReason
from execution_engine.executor.results import ResultWriter, counting_children
from execution_engine.executor.state import RunState
from execution_engine.kinds.codec import CodecRegistry
from execution_engine.plan import BATCH, ONCE, SINGLE, StepPlan
from execution_engine.size_limits import NO_LIMITS, SizeLimits


class StepRunner:
    """A step bound to its block instance.

    Args:
        plan: the step.
        block: the instance; its state lives as long as the runner.
        codecs: used to copy values for blocks that write in place.
        futures: the slots that may hold futures.
        error_handler: called with the step's name and the error before it is wrapped; may raise its
            own.
        size_limits: how many elements the step may make of its batch.
    """

    def __init__(
        self,
        plan: StepPlan,
        block: WorkflowBlock,
        codecs: CodecRegistry,
        futures: FutureSlots | None = None,
        error_handler: StepErrorHandler | None = None,
        size_limits: SizeLimits = NO_LIMITS,
    ) -> None:
        self.plan = plan
        self.block = block
        self._run: Callable[..., Any] = block.run
        self._codecs = codecs
        self._futures = futures or FutureSlots()
        self._error_handler = error_handler
        self._builder = ArgumentBuilder(plan)
        self._writer = ResultWriter(plan)
        self._max_children = size_limits.max_elements if plan.spec.output_offset > 0 else None
        self._accepts_empty = plan.spec.accepts_empty
        used = [value.slot for argument in plan.arguments for value in argument.values]
        self._conversions = plan.conversions
        used += [conversion.source for conversion in plan.conversions]
        self._future_inputs = self._futures.among(used)
        names = {*plan.constants, *(argument.name for argument in plan.arguments)}
        self._private = sorted(names & plan.spec.written_in_place)
        # One level below a step that runs once: a batch block still wants a batch of batches.
        self._wrapped = {
            argument.name
            for argument in plan.arguments
            if plan.mode == ONCE
            and plan.spec.accepts_batch_input
            and plan.spec.input_offsets.get(argument.name)
            and {argument.cast_axis, *(value.axis for value in argument.values)} != {SINGLE}
        }

    def run(self, state: RunState) -> None:
        """Runs the step and writes its outputs (or verdicts) to the state."""
        plan, builder = self.plan, self._builder
        if state.limits is not None:
            state.limits.check(plan.name)
        masks = Masks(plan, state) if plan.gates else None
        closed = masks is not None and masks.closed_by is not None
        if closed and masks is not None and not (self._accepts_empty and builder.reads_slots):
            self._skip(state, "gate closed", masks.closed_by or "")
            return
        if self._future_inputs:
            self._futures.wait(state, self._future_inputs)
        if self._conversions:
            self._convert(state)
        # Where there are elements, a closed gate empties those; single values stay as they are.
        arguments, empty = builder.singles(state, closed and not builder.reads_batches)
        if empty is not None and not self._accepts_empty:
            self._skip(state, "input empty", empty)
            return
        if plan.mode == ONCE:
            self._run_once(state, arguments, masks)
        elif plan.mode == BATCH:
            self._run_batch(state, arguments, masks)
        else:
            self._run_each(state, arguments, masks)
        if state.limits is not None:
            state.limits.note_images(
                plan.name, (state.slots[slot] for slot in plan.outputs.values())
            )

    def _run_once(self, state: RunState, arguments: dict[str, Any], masks: Masks | None) -> None:
        for name, (value,) in self._builder.columns(state, None, masks, arguments):
            if value is None and not self._accepts_empty and name in self._builder.can_be_empty:
                self._skip(state, "input empty", name)
                return
            arguments[name] = Batch([value], [(0,)]) if name in self._wrapped else value
        self._writer.write_one(state, self._call(state, arguments))

    def _run_each(self, state: RunState, arguments: dict[str, Any], masks: Masks | None) -> None:
        axis = state.axis(self.plan.axis)
        columns = self._builder.columns(state, axis, masks, arguments)
        positions = self._positions(state, axis, columns, masks)
        results: list[Any] = []
        run, limits, private, codecs = self._run, state.limits, self._private, self._codecs
        if self._max_children is not None:
            run = counting_children(run, self.plan, self._max_children)
        originals = {name: arguments[name] for name in private if name in arguments}
        try:
            if len(columns) == 1 and not private:
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
                    arguments.update(originals)
                    for name, column in columns:
                        arguments[name] = column[position]
                    for name in private:
                        arguments[name] = private_copy(arguments[name], codecs)
                    results.append(run(**arguments))
        except WorkflowError as error:
            name_step(self.plan, error)
            raise
        except Exception as error:
            raise_step_failure(self.plan, error, self._error_handler)
        if state.report is not None:
            state.report.calls[self.plan.name] = len(results)
        self._writer.write_each(state, axis, positions, results)

    def _run_batch(self, state: RunState, arguments: dict[str, Any], masks: Masks | None) -> None:
        axis = state.axis(self.plan.axis)
        columns = self._builder.columns(state, axis, masks, arguments)
        positions = self._positions(state, axis, columns, masks)
        if not positions:
            self._writer.write_each(state, axis, [], [])
            return
        whole = len(positions) == axis.size
        for name, column in columns:
            content = column if whole else [column[i] for i in positions]
            container = self._builder.batched_containers.get(name)
            if container is None:
                arguments[name] = batch_of(list(content), axis, positions)
            else:
                arguments[name] = transposed(container, content, axis, positions)
        self._writer.write_batch(state, axis, positions, self._call(state, arguments))

    def _positions(
        self, state: RunState, axis: Axis, columns: Columns, masks: Masks | None
    ) -> list[int]:
        """Positions of the elements that run."""
        positions = list(range(axis.size))
        if not positions:
            self._note(state, "no elements", "", 0)
        reads_batches = self._builder.reads_batches
        if masks is not None and not (self._accepts_empty and reads_batches):
            allowed = masks.allowed(axis)
            if allowed is not None:
                positions = [i for i in positions if allowed[i]]
                self._note(state, "gate closed", masks.gate_names, axis.size - len(positions))
        if not self._accepts_empty:
            for name, column in columns:
                if name in self._builder.can_be_empty and None in _identities(column):
                    kept = [i for i in positions if column[i] is not None]
                    self._note(state, "input empty", name, len(positions) - len(kept))
                    positions = kept
        return positions

    def _convert(self, state: RunState) -> None:
        """Fills the slots of the arguments that other steps made in another representation."""
        assert state.conversions is not None
        try:
            for conversion in self._conversions:
                state.conversions.fill(state.slots, conversion)
        except WorkflowError:
            raise
        except Exception as error:
            raise_step_failure(self.plan, error, self._error_handler)

    def _call(self, state: RunState, arguments: dict[str, Any]) -> Any:
        for name in self._private:
            arguments[name] = private_copy(arguments[name], self._codecs)
        if state.report is not None:
            state.report.calls[self.plan.name] = 1
        try:
            run = self._run
            if self._max_children is not None:
                run = counting_children(run, self.plan, self._max_children)
            return run(**arguments)
        except WorkflowError as error:
            name_step(self.plan, error)
            raise
        except Exception as error:
            raise_step_failure(self.plan, error, self._error_handler)

    def _skip(self, state: RunState, reason: SkipReason, because_of: str) -> None:
        elements = self._writer.write_nothing(state)
        if elements == 0:
            reason, because_of = "no elements", ""
        self._note(state, reason, because_of, elements)

    def _note(
        self, state: RunState, reason: SkipReason, because_of: str, elements: int | None
    ) -> None:
        if state.report is not None and (elements != 0 or reason == "no elements"):
            state.report.calls.setdefault(self.plan.name, 0)
            state.report.skipped.append(SkippedStep(self.plan.name, reason, because_of, elements))


def _identities(column: list[Any]) -> list[Any]:
    """The column with everything but None replaced: `in` must not call `__eq__` of a value."""
    return [None if value is None else 0 for value in column]
