"""The order steps run in, and the circles that leave none. Knows steps by position only; which must
run before which is said by the graph.
"""

from __future__ import annotations

import heapq
from collections.abc import Sequence

from execution_engine.compiler.steps import ParsedStep
from execution_engine.definition.problems import ProblemList
from execution_engine.errors import ExecutionGraphStructureError


def topological_order(predecessors: Sequence[set[int]]) -> list[int]:
    """Positions in an order in which every step follows its predecessors; definition order breaks
    ties. Steps on a circle, and those after one, are left out.
    """
    followers: list[list[int]] = [[] for _ in predecessors]
    for position, before in enumerate(predecessors):
        for earlier in before:
            followers[earlier].append(position)
    missing = [len(before) for before in predecessors]
    ready = [position for position, count in enumerate(missing) if count == 0]
    order: list[int] = []
    while ready:
        position = heapq.heappop(ready)
        order.append(position)
        for follower in followers[position]:
            missing[follower] -= 1
            if missing[follower] == 0:
                heapq.heappush(ready, follower)
    return order


def report_cycles(
    steps: Sequence[ParsedStep],
    predecessors: Sequence[set[int]],
    ordered: set[int],
    problems: ProblemList,
) -> None:
    """One problem for each cycle found by walking backwards from the steps that could not be
    ordered.
    """
    seen = set(ordered)
    for start in range(len(steps)):
        if start in seen:
            continue
        path: list[int] = []
        current = start
        while current not in seen and current not in path:
            path.append(current)
            current = min(p for p in predecessors[current] if p not in ordered)
        seen.update(path)
        if current not in path:
            continue
        cycle = path[path.index(current) :][::-1]
        names = [steps[position].name for position in cycle]
        first = steps[min(cycle)]
        problems.add(
            ExecutionGraphStructureError,
            "cycle",
            f"Steps depend on each other in a circle: {' -> '.join([*names, names[0]])}.",
            first.declaration.where,
            hint="remove one of these references",
            block_id=first.name,
            block_type=first.declaration.type,
        )
