"""Lays a checked graph out as a flat `Plan`. Every check has been made before."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from execution_engine.block_api.spec import Container, FieldSpec
from execution_engine.compiler.dataflow import (
    ROOT_LEVEL,
    Lineage,
    StepFlow,
    input_lineage,
)
from execution_engine.compiler.graph import DataEdge, Graph, GraphNode
from execution_engine.compiler.siblings import choose_blocks
from execution_engine.definition.model import Definition, InputDeclaration
from execution_engine.definition.references import (
    ALL_OUTPUTS,
    INPUT,
    unescape,
)
from execution_engine.kinds.catalogue import SECRET_KIND
from execution_engine.kinds.representation import AUTO, NUMPY
from execution_engine.plan import (
    BATCH,
    EACH,
    ONCE,
    SINGLE,
    ArgumentPlan,
    AxisPlan,
    ConversionPlan,
    GatePlan,
    InputPlan,
    OutputPlan,
    Plan,
    StepPlan,
    SubstitutionPlan,
    ValuePlan,
)
from execution_engine.registry.registry import BlockRegistry


def make_plan(
    definition: Definition,
    graph: Graph,
    flows: Mapping[int, StepFlow],
    registry: BlockRegistry,
    representation: str = NUMPY,
) -> Plan:
    """The plan of a definition without problems, in a representation that the registry offers.

    Raises:
        PluginLoadingError: the sibling of a block cannot be loaded.
    """
    return _Planner(definition, graph, flows, registry, representation).plan()


class _Planner:
    """Hands out slots and axes."""

    def __init__(
        self,
        definition: Definition,
        graph: Graph,
        flows: Mapping[int, StepFlow],
        registry: BlockRegistry,
        representation: str,
    ) -> None:
        self.definition = definition
        self.graph = graph
        self.flows = flows
        self.registry = registry
        self.codecs = registry.codecs
        self.representation = representation
        self.blocks = choose_blocks(graph, registry, representation)
        self.conversions: dict[tuple[int, str], ConversionPlan] = {}
        self.slots = 0
        self.axes: list[AxisPlan] = [AxisPlan(SINGLE, (ROOT_LEVEL,))]
        self.axis_of: dict[Lineage, int] = {(): SINGLE, (ROOT_LEVEL,): 0}
        self.input_slots: dict[str, int] = {}
        self.output_slots: list[dict[str, int]] = [{} for _ in graph.nodes]
        self.verdict_slots: list[dict[str, int]] = [{} for _ in graph.nodes]
        self.substitutions: list[SubstitutionPlan] = []

    def plan(self) -> Plan:
        inputs = tuple(self._plan_input(declared) for declared in self.definition.inputs)
        for position in self.graph.order:
            node = self.graph.nodes[position]
            self.output_slots[position] = {name: self._slot() for name in node.step.outputs or ()}
            self.verdict_slots[position] = {text: self._slot() for text in node.targets}
        rank = {position: index for index, position in enumerate(self.graph.order)}
        followers: list[list[int]] = [[] for _ in self.graph.nodes]
        before = [self.graph.predecessors(position) for position in range(len(self.graph.nodes))]
        for position in self.graph.order:
            for earlier in before[position]:
                followers[earlier].append(rank[position])
        steps = tuple(
            self._plan_step(position, len(before[position]), tuple(followers[position]))
            for position in self.graph.order
        )
        outputs = tuple(
            self._plan_output(output, reference) for output, reference in self.graph.outputs
        )
        return Plan(
            self.definition,
            inputs,
            steps,
            outputs,
            tuple(self.axes),
            self.slots,
            tuple(self.substitutions),
            self.codecs,
            self._secret_slots(),
            self.representation,
            tuple(self.conversions.values()),
        )

    def _secret_slots(self) -> frozenset[int]:
        inputs = self.graph.inputs.items()
        found = {self.input_slots[name] for name, item in inputs if SECRET_KIND.name in item.kinds}
        for slots, node in zip(self.output_slots, self.graph.nodes, strict=True):
            offered = node.step.outputs or {}
            found.update(
                slot for name, slot in slots.items() if SECRET_KIND.name in offered[name].kinds
            )
        return frozenset(found)

    def _slot(self) -> int:
        self.slots += 1
        return self.slots - 1

    def _axis(self, lineage: Lineage) -> int:
        axis = self.axis_of.get(lineage)
        if axis is None:
            parent = self._axis(lineage[:-1])
            axis = self.axis_of[lineage] = len(self.axes)
            self.axes.append(AxisPlan(parent, lineage))
        return axis

    def _plan_input(self, declared: InputDeclaration) -> InputPlan:
        slot = self.input_slots[declared.name] = self._slot()
        lineage = input_lineage(declared)
        axes = tuple(self._axis(lineage[: depth + 1]) for depth in range(len(lineage)))
        codecs = tuple(
            codec
            for kind in declared.kinds
            for codec in self.codecs.for_kind(kind)
            if codec.offers("deserialise")
        )
        return InputPlan(declared, slot, axes, codecs)

    def _plan_step(self, position: int, predecessors: int, followers: tuple[int, ...]) -> StepPlan:
        node = self.graph.nodes[position]
        flow = self.flows[position]
        spec, manifest, block = node.step.spec, node.step.manifest, self.blocks[position]
        assert spec is not None
        assert manifest is not None
        edges: dict[str, list[tuple[DataEdge, Lineage]]] = {}
        for edge, lineage in zip(node.data, flow.edges, strict=True):
            edges.setdefault(edge.reference.field, []).append((edge, lineage))
        constants: dict[str, Any] = {}
        arguments: list[ArgumentPlan] = []
        values = manifest.__dict__
        for name, field in spec.fields.items():
            if name in edges or name in flow.casts:
                arguments.append(self._plan_argument(node, flow, name, edges.get(name, [])))
            else:
                constants[name] = _literal(field, values[name])
        axis = self._axis(flow.execution)
        if axis == SINGLE:
            mode = ONCE
        else:
            mode = BATCH if spec.accepts_batch_input else EACH
        return StepPlan(
            position=position,
            name=node.step.name,
            spec=spec,
            block=block,
            manifest=manifest,
            mode=mode,
            axis=axis,
            constants=constants,
            arguments=tuple(arguments),
            gates=self._plan_gates(position, node),
            outputs=self.output_slots[position],
            output_axis=self._axis(flow.outputs),
            targets=self.verdict_slots[position],
            predecessors=predecessors,
            followers=followers,
            representation=block.representation,
            conversions=self._conversions_of(arguments),
        )

    def _conversions_of(self, arguments: list[ArgumentPlan]) -> tuple[ConversionPlan, ...]:
        """What must be converted before these arguments are read."""
        if not self.conversions:
            return ()
        read = {value.slot for argument in arguments for value in argument.values}
        return tuple(item for item in self.conversions.values() if item.slot in read)

    def _plan_gates(self, position: int, node: GraphNode) -> tuple[GatePlan, ...]:
        gates = []
        for gate in node.gates:
            source = self.graph.nodes[gate]
            for text, targets in source.targets.items():
                if position in targets:
                    gates.append(
                        GatePlan(
                            self.verdict_slots[gate][text],
                            self._axis(self.flows[gate].execution),
                            source.step.name,
                        )
                    )
        return tuple(gates)

    def _plan_argument(
        self, node: GraphNode, flow: StepFlow, name: str, edges: list[tuple[DataEdge, Lineage]]
    ) -> ArgumentPlan:
        spec, manifest = node.step.spec, node.step.manifest
        assert spec is not None
        field = spec.fields[name]
        cast = flow.casts.get(name)
        casting: dict[str, Any] = {}
        if cast is not None:
            axis = self._axis(cast.lineage)
            casting = {"cast": True, "cast_axis": axis, "cast_wraps": cast.wraps}
        if edges and edges[0][0].reference.key is None:
            value = self._value(node, *edges[0], field.accepts_literal)
            return ArgumentPlan(name, value=value, **casting)
        literal = _literal(field, getattr(manifest, name))
        container = _container(literal)
        if container is None or not any(form.container == container for form in field.references):
            return ArgumentPlan(name, constant=literal, **casting)
        template = list(literal) if container == "list" else literal
        parts = {
            edge.reference.key: self._value(node, edge, lineage, False)
            for edge, lineage in edges
            if edge.reference.key is not None
        }
        entries: Iterable[tuple[int | str, Any]] = (
            template.items() if isinstance(template, dict) else enumerate(template)
        )
        literals = (key for key, item in entries if key not in parts and item is not None)
        if cast is not None:
            casting["cast_keys"] = tuple(literals)
        return ArgumentPlan(name, template=template, parts=tuple(parts.items()), **casting)

    def _value(self, node: GraphNode, edge: DataEdge, lineage: Lineage, checked: bool) -> ValuePlan:
        reference = edge.reference.reference
        if edge.source >= 0:
            assert reference.property_name is not None
            slot = self.output_slots[edge.source][reference.property_name]
            axis = self._axis(lineage)
            kinds = (self.graph.nodes[edge.source].step.outputs or {})[
                reference.property_name
            ].kinds
            slot = self._converted(slot, axis, kinds, edge.source, self._block_of(node))
            return ValuePlan(slot, axis, True)
        slot = self.input_slots[reference.name]
        declared = self.graph.inputs[reference.name]
        if checked and declared.is_parameter and node.step.manifest is not None:
            checked_slot = self._slot()
            self.substitutions.append(
                SubstitutionPlan(
                    declared,
                    slot,
                    checked_slot,
                    node.step.name,
                    edge.reference.field,
                    node.step.manifest,
                )
            )
            slot = checked_slot
        axis = self._axis(lineage)
        slot = self._converted(slot, axis, declared.kinds, -1, self._block_of(node))
        return ValuePlan(slot, axis, False)

    def _block_of(self, node: GraphNode) -> str:
        """Representation of the block that a step runs."""
        return self.blocks[self.graph.positions[node.step.name]].representation

    def _converted(
        self, slot: int, axis: int, kinds: Sequence[str], source: int, target: str
    ) -> int:
        """The slot of a value in another representation; the same slot when it needs no change."""
        made_in = NUMPY if source < 0 else self.blocks[source].representation
        if made_in == target:
            return slot
        planned = self.conversions.get((slot, target))
        if planned is None:
            converters = self.registry.representations.converters(kinds, made_in, target)
            if not converters:
                return slot
            planned = ConversionPlan(slot, self._slot(), axis, converters)
            self.conversions[slot, target] = planned
        return planned.slot

    def _plan_output(self, output: Any, reference: Any) -> OutputPlan:
        if reference.kind == INPUT:
            declared = self.graph.inputs[reference.name]
            members: tuple[tuple[str, int, tuple[str, ...]], ...] = (
                (output.name, self.input_slots[reference.name], declared.kinds),
            )
            lineage = input_lineage(declared)
        else:
            position = self.graph.positions[reference.name]
            offered = self.graph.nodes[position].step.outputs or {}
            names = (
                list(offered)
                if reference.property_name == ALL_OUTPUTS
                else [reference.property_name]
            )
            members = tuple(
                (name, self.output_slots[position][name], offered[name].kinds) for name in names
            )
            lineage = self.flows[position].outputs
        return OutputPlan(
            output.name,
            members,
            self._axis(lineage),
            bool(lineage) and lineage[0] != ROOT_LEVEL,
            reference.kind != INPUT and reference.property_name == ALL_OUTPUTS,
            output.coordinates_system == "parent",
            output.selector,
            self._output_conversions(
                members,
                self._axis(lineage),
                -1 if reference.kind == INPUT else self.graph.positions[reference.name],
            ),
        )

    def _output_conversions(
        self, members: tuple[tuple[str, int, tuple[str, ...]], ...], axis: int, source: int
    ) -> dict[int, ConversionPlan]:
        """What brings results into the representation of the run; those of `auto` are numpy."""
        target = NUMPY if self.representation == AUTO else self.representation
        for _, slot, kinds in members:
            self._converted(slot, axis, kinds, source, target)
        slots = [slot for _, slot, _ in members if (slot, target) in self.conversions]
        return {slot: self.conversions[slot, target] for slot in slots}


def _container(value: Any) -> Container:
    if isinstance(value, dict):
        return "dict"
    return "list" if isinstance(value, (list, tuple)) else None


def _literal(field: FieldSpec, value: Any) -> Any:
    """A literal of a step as `run` gets it: where a reference could stand, the escape for a leading
    dollar sign is taken off.
    """
    container = _container(value)
    if all(form.container != container for form in field.references):
        return value
    if container == "dict":
        return {key: unescape(item) for key, item in value.items()}
    if container == "list":
        return type(value)(unescape(item) for item in value)
    return unescape(value)
