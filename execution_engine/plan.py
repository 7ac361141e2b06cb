"""`Plan`: a compiled definition as flat, frozen data. A plan that exists is valid; only the
executor runs it.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from execution_engine.block_api.block import WorkflowBlock, WorkflowBlockManifest
from execution_engine.block_api.spec import BlockSpec
from execution_engine.definition.model import Definition, InputDeclaration
from execution_engine.kinds.codec import CodecRegistry, KindCodec
from execution_engine.kinds.representation import NUMPY, Converter

SINGLE = -1
ONCE, EACH, BATCH = "once", "each", "batch"


@dataclass(frozen=True, slots=True)
class AxisPlan:
    """One level of batching: its parent axis (`SINGLE` at the top) and its lineage."""

    parent: int
    lineage: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class InputPlan:
    """One input: where its value goes and how it is read.

    Attributes:
        declaration: the input as declared.
        slot: slot of the value (a column along the last axis for batch inputs).
        axes: one axis a level of nesting; empty for parameters.
        codecs: deserialisers to try in order.
    """

    declaration: InputDeclaration
    slot: int
    axes: tuple[int, ...]
    codecs: tuple[KindCodec, ...]


@dataclass(frozen=True, slots=True)
class ValuePlan:
    """Where an argument's value lies: a slot, its axis (`SINGLE`: one value) and whether a step
    made it.
    """

    slot: int
    axis: int
    from_step: bool


@dataclass(frozen=True, slots=True)
class ConversionPlan:
    """A slot whose value is needed in a second representation.

    Attributes:
        source: slot of the value as it was made.
        slot: slot of the converted value, shared by all that need it.
        axis: axis of both; `SINGLE` for one value.
        converters: applied one after another.
    """

    source: int
    slot: int
    axis: int
    converters: tuple[Converter, ...]

    def applied(self, value: Any) -> Any:
        """What the slot holds for what the source holds; None stays None."""
        if self.axis == SINGLE:
            return self._converted(value)
        return [self._converted(item) for item in value]

    def _converted(self, value: Any) -> Any:
        if value is not None:
            for converter in self.converters:
                value = converter.convert(value)
        return value


@dataclass(frozen=True, slots=True)
class ArgumentPlan:
    """One argument of a step that is not a constant.

    Attributes:
        name: argument of `run`.
        value: the value, when the field is one reference.
        template: the list or object as written, when references are inside it.
        parts: (position, value) of each reference inside the template.
        cast: whether single values are handed over as batches.
        cast_axis: axis along which a cast value is repeated; `SINGLE` when the step has no batch.
        cast_wraps: batches of one put round a cast value below that axis.
        cast_keys: positions of the literals inside the template that are cast.
        constant: the literal to cast, when there is no reference at all.
    """

    name: str
    value: ValuePlan | None = None
    template: Any = None
    parts: tuple[tuple[int | str, ValuePlan], ...] = ()
    cast: bool = False
    cast_axis: int = SINGLE
    cast_wraps: int = 0
    cast_keys: tuple[int | str, ...] = ()
    constant: Any = None

    @property
    def values(self) -> tuple[ValuePlan, ...]:
        """Every value the argument is made of."""
        if self.value is not None:
            return (self.value,)
        return tuple(part for _, part in self.parts)


@dataclass(frozen=True, slots=True)
class GatePlan:
    """A condition on a step: the slot with its verdict (a bool, or one bool an element along
    `axis`).
    """

    slot: int
    axis: int
    source: str


@dataclass(frozen=True, slots=True)
class StepPlan:
    """One step, ready to run.

    Attributes:
        position: index in the definition.
        mode: `once` a run, `each` element on its own, or all elements as one `batch`.
        axis: axis of one call's index; `SINGLE` for `once`.
        constants: arguments that never change.
        arguments: arguments read from slots.
        gates: conditions, all of which must hold.
        outputs: slot of each output.
        output_axis: axis of the output columns.
        targets: for control steps, the verdict slot of each target selector.
        predecessors: how many steps must finish first.
        followers: positions in `Plan.steps` of the steps waiting for this one.
        representation: in which representation `block` takes and gives values.
        conversions: slots that must be converted before the arguments are read.
    """

    position: int
    name: str
    spec: BlockSpec
    block: type[WorkflowBlock]
    manifest: WorkflowBlockManifest
    mode: str
    axis: int
    constants: Mapping[str, Any]
    arguments: tuple[ArgumentPlan, ...]
    gates: tuple[GatePlan, ...]
    outputs: Mapping[str, int]
    output_axis: int
    targets: Mapping[str, int]
    predecessors: int
    followers: tuple[int, ...]
    representation: str = NUMPY
    conversions: tuple[ConversionPlan, ...] = ()


@dataclass(frozen=True, slots=True)
class SubstitutionPlan:
    """A parameter that feeds a field directly: its run-time value is checked against the field's
    literal forms.
    """

    parameter: InputDeclaration
    source: int
    slot: int
    step: str
    field: str
    manifest: WorkflowBlockManifest


@dataclass(frozen=True, slots=True)
class OutputPlan:
    """One response field.

    Attributes:
        name: name in the response.
        members: (output name, slot, kinds); one entry unless `is_object`.
        axis: axis of the columns, `SINGLE` for one value.
        generated: whether the axis stems from a step without batch inputs (the whole list goes into
            every row).
        is_object: whether all outputs of a step are given as one object.
        to_root: whether predictions are moved to the space of the workflow's input.
        conversions: by slot of a member, what brings its value into the representation that was
            asked for; not needed for JSON.
    """

    name: str
    members: tuple[tuple[str, int, tuple[str, ...]], ...]
    axis: int
    generated: bool
    is_object: bool
    to_root: bool
    selector: str
    conversions: Mapping[int, ConversionPlan] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Plan:
    """Everything a run needs, checked and laid out.

    Attributes:
        definition: the definition it was made from.
        inputs: inputs in declared order.
        steps: steps in an order in which each follows its predecessors.
        outputs: response fields in declared order.
        axes: levels of batching; axis 0 is that of the workflow's inputs.
        slots: number of values.
        substitutions: parameters checked before a run.
        codecs: kinds and codecs.
        secret_slots: slots of inputs and outputs that are declared to hold secrets.
        representation: what was asked for: `numpy`, another name, or `auto`.
        conversions: every slot that some step or output needs in a second representation.
    """

    definition: Definition
    inputs: tuple[InputPlan, ...]
    steps: tuple[StepPlan, ...]
    outputs: tuple[OutputPlan, ...]
    axes: tuple[AxisPlan, ...]
    slots: int
    substitutions: tuple[SubstitutionPlan, ...]
    codecs: CodecRegistry = field(repr=False)
    secret_slots: frozenset[int] = frozenset()
    representation: str = NUMPY
    conversions: tuple[ConversionPlan, ...] = ()

    def describe(self) -> str:
        """Inputs, steps in order and outputs as text."""
        lines = [f"workflow for engine {self.definition.version}"]
        for item in self.inputs:
            declared = item.declaration
            level = f"depth {declared.dimensionality}" if declared.dimensionality else "parameter"
            lines.append(f"  input {declared.name}: {', '.join(declared.kinds)} ({level})")
        for step in self.steps:
            run = {ONCE: "once", EACH: "each element", BATCH: "whole batch"}[step.mode]
            gates = (
                f", gated by {', '.join(gate.source for gate in step.gates)}" if step.gates else ""
            )
            depth = self.depth(step.axis)
            form = "" if step.representation == NUMPY else f", {step.representation}"
            lines.append(
                f"  step {step.name}: {step.spec.type_id} ({run}, depth {depth}{gates}{form})"
            )
        for output in self.outputs:
            lines.append(
                f"  output {output.name}: {output.selector} (depth {self.depth(output.axis)})"
            )
        return "\n".join(lines)

    def to_dict(self) -> dict[str, Any]:
        """Inputs, steps in order, edges and outputs as plain JSON data."""
        return {
            "version": self.definition.version,
            "inputs": [
                {
                    "name": item.declaration.name,
                    "type": item.declaration.type,
                    "kinds": list(item.declaration.kinds),
                    "dimensionality": item.declaration.dimensionality,
                }
                for item in self.inputs
            ],
            "steps": [
                {
                    "name": step.name,
                    "type": step.spec.type_id,
                    "mode": step.mode,
                    "input_dimensionality": self.depth(step.axis),
                    "output_dimensionality": self.depth(step.output_axis),
                    "gated_by": [gate.source for gate in step.gates],
                    "feeds": [self.steps[position].name for position in step.followers],
                }
                | ({} if step.representation == NUMPY else {"representation": step.representation})
                for step in self.steps
            ],
            "outputs": [
                {
                    "name": item.name,
                    "selector": item.selector,
                    "dimensionality": self.depth(item.axis),
                }
                for item in self.outputs
            ],
        }

    def depth(self, axis: int) -> int:
        """Depth of nesting of values along an axis."""
        return 0 if axis == SINGLE else len(self.axes[axis].lineage)
