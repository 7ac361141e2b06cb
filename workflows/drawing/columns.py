"""Where places lie within their layers: straight long lines, short others, no overlaps. The order
in the layers is given.

Method: U. Brandes and B. Koepf, "Fast and Simple Horizontal Coordinate Assignment" (2001): places
are joined with their median neighbours into vertical blocks in four ways (upwards or downwards,
from the left or from the right), each block layout is packed, and every place gets the mean of the
two middle ones of its four positions.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise

Conflicts = set[tuple[int, int]]


def assign_columns(
    layers: Sequence[Sequence[int]],
    above: Sequence[Sequence[int]],
    below: Sequence[Sequence[int]],
    widths: Sequence[float],
    bends: frozenset[int],
    gap: float,
) -> list[float]:
    """The centre of each place in px.

    Args:
        layers: places of each layer from left to right.
        above: neighbours of each place in the layer above.
        below: neighbours of each place in the layer below.
        widths: width of each place in px.
        bends: places that are bends of a line; lines through several of them are kept straight.
        gap: least distance between neighbours of a layer in px.
    """
    if not layers:
        return []
    rank = {place: position for layer in layers for position, place in enumerate(layer)}
    conflicts = _conflicts(layers, above, rank, bends)
    layouts: list[list[float]] = []
    for downward in (True, False):
        for leftward in (True, False):
            ordered = layers if downward else layers[::-1]
            if not leftward:
                ordered = [layer[::-1] for layer in ordered]
            near = above if downward else below
            positions = {place: i for layer in ordered for i, place in enumerate(layer)}
            root, blocks = _align(ordered, near, positions, conflicts)
            columns = _pack(ordered, root, blocks, widths, gap)
            layouts.append(columns if leftward else [-x for x in columns])
    return _balance(layouts, widths)


def _conflicts(
    layers: Sequence[Sequence[int]],
    above: Sequence[Sequence[int]],
    rank: dict[int, int],
    bends: frozenset[int],
) -> Conflicts:
    """Lines that cross a line between two bends; the latter has the right to be straight."""
    found: Conflicts = set()
    for lower in layers[1:]:
        inner = [
            (rank[source], rank[place])
            for place in lower
            if place in bends
            for source in above[place]
            if source in bends
        ]
        if not inner:
            continue
        for place in lower:
            for source in above[place]:
                if place in bends and source in bends:
                    continue
                if any(
                    (rank[source] - first) * (rank[place] - second) < 0 for first, second in inner
                ):
                    found.add((source, place))
    return found


def _align(
    layers: Sequence[Sequence[int]],
    near: Sequence[Sequence[int]],
    positions: dict[int, int],
    conflicts: Conflicts,
) -> tuple[dict[int, int], dict[int, int]]:
    """The first place of each place's block, and the next place in the block's ring."""
    root = {place: place for layer in layers for place in layer}
    ring = dict(root)
    for layer in layers:
        border = -1
        for place in layer:
            neighbours = sorted(near[place], key=positions.__getitem__)
            middle = len(neighbours) - 1
            for index in dict.fromkeys((middle // 2, (middle + 1) // 2)) if neighbours else ():
                other = neighbours[index]
                free = (other, place) not in conflicts and (place, other) not in conflicts
                if ring[place] == place and free and positions[other] > border:
                    ring[other] = place
                    root[place] = root[other]
                    ring[place] = root[place]
                    border = positions[other]
    return root, ring


def _pack(
    layers: Sequence[Sequence[int]],
    root: dict[int, int],
    ring: dict[int, int],
    widths: Sequence[float],
    gap: float,
) -> list[float]:
    """Columns of the blocks: as far left as they go, then as near to their right neighbours."""
    distances: dict[int, dict[int, float]] = {place: {} for place in ring if root[place] == place}
    missing = dict.fromkeys(distances, 0)
    for layer in layers:
        for left, right in pairwise(layer):
            distance = (widths[left] + widths[right]) / 2 + gap
            known = distances[root[left]].get(root[right])
            if known is None:
                missing[root[right]] += 1
            distances[root[left]][root[right]] = max(distance, known or 0.0)
    columns = dict.fromkeys(distances, 0.0)
    ready = [block for block, count in missing.items() if count == 0]
    order = []
    while ready:
        block = ready.pop()
        order.append(block)
        for right, distance in distances[block].items():
            columns[right] = max(columns[right], columns[block] + distance)
            missing[right] -= 1
            if missing[right] == 0:
                ready.append(right)
    for block in reversed(order):
        limits = [columns[right] - distance for right, distance in distances[block].items()]
        if limits:
            columns[block] = max(columns[block], min(limits))
    return [columns[root[place]] for place in sorted(root)]


def _balance(layouts: list[list[float]], widths: Sequence[float]) -> list[float]:
    """The mean of the two middle positions of each place, after moving all onto the narrowest."""
    spans = [
        (
            min(x - width / 2 for x, width in zip(columns, widths, strict=True)),
            max(x + width / 2 for x, width in zip(columns, widths, strict=True)),
        )
        for columns in layouts
    ]
    narrow_left, narrow_right = min(spans, key=lambda span: span[1] - span[0])
    moved = []
    for number, (columns, (left, right)) in enumerate(zip(layouts, spans, strict=True)):
        leftward = number % 2 == 0
        shift = narrow_left - left if leftward else narrow_right - right
        moved.append([x + shift for x in columns])
    return [(four[1] + four[2]) / 2 for four in map(sorted, zip(*moved, strict=True))]
