"""Chooses the class that runs each step: the block itself or its sibling in another representation.

Where values are converted is planned in `planner`.
"""

from __future__ import annotations

from execution_engine.block_api.block import WorkflowBlock
from execution_engine.block_api.spec import BlockSpec
from execution_engine.compiler.graph import Graph
from execution_engine.kinds.catalogue import ROBOFLOW_MODEL_ID_KIND
from execution_engine.kinds.representation import AUTO, NUMPY, TENSOR
from execution_engine.registry.registry import BlockRegistry


def choose_blocks(
    graph: Graph, registry: BlockRegistry, representation: str
) -> list[type[WorkflowBlock]]:
    """The class that runs each step: the sibling in the representation where there is one.

    `auto` takes the tensor sibling of steps that run a model, and of steps that such a step feeds.
    """
    chosen: list[type[WorkflowBlock]] = []
    for node in graph.nodes:
        assert node.step.block is not None
        chosen.append(node.step.block)
    if representation == NUMPY:
        return chosen
    wanted = TENSOR if representation == AUTO else representation
    for position in graph.order:
        node = graph.nodes[position]
        assert node.step.spec is not None
        if wanted not in node.step.spec.siblings:
            continue
        if representation == AUTO and not (
            _runs_model(node.step.spec)
            or any(
                edge.source >= 0 and chosen[edge.source].representation == wanted
                for edge in node.data
            )
        ):
            continue
        sibling = registry.load_sibling(node.step.spec.type_id, wanted)
        if sibling is not None:
            chosen[position] = sibling
    return chosen


def _runs_model(spec: BlockSpec) -> bool:
    return bool(spec.fields_of_kind(ROBOFLOW_MODEL_ID_KIND.name))
