"""What a picture of a workflow shows: nodes and edges, without places. Knows no output format."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from execution_engine.definition.references import INPUT, STEP, parse_reference
from workflows.inspection import Inspection

NodeKind = Literal["input", "step", "output"]
EdgeKind = Literal["data", "control"]


@dataclass(frozen=True, slots=True)
class Node:
    """A box: `status` is that of `StepView` for steps, `ok` for inputs and outputs."""

    kind: NodeKind
    title: str
    subtitle: str
    status: str = "ok"

    @property
    def note(self) -> str:
        """What to say after the subtitle, empty for a box with nothing amiss."""
        return _NOTES.get(self.status, "")


@dataclass(frozen=True, slots=True)
class Edge:
    """A line from node to node by index; `label` names what travels along it."""

    source: int
    target: int
    kind: EdgeKind
    label: str


@dataclass(frozen=True, slots=True)
class PictureGraph:
    """Nodes (inputs, steps, outputs, each in declared order) and edges without repeats."""

    nodes: tuple[Node, ...]
    edges: tuple[Edge, ...]


_NOTES = {"not_in_build": " (not in this build)", "unknown": " (unknown block)"}


def picture_graph(inspection: Inspection) -> PictureGraph:
    """The nodes and edges of a definition; references that lead nowhere are left out."""
    definition = inspection.definition
    nodes: list[Node] = []
    inputs: dict[str, int] = {}
    steps: dict[str, int] = {}
    for declared in definition.inputs:
        inputs.setdefault(declared.name, len(nodes))
        nodes.append(Node("input", declared.name, " or ".join(declared.kinds)))
    first_step = len(nodes)
    for step in inspection.steps:
        steps.setdefault(step.name, len(nodes))
        nodes.append(Node("step", step.name, step.type or "no type", step.status))
    edges: dict[tuple[int, int, str], list[str]] = {}
    for position, step in enumerate(inspection.steps):
        for field, reference in step.references:
            own = first_step + position
            if reference.kind == STEP:
                if reference.name in steps:
                    edges.setdefault((own, steps[reference.name], "control"), []).append(field)
                continue
            source = (inputs if reference.kind == INPUT else steps).get(reference.name)
            if source is not None:
                edges.setdefault((source, own, "data"), []).append(
                    f"{reference.property_name or reference.name} to {field}"
                )
    for output in definition.outputs:
        own = len(nodes)
        nodes.append(Node("output", output.name, output.selector))
        target = parse_reference(output.selector)
        if target is not None and target.kind != STEP:
            source = (inputs if target.kind == INPUT else steps).get(target.name)
            if source is not None:
                edges.setdefault((source, own, "data"), []).append(
                    target.property_name or target.name
                )
    return PictureGraph(
        tuple(nodes),
        tuple(
            Edge(source, target, "control" if kind == "control" else "data", ", ".join(labels))
            for (source, target, kind), labels in edges.items()
        ),
    )
