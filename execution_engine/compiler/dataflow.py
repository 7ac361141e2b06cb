"""Depth and lineage of every value: which batch a value belongs to and how steps consume it.

A lineage is a tuple of level names: `()` for one value a run, `("<workflow_input>",)` for one value
an input element, one more level for each step that turns an element into several. Building plans is
not done here.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import NamedTuple

from execution_engine.block_api.spec import BlockSpec
from execution_engine.compiler.graph import DataEdge, Graph, GraphNode
from execution_engine.compiler.steps import StepReference
from execution_engine.definition.model import InputDeclaration
from execution_engine.definition.problems import ProblemList
from execution_engine.errors import (
    ControlFlowDefinitionError,
    ExecutionGraphStructureError,
    StepInputDimensionalityError,
    StepInputLineageError,
    WorkflowCompilerError,
)

Lineage = tuple[str, ...]
ROOT_LEVEL = "<workflow_input>"


class Cast(NamedTuple):
    """How single values become batches: the lineage they are repeated along, and how many batches
    of one are put round each below it.
    """

    lineage: Lineage
    wraps: int


@dataclass(slots=True)
class StepFlow:
    """How one step consumes and produces batches.

    Attributes:
        execution: lineage of one call's index; `()` for steps that run once.
        outputs: lineage of the outputs.
        edges: lineage of the source of each data edge, in the order of `GraphNode.data`.
        casts: fields whose single values are handed over as batches.
        controlled: whether the lineage of a gate, not of data, decides how often the step runs.
    """

    execution: Lineage
    outputs: Lineage
    edges: list[Lineage]
    casts: dict[str, Cast] = field(default_factory=dict)
    controlled: bool = False


def input_lineage(declared: InputDeclaration) -> Lineage:
    """Lineage of a workflow input; levels below the first belong to that input alone."""
    if declared.dimensionality == 0:
        return ()
    below = tuple(
        f"$inputs.{declared.name}[{level}]" for level in range(2, declared.dimensionality + 1)
    )
    return (ROOT_LEVEL, *below)


def trace_dataflow(graph: Graph, problems: ProblemList) -> dict[int, StepFlow]:
    """The flow of every step whose inputs are known; faults go to `problems` and stop at the faulty
    step.
    """
    flows: dict[int, StepFlow] = {}
    for position in graph.order:
        node = graph.nodes[position]
        if not node.complete or any(p not in flows for p in graph.predecessors(position)):
            continue
        flow = _StepTracer(graph, node, flows, problems).trace()
        if flow is not None:
            flows[position] = flow
    return flows


class _StepTracer:
    """Checks one step against the rules of depth and lineage."""

    def __init__(
        self, graph: Graph, node: GraphNode, flows: Mapping[int, StepFlow], problems: ProblemList
    ) -> None:
        assert node.step.spec is not None
        self.graph = graph
        self.node = node
        self.spec: BlockSpec = node.step.spec
        self.flows = flows
        self.problems = problems

    def trace(self) -> StepFlow | None:
        edges = [self._source_lineage(edge) for edge in self.node.data]
        batch_edges = [
            (edge.reference, lineage)
            for edge, lineage in zip(self.node.data, edges, strict=True)
            if lineage
        ]
        if not self._batches_allowed(batch_edges):
            return None
        reference = self._reference_lineage(batch_edges)
        if reference is None:
            return None
        controls = self._control_lineages()
        data = {lineage for _, lineage in batch_edges}
        controlled = False
        if not data:
            reference = max(controls, key=len, default=())
            controlled = bool(reference)
            data = {reference}
        if not self._controls_fit(data):
            return None
        execution = reference
        if self.spec.output_offset < 0:
            if not batch_edges:
                self._add(
                    StepInputDimensionalityError,
                    "nothing_to_collapse",
                    f"Step '{self.node.step.name}' gathers the elements of a batch, but all its "
                    "inputs are single "
                    "values.",
                    None,
                )
                return None
            execution = reference[:-1]
        outputs = execution
        if self.spec.output_offset > 0:
            outputs = (*reference, f"$steps.{self.node.step.name}")
        return StepFlow(execution, outputs, edges, self._casts(reference), controlled)

    def _source_lineage(self, edge: DataEdge) -> Lineage:
        if edge.source < 0:
            return input_lineage(self.graph.inputs[edge.reference.reference.name])
        return self.flows[edge.source].outputs

    def _batches_allowed(self, batch_edges: list[tuple[StepReference, Lineage]]) -> bool:
        fine = True
        for reference, _ in batch_edges:
            if not takes_batches(self.spec, reference):
                fine = False
                self._add(
                    ExecutionGraphStructureError,
                    "batch_into_single_value",
                    f"Step '{self.node.step.name}': '{reference.field}' takes one value for the "
                    "whole batch, but "
                    f"{reference.reference.text} gives one a batch element.",
                    reference,
                    hint="use a WorkflowParameter, or a step that makes one value",
                )
        return fine

    def _reference_lineage(
        self, batch_edges: list[tuple[StepReference, Lineage]]
    ) -> Lineage | None:
        """Lineage at offset 0 (what the outputs follow), None when the inputs do not fit."""
        offsets = self.spec.input_offsets
        depths: dict[int, StepReference] = {}
        for reference, lineage in batch_edges:
            depth = len(lineage) - offsets.get(reference.field, 0)
            depths.setdefault(depth, reference)
        if not depths:
            return ()
        if len(depths) > 1:
            parts = "; ".join(
                f"'{reference.field}' ({reference.reference.text}) has one value for "
                f"{_show(lineage)} (depth {len(lineage)})"
                for reference, lineage in batch_edges
            )
            wanted = (
                f" '{self.spec.reference_property}' sets the depth and "
                + ", ".join(
                    f"'{name}' lies {offset} deeper" for name, offset in offsets.items() if offset
                )
                + "."
                if any(offsets.values())
                else " The block needs them at one depth."
            )
            self._add(
                StepInputDimensionalityError,
                "depths_differ",
                f"Step '{self.node.step.name}' mixes depths of nesting: {parts}.{wanted}",
                batch_edges[0][0],
                hint="take all of them from one depth; a dimension collapse step gathers what lies "
                "deeper",
            )
            return None
        return self._common_lineage(batch_edges, next(iter(depths)))

    def _common_lineage(
        self, batch_edges: list[tuple[StepReference, Lineage]], depth: int
    ) -> Lineage | None:
        first_reference, first = batch_edges[0]
        deepest = max((lineage for _, lineage in batch_edges), key=len)
        for reference, lineage in batch_edges:
            if lineage != deepest[: len(lineage)]:
                other = first_reference if lineage != first else batch_edges[-1][0]
                self._add(
                    StepInputLineageError,
                    "unrelated_batches",
                    f"Step '{self.node.step.name}': {reference.reference.text} and "
                    f"{other.reference.text} come from "
                    f"different batches ({_show(lineage)}; {_show(deepest)}), so their elements do "
                    "not belong together.",
                    reference,
                    hint="take both from one step, or bring one back by a collapse or stitch step",
                )
                return None
        return deepest[:depth]

    def _control_lineages(self) -> list[Lineage]:
        return [lineage for gate in self.node.gates if (lineage := self.flows[gate].execution)]

    def _controls_fit(self, data: set[Lineage]) -> bool:
        for gate in self.node.gates:
            lineage = self.flows[gate].execution
            if any(lineage == candidate[: len(lineage)] for candidate in data):
                continue
            gate_name = self.graph.nodes[gate].step.name
            self._add(
                ControlFlowDefinitionError,
                "gate_does_not_fit",
                f"Step '{self.node.step.name}' works on "
                f"{' and '.join(_show(item) for item in sorted(data))}, but its "
                f"gate '{gate_name}' decides for {_show(lineage)}; the step could never run.",
                None,
            )
            return False
        return True

    def _casts(self, reference: Lineage) -> dict[str, Cast]:
        """Fields that only take batches but are given single values, wholly or in part."""
        names = self.spec.accepts_batches | self.spec.auto_batch_cast
        if not names:
            return {}
        batch_fields: set[str] = set()
        containers: set[str] = set()
        deepest = reference
        for edge in self.node.data:
            lineage = self._source_lineage(edge)
            if edge.reference.key is not None:
                containers.add(edge.reference.field)
            elif lineage:
                batch_fields.add(edge.reference.field)
            deepest = max(deepest, lineage, key=len)
        manifest = self.node.step.manifest
        assert manifest is not None
        casts: dict[str, Cast] = {}
        for name in names - batch_fields:
            if name not in containers and getattr(manifest, name) is None:
                continue
            depth = len(reference) + self.spec.input_offsets.get(name, 0)
            support = deepest[:depth]
            wraps = depth - len(support)
            if not support and self.spec.accepts_batch_input:
                wraps += 1
            casts[name] = Cast(support, wraps)
        return casts

    def _add(
        self,
        error: type[WorkflowCompilerError],
        code: str,
        message: str,
        reference: StepReference | None,
        hint: str | None = None,
    ) -> None:
        declaration = self.node.step.declaration
        self.problems.add(
            error,
            code,
            message,
            reference.where if reference else declaration.where,
            hint=hint,
            block_id=declaration.name,
            block_type=declaration.type,
            property_name=reference.field if reference else None,
        )


def takes_batches(spec: BlockSpec, reference: StepReference) -> bool:
    """Whether a batch-oriented value may feed the field of this reference."""
    for form in reference.forms:
        if form.points_to_batch is True:
            return True
        if form.points_to_batch == "dynamic":
            if not spec.accepts_batch_input:
                return True
            name = reference.field
            if (
                name in spec.accepts_batches
                or name in spec.accepts_batches_and_scalars
                or name in spec.auto_batch_cast
            ):
                return True
    return False


def _show(lineage: Lineage) -> str:
    names = [
        "each input element" if level == ROOT_LEVEL else f"each part from {level}"
        for level in reversed(lineage)
    ]
    return " of ".join(names)
