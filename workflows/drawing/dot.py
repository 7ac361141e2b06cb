"""A workflow in the language of Graphviz."""

from __future__ import annotations

from workflows.drawing.graph import PictureGraph

_SHAPES = {"input": "ellipse", "step": "box", "output": "ellipse"}


def to_dot(graph: PictureGraph, title: str) -> str:
    """Text of a `digraph`."""
    lines = [
        "digraph workflow {",
        f"  label={_quoted(title)};",
        '  node [fontname="Helvetica"];',
    ]
    for number, node in enumerate(graph.nodes):
        style = "" if node.status == "ok" else ', style="dashed", color="#b3261e"'
        label = f"{node.title}\n{node.subtitle}{node.note}"
        lines.append(f"  n{number} [label={_quoted(label)}, shape={_SHAPES[node.kind]}{style}];")
    for edge in graph.edges:
        style = ', style="dashed"' if edge.kind == "control" else ""
        tooltip = _quoted(edge.label)
        lines.append(f"  n{edge.source} -> n{edge.target} [edgetooltip={tooltip}{style}];")
    lines.append("}")
    return "\n".join(lines) + "\n"


def _quoted(text: str) -> str:
    clean = "".join(
        c if c.isprintable() or c == "\n" else "\N{REPLACEMENT CHARACTER}" for c in text
    )
    escaped = clean.replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n")
    return f'"{escaped}"'
