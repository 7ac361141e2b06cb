"""A workflow as a Mermaid flowchart, for READMEs and issue trackers."""

from __future__ import annotations

from workflows.drawing.graph import PictureGraph

_BRACKETS = {"input": ("([", "])"), "step": ("[", "]"), "output": ("([", "])")}
_PLAIN = frozenset(" .,:_-/@$*")


def to_mermaid(graph: PictureGraph, title: str) -> str:
    """Text of a `flowchart`; control edges are dotted."""
    lines = ["---", f'title: "{_title(title)}"', "---", "flowchart TB"]
    for number, node in enumerate(graph.nodes):
        opening, closing = _BRACKETS[node.kind]
        label = f"{_escaped(node.title)}<br/>{_escaped(node.subtitle + node.note)}"
        lines.append(f'  n{number}{opening}"{label}"{closing}')
    for edge in graph.edges:
        arrow = "-.->" if edge.kind == "control" else "-->"
        lines.append(f"  n{edge.source} {arrow} n{edge.target}")
    broken = [f"n{number}" for number, node in enumerate(graph.nodes) if node.status != "ok"]
    if broken:
        lines.append("  classDef broken stroke:#b3261e,stroke-dasharray:4")
        lines.append(f"  class {','.join(broken)} broken")
    return "\n".join(lines) + "\n"


def _escaped(text: str) -> str:
    """Text with everything that Mermaid or HTML could read as markup as character numbers."""
    return "".join(c if c.isalnum() or c in _PLAIN else f"#{ord(c)};" for c in text)


def _title(text: str) -> str:
    """Text inside double quotes of YAML."""
    clean = "".join(c if c.isprintable() else " " for c in text)
    return clean.replace("\\", "\\\\").replace('"', '\\"')
