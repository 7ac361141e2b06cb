"""A workflow as an SVG picture. Places come from `layout`."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple
from xml.sax.saxutils import escape

from workflows.drawing.graph import Edge, Node, PictureGraph
from workflows.drawing.layout import Line, lay_out

_HEIGHT = 46.0
_MARGIN = 24.0
_TITLE_HEIGHT = 34.0
_LONGEST_TEXT = 44
_NARROWEST = 110.0
# Mean advance of a letter in px, wide enough for the sans-serif faces in use.
_TITLE_ADVANCE, _SUBTITLE_ADVANCE = 8.0, 6.3
_FONT = "Helvetica, Arial, 'DejaVu Sans', sans-serif"
_DATA_COLOUR, _CONTROL_COLOUR = "#5f6b7a", "#8a4fbf"


class _Look(NamedTuple):
    fill: str
    stroke: str
    dash: str = ""


_LOOKS = {
    "input": _Look("#e6f4ea", "#3b8a5a"),
    "step": _Look("#eaf1fb", "#3c6eb4"),
    "output": _Look("#fdf3e1", "#b7791f"),
    "faulty": _Look("#fff4e5", "#d9480f", "6 3"),
    "missing": _Look("#fdeaea", "#b3261e", "6 3"),
}


def to_svg(graph: PictureGraph, title: str) -> str:
    """Text of an SVG picture, layers from top to bottom: inputs, steps, outputs.

    Boxes of steps with problems are dashed in orange, of missing blocks in red; dashed lines are
    control edges. Full texts that a box has no room for show as tooltips.
    """
    shown = [
        (_shortened(node.title), _shortened(node.subtitle) + node.note) for node in graph.nodes
    ]
    widths = [
        max(_NARROWEST, len(name) * _TITLE_ADVANCE + 28, len(detail) * _SUBTITLE_ADVANCE + 28)
        for name, detail in shown
    ]
    layout = lay_out(
        widths,
        _HEIGHT,
        [(edge.source, edge.target, int(edge.kind == "control")) for edge in graph.edges],
        first=[number for number, node in enumerate(graph.nodes) if node.kind == "input"],
        last=[number for number, node in enumerate(graph.nodes) if node.kind == "output"],
    )
    heading = _shortened(title)
    width = max(layout.size_wh[0], len(heading) * 9.0) + 2 * _MARGIN
    height = layout.size_wh[1] + 2 * _MARGIN + _TITLE_HEIGHT
    shift_x = (width - layout.size_wh[0]) / 2
    shift_y = _MARGIN + _TITLE_HEIGHT
    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" width="{width:.0f}" height="{height:.0f}" '
        f'viewBox="0 0 {width:.0f} {height:.0f}" font-family="{_FONT}">',
        f"<title>{_text(title)}</title>",
        "<defs>",
        _arrowhead("data", _DATA_COLOUR),
        _arrowhead("control", _CONTROL_COLOUR),
        "</defs>",
        '<rect width="100%" height="100%" fill="#ffffff"/>',
        f'<text x="{_MARGIN:.0f}" y="{_MARGIN + 10:.0f}" font-size="16" font-weight="bold" '
        f'fill="#1f2933">{_text(heading)}</text>',
        f'<g transform="translate({shift_x:.1f} {shift_y:.1f})">',
        *(_line(line, graph.edges) for line in layout.lines),
    ]
    for node, texts, box_width, centre in zip(
        graph.nodes, shown, widths, layout.centres, strict=True
    ):
        parts.append(_box(node, texts, box_width, centre))
    return "\n".join([*parts, "</g>", "</svg>"]) + "\n"


def _arrowhead(name: str, colour: str) -> str:
    return (
        f'<marker id="{name}" viewBox="0 0 8 8" refX="7" refY="4" markerWidth="7" markerHeight="7" '
        f'orient="auto-start-reverse"><path d="M0 0L8 4L0 8z" fill="{colour}"/></marker>'
    )


def _line(line: Line, edges: Sequence[Edge]) -> str:
    (x1, y1), (x2, y2) = line.start, line.end
    middle = (y1 + y2) / 2
    path = f"M{x1:.1f} {y1:.1f}"
    if abs(x1 - x2) < 0.5:
        path += f"L{x2:.1f} {y2:.1f}"
    else:
        path += f"C{x1:.1f} {middle:.1f} {x2:.1f} {middle:.1f} {x2:.1f} {y2:.1f}"
    carried = [edges[number] for number in line.edges]
    kind = carried[0].kind
    colour = _CONTROL_COLOUR if kind == "control" else _DATA_COLOUR
    dash = ' stroke-dasharray="5 4"' if kind == "control" else ""
    head = ""
    if line.arrow >= 0:
        head = f' marker-{"start" if line.upward else "end"}="url(#{kind})"'
    tooltip = escape("; ".join(_clean(edge.label) for edge in carried))
    return (
        f'<path d="{path}" fill="none" stroke="{colour}" stroke-width="1.4"{dash}{head}>'
        f"<title>{tooltip}</title></path>"
    )


def _box(node: Node, texts: tuple[str, str], width: float, centre: tuple[float, float]) -> str:
    x, y = centre
    missing = node.status in ("not_in_build", "unknown")
    look = _LOOKS["missing" if missing else "faulty" if node.status == "faulty" else node.kind]
    dash = f' stroke-dasharray="{look.dash}"' if look.dash else ""
    radius = 8 if node.kind == "step" else _HEIGHT / 2
    return (
        f"<g><title>{_text(node.title)}: {_text(node.subtitle + node.note)}</title>"
        f'<rect x="{x - width / 2:.1f}" y="{y - _HEIGHT / 2:.1f}" width="{width:.1f}" '
        f'height="{_HEIGHT:.0f}" rx="{radius:.0f}" fill="{look.fill}" stroke="{look.stroke}" '
        f'stroke-width="1.4"{dash}/>'
        f'<text x="{x:.1f}" y="{y - 4:.1f}" text-anchor="middle" font-size="13" '
        f'font-weight="bold" fill="#1f2933">{_text(texts[0])}</text>'
        f'<text x="{x:.1f}" y="{y + 13:.1f}" text-anchor="middle" font-size="11" '
        f'fill="#52606d">{_text(texts[1])}</text></g>'
    )


def _shortened(text: str) -> str:
    return (
        text
        if len(text) <= _LONGEST_TEXT
        else f"{text[: _LONGEST_TEXT - 1]}\N{HORIZONTAL ELLIPSIS}"
    )


def _text(text: str) -> str:
    return escape(_clean(text))


def _clean(text: str) -> str:
    """Text without characters that XML does not allow."""
    return "".join(c if c.isprintable() else "\N{REPLACEMENT CHARACTER}" for c in text)
