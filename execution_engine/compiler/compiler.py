"""`compile_definition`: from JSON to a plan, reporting every problem at once. Keeps no plan."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from execution_engine.compiler.dataflow import trace_dataflow
from execution_engine.compiler.graph import Graph, build_graph
from execution_engine.compiler.inner_workflows import embed_inner_workflows
from execution_engine.compiler.planner import make_plan
from execution_engine.compiler.steps import parse_steps
from execution_engine.definition.model import Definition
from execution_engine.definition.parser import parse_definition
from execution_engine.definition.problems import ProblemList
from execution_engine.errors import Problem
from execution_engine.kinds.representation import AUTO, NUMPY, TENSOR
from execution_engine.plan import Plan
from execution_engine.registry.registry import BlockRegistry
from execution_engine.versions import check_requested_version


def compile_definition(
    definition: Mapping[str, Any], registry: BlockRegistry, representation: str = NUMPY
) -> Plan:
    """The plan of a workflow definition.

    Args:
        definition: the JSON object; copied, so changing it later does not change the plan.
        registry: the blocks it may use.
        representation: `numpy`; another one that a plug-in offers, such as `tensor`: each step then
            takes its block's sibling where there is one; or `auto`: `tensor` for steps that run a
            model and for those fed by them. Whoever asks for `auto` says by it that models do not
            run on the CPU (see `resolved`).

    Raises:
        WorkflowEnvironmentConfigurationError: nobody offers the representation, or its library is
            missing.
        WorkflowDefinitionError: the requested engine version is no version.
        NotSupportedExecutionEngineError: the requested engine version is not this one's.
        WorkflowCompilerError: the class of the earliest phase with a problem (syntax, names,
            references, graph, depth,
            lineage); `.errors` holds all problems of all phases.
    """
    try:
        own = _own(definition)
    except RecursionError:  # left to the parser, which says where
        own = definition
    return checked_plan(own, registry, representation)


def checked_plan(
    definition: Mapping[str, Any], registry: BlockRegistry, representation: str
) -> Plan:
    """The plan of a definition that nobody changes any more; errors as `compile_definition`."""
    registry.representations.require(TENSOR if representation == AUTO else representation)
    plan, problems = _compile(definition, registry, representation)
    problems.raise_if_any()
    assert plan is not None
    return plan


def find_problems(definition: Mapping[str, Any], registry: BlockRegistry) -> list[Problem]:
    """Every problem of a definition, none for a good one. Raises only for a version that cannot be
    served.
    """
    return _compile(definition, registry)[1].problems


def inspect_graph(
    definition: Mapping[str, Any], registry: BlockRegistry
) -> tuple[Definition, Graph, list[Problem]]:
    """The parts of a definition as far as they can be understood, with its problems, for showing
    what is there.
    """
    problems = ProblemList()
    parsed = embed_inner_workflows(parse_definition(definition, problems), registry, problems)
    graph = build_graph(parsed, parse_steps(parsed, registry, problems), problems)
    return parsed, graph, problems.problems


def _compile(
    definition: Mapping[str, Any], registry: BlockRegistry, representation: str = NUMPY
) -> tuple[Plan | None, ProblemList]:
    problems = ProblemList()
    parsed = parse_definition(definition, problems)
    check_requested_version(parsed.version)
    parsed = embed_inner_workflows(parsed, registry, problems)
    steps = parse_steps(parsed, registry, problems)
    graph = build_graph(parsed, steps, problems)
    flows = trace_dataflow(graph, problems)
    plan = None
    if not len(problems):
        plan = make_plan(parsed, graph, flows, registry, representation)
    return plan, problems


def _own(value: Any) -> Any:
    """JSON data with containers of its own; leaves are shared."""
    if isinstance(value, dict):
        return {key: _own(item) for key, item in value.items()}
    if isinstance(value, list):
        return [_own(item) for item in value]
    return value
