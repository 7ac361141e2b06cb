"""Places of nodes in layers from top to bottom, and lines between them. Knows no text or colour.

Method: edges that close a circle are turned round, nodes go to the layer after their deepest
source, long lines pass through bends in the layers between (lines from one source share them),
order within a layer by barycentres (Sugiyama, Tagawa, Toda 1981); `columns` finds the places.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

from workflows.drawing.columns import assign_columns

_ORDER_SWEEPS = 12


@dataclass(frozen=True, slots=True)
class Line:
    """A line between two neighbouring layers.

    Attributes:
        points: (x, top y) and (x, bottom y) in px.
        edges: indices of the edges that run along it.
        arrow: -1, or the index of the edge that ends here, with its arrowhead.
        upward: whether the edge was turned round, so that its head is at the upper end.
    """

    start: tuple[float, float]
    end: tuple[float, float]
    edges: tuple[int, ...]
    arrow: int
    upward: bool


@dataclass(frozen=True, slots=True)
class Layout:
    """Centres of the nodes in px, lines, and the size (width, height) of the drawing."""

    centres: tuple[tuple[float, float], ...]
    lines: tuple[Line, ...]
    size_wh: tuple[float, float]


@dataclass(slots=True)
class _Place:
    """A node or a bend in the layered graph."""

    layer: int
    width: float
    x: float = 0.0
    above: list[int] = field(default_factory=list)
    below: list[int] = field(default_factory=list)


class _Link(NamedTuple):
    """A line between places of neighbouring layers: its group, and whether its edges are turned."""

    upper: int
    lower: int
    group: int
    turned: bool


def lay_out(
    widths: Sequence[float],
    height: float,
    edges: Sequence[tuple[int, int, int]],
    *,
    first: Sequence[int] = (),
    last: Sequence[int] = (),
    column_gap: float = 28.0,
    row_gap: float = 46.0,
) -> Layout:
    """Places for nodes.

    Args:
        widths: width of each node in px.
        height: height of every node in px.
        edges: (source, target, group); lines of one source and group share their way.
        first: nodes that belong to the top layer.
        last: nodes that belong to the bottom layer.
        column_gap: least distance of neighbours in a layer in px.
        row_gap: distance of layers in px.
    """
    directed = _without_circles(len(widths), edges)
    layers_of = _layers(len(widths), directed, first, last)
    places = [_Place(layer, width) for layer, width in zip(layers_of, widths, strict=True)]
    links = _link(places, directed, edges)
    layers: list[list[int]] = [[] for _ in range(max(layers_of, default=-1) + 1)]
    for number, place in enumerate(places):
        layers[place.layer].append(number)
    _order(layers, places)
    count = len(widths)
    columns = assign_columns(
        layers,
        [place.above for place in places],
        [place.below for place in places],
        [place.width for place in places],
        frozenset(range(count, len(places))),
        column_gap,
    )
    for x, place in zip(columns, places, strict=True):
        place.x = x
    left = min((place.x - place.width / 2 for place in places), default=0.0)
    right = max((place.x + place.width / 2 for place in places), default=0.0)
    for place in places:
        place.x -= left
    pitch = height + row_gap
    lines = []
    for link, carried in links.items():
        end = link.upper if link.turned else link.lower
        heads = [number for number in carried if end == edges[number][1]]
        lines.append(
            Line(
                (places[link.upper].x, places[link.upper].layer * pitch + height),
                (places[link.lower].x, places[link.lower].layer * pitch),
                tuple(carried),
                heads[0] if heads else -1,
                link.turned,
            )
        )
        if link.lower >= count:
            # A bend is as high as a node, so that the line goes straight past its neighbours.
            x, y = places[link.lower].x, places[link.lower].layer * pitch
            lines.append(Line((x, y), (x, y + height), tuple(carried), -1, link.turned))
    depth = len(layers)
    return Layout(
        tuple((place.x, place.layer * pitch + height / 2) for place in places[:count]),
        tuple(lines),
        (right - left, max(0.0, depth * pitch - row_gap)),
    )


def _without_circles(count: int, edges: Sequence[tuple[int, int, int]]) -> list[tuple[int, int]]:
    """The edges as (upper, lower), those that close a circle turned round."""
    followers: list[list[int]] = [[] for _ in range(count)]
    for number, (source, _, _) in enumerate(edges):
        followers[source].append(number)
    state = [0] * count
    directed: list[tuple[int, int]] = [(source, target) for source, target, _ in edges]
    for start in range(count):
        stack = [(start, iter(followers[start]))] if state[start] == 0 else []
        state[start] = state[start] or 1
        while stack:
            node, remaining = stack[-1]
            edge = next(remaining, None)
            if edge is None:
                state[node] = 2
                stack.pop()
                continue
            target = edges[edge][1]
            if state[target] == 1:
                directed[edge] = (target, node)
            elif state[target] == 0:
                state[target] = 1
                stack.append((target, iter(followers[target])))
    return directed


def _layers(
    count: int, directed: Sequence[tuple[int, int]], first: Sequence[int], last: Sequence[int]
) -> list[int]:
    below: list[list[int]] = [[] for _ in range(count)]
    missing = [0] * count
    for upper, lower in directed:
        if upper != lower:
            below[upper].append(lower)
            missing[lower] += 1
    layers = [0] * count
    if first:
        layers = [1] * count
        for node in first:
            layers[node] = 0
    ready = [node for node in range(count) if missing[node] == 0]
    while ready:
        node = ready.pop()
        for lower in below[node]:
            layers[lower] = max(layers[lower], layers[node] + 1)
            missing[lower] -= 1
            if missing[lower] == 0:
                ready.append(lower)
    if last:
        others = [layers[node] for node in range(count) if node not in set(last)]
        bottom = max([layers[node] for node in last] + [layer + 1 for layer in others], default=0)
        for node in last:
            layers[node] = bottom
    # Empty layers (no inputs, say) are closed up.
    used = {layer: position for position, layer in enumerate(sorted(set(layers)))}
    return [used[layer] for layer in layers]


def _link(
    places: list[_Place],
    directed: Sequence[tuple[int, int]],
    edges: Sequence[tuple[int, int, int]],
) -> dict[_Link, list[int]]:
    """Adds bends; gives the edges along each line between neighbouring layers."""
    bends: dict[tuple[int, int, bool, int], int] = {}
    links: dict[_Link, list[int]] = {}
    for number, (upper, lower) in enumerate(directed):
        if upper == lower:
            continue
        source, _, group = edges[number]
        turned = upper != source
        current = upper
        for layer in range(places[upper].layer + 1, places[lower].layer):
            key = (upper, group, turned, layer)
            if key not in bends:
                bends[key] = len(places)
                places.append(_Place(layer, 0.0))
            links.setdefault(_Link(current, bends[key], group, turned), []).append(number)
            current = bends[key]
        links.setdefault(_Link(current, lower, group, turned), []).append(number)
    for upper, lower in dict.fromkeys((link.upper, link.lower) for link in links):
        places[upper].below.append(lower)
        places[lower].above.append(upper)
    return links


def _order(layers: list[list[int]], places: list[_Place]) -> None:
    """Sorts each layer so that few lines cross; the best of the sweeps is kept."""
    rank = {number: position for layer in layers for position, number in enumerate(layer)}
    best, best_crossings = [list(layer) for layer in layers], _crossings(layers, places, rank)
    for sweep in range(_ORDER_SWEEPS):
        if best_crossings == 0:
            break
        downward = sweep % 2 == 0
        for layer in layers if downward else reversed(layers):
            weights = {}
            for number in layer:
                near = places[number].above if downward else places[number].below
                weights[number] = (
                    sum(rank[other] for other in near) / len(near) if near else float(rank[number])
                )
            layer.sort(key=weights.__getitem__)
            rank.update({number: position for position, number in enumerate(layer)})
        crossings = _crossings(layers, places, rank)
        if crossings < best_crossings:
            best, best_crossings = [list(layer) for layer in layers], crossings
    for layer, kept in zip(layers, best, strict=True):
        layer[:] = kept


def _crossings(layers: list[list[int]], places: list[_Place], rank: dict[int, int]) -> int:
    """Number of pairs of lines that cross, counted with a Fenwick tree."""
    total = 0
    for position, layer in enumerate(layers[:-1]):
        size = len(layers[position + 1])
        tree = [0] * (size + 1)
        seen = 0
        for number in layer:
            ends = sorted(rank[other] for other in places[number].below)
            for end in ends:
                index, smaller = end + 1, 0
                while index > 0:
                    smaller += tree[index]
                    index -= index & -index
                total += seen - smaller
            for end in ends:
                index = end + 1
                while index <= size:
                    tree[index] += 1
                    index += index & -index
                seen += 1
    return total
