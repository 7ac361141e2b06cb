"""Follows the references of a definition: names, targets, kinds, control edges. Their order is
found in `ordering`; depths come later.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from itertools import chain, islice

from execution_engine.compiler.ordering import report_cycles, topological_order
from execution_engine.compiler.steps import ParsedStep, StepReference
from execution_engine.compiler.validation_messages import reference_hint
from execution_engine.definition.model import Definition, InputDeclaration, OutputDeclaration
from execution_engine.definition.problems import Hint, ProblemList
from execution_engine.definition.references import (
    ALL_OUTPUTS,
    INPUT,
    STEP,
    Reference,
    did_you_mean,
    parse_reference,
)
from execution_engine.errors import (
    DuplicatedNameError,
    ExecutionGraphStructureError,
    InvalidReferenceTargetError,
    ReferenceTypeError,
)
from execution_engine.kinds.catalogue import IMAGE_KIND
from execution_engine.kinds.kind import kinds_compatible

_MOST_SOURCES = 3
_LONGEST_LIST = 200
OUTPUTS_BLOCK_ID = "$outputs"


@dataclass(slots=True)
class DataEdge:
    """A reference of a step that leads to an input or to an output of another step.

    `source` is the position of the source step, -1 for a workflow input.
    """

    reference: StepReference
    source: int


@dataclass(slots=True)
class GraphNode:
    """One step in the graph: its data edges, the steps it gates (by the reference that names them)
    and those that gate it, by position.
    """

    step: ParsedStep
    data: list[DataEdge] = field(default_factory=list)
    targets: dict[str, tuple[int, ...]] = field(default_factory=dict)
    gates: list[int] = field(default_factory=list)
    complete: bool = True


@dataclass(slots=True)
class Graph:
    """Steps in definition order, their topological order, and the outputs with their parsed
    references.
    """

    inputs: Mapping[str, InputDeclaration]
    nodes: list[GraphNode]
    order: list[int]
    outputs: list[tuple[OutputDeclaration, Reference]]
    positions: Mapping[str, int]

    def predecessors(self, position: int) -> set[int]:
        """Positions of the steps that must run before this one."""
        node = self.nodes[position]
        return {edge.source for edge in node.data if edge.source >= 0} | set(node.gates)


def build_graph(definition: Definition, steps: list[ParsedStep], problems: ProblemList) -> Graph:
    """The graph of a definition; every fault in names, references, kinds and structure goes to
    `problems`.
    """
    check_names(definition, problems)
    inputs = {declared.name: declared for declared in definition.inputs}
    positions: dict[str, int] = {}
    for position, step in enumerate(steps):
        positions.setdefault(step.name, position)
    nodes = [GraphNode(step, complete=step.manifest is not None) for step in steps]
    groups = {
        name: tuple(positions[step] for step in group.steps)
        for name, group in definition.groups.items()
    }
    for node in nodes:
        for reference in node.step.references:
            unusable = definition.unusable_inputs
            if reference.reference.kind == INPUT and reference.reference.name in unusable:
                node.complete = False  # the declaration is the fault, and reported
                continue
            if problems.mentions(reference.where):
                node.complete = False
            elif reference.reference.kind == STEP and reference.reference.name in groups:
                group = definition.groups[reference.reference.name]
                targets = groups[reference.reference.name]
                _add_control_edge(node, reference, targets, group.outputs, problems)
            else:
                _follow(node, reference, inputs, positions, nodes, problems)
    for position, node in enumerate(nodes):
        for target in dict.fromkeys(chain.from_iterable(node.targets.values())):
            nodes[target].gates.append(position)
    outputs = _follow_outputs(definition, inputs, positions, nodes, problems)
    graph = Graph(inputs, nodes, [], outputs, positions)
    before = [graph.predecessors(position) for position in range(len(nodes))]
    graph.order = topological_order(before)
    if len(graph.order) < len(nodes):
        report_cycles(steps, before, set(graph.order), problems)
    return graph


def check_names(definition: Definition, problems: ProblemList) -> None:
    """Reports names given twice among the inputs, the steps or the outputs."""
    for what, items in (
        ("input", definition.inputs),
        ("step", definition.steps),
        ("output", definition.outputs),
    ):
        first: dict[str, str] = {}
        for item in items:
            if item.name in first:
                problems.add(
                    DuplicatedNameError,
                    "duplicated_name",
                    f"Two {what}s are named '{item.name}': {first[item.name]} and {item.where}.",
                    f"{item.where}/name",
                    hint=f"give each {what} a name of its own",
                    block_id=item.name if what == "step" else None,
                )
            else:
                first[item.name] = item.where


def _follow(
    node: GraphNode,
    item: StepReference,
    inputs: Mapping[str, InputDeclaration],
    positions: Mapping[str, int],
    nodes: list[GraphNode],
    problems: ProblemList,
) -> None:
    reference = item.reference
    if reference.kind == INPUT:
        declared = inputs.get(reference.name)
        if declared is None:
            _missing_target(node, item, "input", inputs, problems)
            return
        if not _element_fits(item, False):
            _wrong_element(node, item, f"the {declared.type} '{declared.name}'", problems)
        elif _kinds_fit(node, item, declared.kinds, inputs, nodes, problems):
            node.data.append(DataEdge(item, -1))
        return
    source = positions.get(reference.name)
    if source is None:
        _missing_target(node, item, "step", positions, problems)
        return
    if reference.kind == STEP:
        own = tuple(nodes[source].step.outputs or ())
        _add_control_edge(node, item, (source,), own, problems)
        return
    if not _element_fits(item, True):
        _wrong_element(node, item, f"an output of step '{reference.name}'", problems)
        return
    outputs = nodes[source].step.outputs
    if outputs is None:
        node.complete = False
        return
    assert reference.property_name is not None
    output = outputs.get(reference.property_name)
    if output is None:
        node.complete = False
        offered = ", ".join(outputs) or "none (it only decides what runs)"
        what = "all outputs at once" if reference.property_name == ALL_OUTPUTS else "an output"
        problems.add(
            ExecutionGraphStructureError,
            "unknown_output",
            f"Step '{node.step.name}': '{item.field}' refers to {what} '{reference.property_name}' "
            "of step "
            f"'{reference.name}' ({nodes[source].step.declaration.type}), which has: {offered}.",
            item.where,
            hint=lambda: did_you_mean(str(reference.property_name), outputs),
            block_id=node.step.name,
            block_type=node.step.declaration.type,
            property_name=item.field,
        )
    elif _kinds_fit(node, item, output.kinds, inputs, nodes, problems):
        node.data.append(DataEdge(item, source))


def _element_fits(item: StepReference, is_step_output: bool) -> bool:
    """Whether the field takes references to this side at all; what data it may be is a matter of
    kinds.
    """
    if is_step_output:
        return any(form.element in ("any_data", "step_output") for form in item.forms)
    return any(
        form.element == "any_data" or form.element.startswith("workflow_") for form in item.forms
    )


def _wrong_element(node: GraphNode, item: StepReference, what: str, problems: ProblemList) -> None:
    node.complete = False
    problems.add(
        ExecutionGraphStructureError,
        "reference_not_allowed_here",
        f"Step '{node.step.name}': '{item.field}' cannot refer to {what}; it takes "
        f"{' or '.join(sorted({form.element.replace('_', ' ') for form in item.forms}))}.",
        item.where,
        block_id=node.step.name,
        block_type=node.step.declaration.type,
        property_name=item.field,
    )


def _missing_target(
    node: GraphNode,
    item: StepReference,
    what: str,
    candidates: Mapping[str, object],
    problems: ProblemList,
) -> None:
    node.complete = False
    # No more than can be shown: with thousands of faults the whole list would be joined each time.
    names = ", ".join(islice(candidates, _LONGEST_LIST)) or "none"
    if len(names) > _LONGEST_LIST:
        names = f"{names[:_LONGEST_LIST].rsplit(', ', 1)[0]}, and more"
    problems.add(
        InvalidReferenceTargetError,
        f"unknown_{what}",
        f"Step '{node.step.name}': '{item.field}' refers to the {what} '{item.reference.name}', "
        f"which does not exist; declared {what}s: {names}.",
        item.where,
        hint=lambda: did_you_mean(item.reference.name, candidates),
        block_id=node.step.name,
        block_type=node.step.declaration.type,
        property_name=item.field,
    )


def _kinds_fit(
    node: GraphNode,
    item: StepReference,
    given: tuple[str, ...],
    inputs: Mapping[str, InputDeclaration],
    nodes: list[GraphNode],
    problems: ProblemList,
) -> bool:
    accepted = [kind for form in item.forms for kind in form.kinds]
    if kinds_compatible(given, accepted):
        return True
    node.complete = False
    problems.add(
        ReferenceTypeError,
        "kind_mismatch",
        f"Step '{node.step.name}': '{item.field}' takes {' or '.join(dict.fromkeys(accepted))}, "
        f"but {item.reference.text} gives {' or '.join(given)}.",
        item.where,
        hint=lambda: _fitting_sources(item, accepted, node, inputs, nodes),
        block_id=node.step.name,
        block_type=node.step.declaration.type,
        property_name=item.field,
    )
    return False


def _fitting_sources(
    item: StepReference,
    kinds: list[str],
    node: GraphNode,
    inputs: Mapping[str, InputDeclaration],
    nodes: list[GraphNode],
) -> str | None:
    """A hint that names what gives one of the kinds for certain, at most three of them, and the
    parameter whose declaration could be changed.
    """
    wanted = set(kinds)
    found = [f"$inputs.{name}" for name, declared in inputs.items() if wanted & set(declared.kinds)]
    found += [
        f"$steps.{other.step.name}.{name}"
        for other in nodes
        if other is not node
        for name, output in (other.step.outputs or {}).items()
        if wanted & set(output.kinds)
    ]
    ways = [f"what fits: {', '.join(found[:_MOST_SOURCES])}"] if found else []
    source = inputs.get(item.reference.name) if item.reference.kind == INPUT else None
    if source is not None and source.is_parameter:
        kind = " or ".join(dict.fromkeys(kinds))
        way = "as a WorkflowImage" if kind == IMAGE_KIND.name else f"with the kind {kind}"
        ways.append(f"if '{source.name}' is to hold such a value, declare it {way}")
    return "; ".join(ways) or None


def _add_control_edge(
    node: GraphNode,
    item: StepReference,
    targets: tuple[int, ...],
    outputs: Sequence[str],
    problems: ProblemList,
) -> None:
    name = node.step.name
    if not any(form.element == "step" for form in item.forms):
        node.complete = False
        problems.add(
            ExecutionGraphStructureError,
            "step_reference_not_allowed",
            f"Step '{name}': '{item.field}' needs data, but {item.reference.text} names a step; "
            "add the output, such "
            f"as {item.reference.text}.{outputs[0] if outputs else 'output'}.",
            item.where,
            block_id=name,
            block_type=node.step.declaration.type,
            property_name=item.field,
        )
    elif item.reference.text in node.targets:
        node.complete = False
        if problems.mentions(item.where.rpartition("/")[0]):
            return  # a block that forbids this itself has refused the field as a whole
        problems.add(
            ExecutionGraphStructureError,
            "duplicated_control_target",
            f"Step '{name}' names {item.reference.text} as a target more than once; a step can be "
            "gated only once by the same control step.",
            item.where,
            block_id=name,
            block_type=node.step.declaration.type,
            property_name=item.field,
        )
    else:
        node.targets[item.reference.text] = targets


def _follow_outputs(
    definition: Definition,
    inputs: Mapping[str, InputDeclaration],
    positions: Mapping[str, int],
    nodes: list[GraphNode],
    problems: ProblemList,
) -> list[tuple[OutputDeclaration, Reference]]:
    followed = []
    for output in definition.outputs:
        reference = parse_reference(output.selector)
        message: str | None = None
        hint: Hint = None
        if reference is None or reference.kind == STEP:
            message = (
                f"Output '{output.name}': '{output.selector}' is no reference to data; expected "
                "$inputs.name, $steps.step.output or $steps.step.*."
            )
            hint = reference_hint(output.selector)
            if reference is not None and reference.name in positions:
                own = nodes[positions[reference.name]].step.outputs
                if own is not None:
                    hint = f"outputs of step '{reference.name}': {', '.join(own) or 'none'}"
        elif reference.kind == INPUT:
            if reference.name in definition.unusable_inputs:
                continue
            if reference.name not in inputs:
                message = f"Output '{output.name}' refers to the missing input '{reference.name}'."
                hint = partial(did_you_mean, reference.name, inputs)
        elif reference.name not in positions:
            message = f"Output '{output.name}' refers to the missing step '{reference.name}'."
            hint = partial(did_you_mean, reference.name, positions)
        else:
            offered = nodes[positions[reference.name]].step.outputs
            assert reference.property_name is not None
            if offered is None:
                continue
            if reference.property_name != ALL_OUTPUTS and reference.property_name not in offered:
                message = (
                    f"Output '{output.name}' refers to '{reference.property_name}' of step "
                    f"'{reference.name}', which "
                    f"has: {', '.join(offered) or 'no outputs'}."
                )
                hint = partial(did_you_mean, reference.property_name, offered)
        if message is not None:
            problems.add(
                InvalidReferenceTargetError,
                "unknown_output_target",
                message,
                f"{output.where}/selector",
                hint=hint,
                block_id=OUTPUTS_BLOCK_ID,
                property_name=output.name,
            )
        elif reference is not None:
            followed.append((output, reference))
    return followed
