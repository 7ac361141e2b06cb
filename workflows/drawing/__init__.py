"""Pictures of workflows as text: SVG laid out here, DOT and Mermaid for other tools."""

from __future__ import annotations

from workflows.drawing.dot import to_dot
from workflows.drawing.graph import picture_graph
from workflows.drawing.mermaid import to_mermaid
from workflows.drawing.svg import to_svg
from workflows.inspection import Inspection

__all__ = ["draw_workflow"]

_WRITERS = {"svg": to_svg, "dot": to_dot, "mermaid": to_mermaid}


def draw_workflow(inspection: Inspection, title: str, format: str) -> str:
    """The picture of a workflow as text in one of the formats svg, dot, mermaid.

    Raises:
        ValueError: the format is none of these.
    """
    writer = _WRITERS.get(format)
    if writer is None:
        raise ValueError(f"a workflow is drawn as {', '.join(_WRITERS)}, got {format!r}")
    return writer(picture_graph(inspection), title)
