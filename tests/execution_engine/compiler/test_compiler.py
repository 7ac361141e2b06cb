"""Compilation as a whole: plans, the cache of plans, what is shown of a faulty definition, speed on
large graphs.
"""

from __future__ import annotations

import copy
import json
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from dataclasses import FrozenInstanceError
from datetime import datetime
from typing import Any, Union

import pytest

from execution_engine import ExecutionEngine, PlanCache, compile_definition, find_problems
from execution_engine.block_api import Selector
from execution_engine.compiler.compiler import inspect_graph
from execution_engine.errors import NotSupportedExecutionEngineError, WorkflowSyntaxError
from tests.execution_engine.toy_blocks import (
    ANY,
    LIST,
    OBJECT,
    batch_input,
    block,
    parameter,
    run,
    step,
    toy_registry,
    workflow,
)

REGISTRY = toy_registry()
SMALL = workflow(
    [batch_input("x"), parameter("p", 1)],
    [
        step("gather", "g", data="$steps.a.out"),
        step("gate", "t", test="$inputs.p", next_steps=["$steps.a"]),
        step("add", "a", a="$inputs.x", b="$inputs.p"),
    ],
    {"g": "$steps.g.out", "x": "$inputs.x"},
)


class TestPlan:
    def test_description(self) -> None:
        """A plan can be read: inputs, steps in the order they run, outputs."""
        assert compile_definition(SMALL, REGISTRY).describe() == "\n".join(
            [
                "workflow for engine 1.0",
                "  input x: * (depth 1)",
                "  input p: * (parameter)",
                "  step t: toy/gate@v1 (once, depth 0)",
                "  step a: toy/add@v1 (each element, depth 1, gated by t)",
                "  step g: toy/gather@v1 (once, depth 0)",
                "  output g: $steps.g.out (depth 0)",
                "  output x: $inputs.x (depth 1)",
            ]
        )

    def test_as_json(self) -> None:
        """A plan is given as plain data too."""
        data = compile_definition(SMALL, REGISTRY).to_dict()
        assert json.loads(json.dumps(data)) == data
        assert data["inputs"][0] == {
            "name": "x",
            "type": "WorkflowBatchInput",
            "kinds": ["*"],
            "dimensionality": 1,
        }
        assert data["steps"] == [
            {
                "name": "t",
                "type": "toy/gate@v1",
                "mode": "once",
                "input_dimensionality": 0,
                "output_dimensionality": 0,
                "gated_by": [],
                "feeds": ["a"],
            },
            {
                "name": "a",
                "type": "toy/add@v1",
                "mode": "each",
                "input_dimensionality": 1,
                "output_dimensionality": 1,
                "gated_by": ["t"],
                "feeds": ["g"],
            },
            {
                "name": "g",
                "type": "toy/gather@v1",
                "mode": "once",
                "input_dimensionality": 0,
                "output_dimensionality": 0,
                "gated_by": [],
                "feeds": [],
            },
        ]
        assert data["outputs"][0] == {"name": "g", "selector": "$steps.g.out", "dimensionality": 0}

    def test_is_frozen(self) -> None:
        """A plan is not changed after it was made."""
        plan = compile_definition(SMALL, REGISTRY)
        with pytest.raises(FrozenInstanceError):
            plan.slots = 0  # type: ignore[misc]

    def test_ties_keep_the_order_of_the_definition(self) -> None:
        """Steps that could run in any order run as they are written."""
        definition = workflow([], [step("constant", name, value=1) for name in "dbca"])
        assert [item.name for item in compile_definition(definition, REGISTRY).steps] == list(
            "dbca"
        )

    def test_literal_text_that_starts_with_a_dollar(self) -> None:
        """`$$` stands for a literal `$` wherever a reference could stand, and for itself
        elsewhere.
        """
        echo = block(
            "t/echo@v1",
            lambda one, many, named, plain, plain_list: {
                "out": (one, many, named, plain, plain_list)
            },
            fields={
                "one": ANY,
                "many": LIST,
                "named": OBJECT,
                "plain": str,
                "plain_list": list[str],
            },
        )
        texts = {"one": "$$a", "many": ["$$b", "c"], "named": {"k": "$$d"}}
        definition = workflow(
            [],
            [step("t/echo@v1", "e", **texts, plain="$$e", plain_list=["$$f", "$g"])],
            {"o": "$steps.e.out"},
        )
        assert run(definition, {}, echo) == [
            {"o": ("$a", ["$b", "c"], {"k": "$d"}, "$$e", ["$$f", "$g"])}
        ]

    def test_values_of_a_run_are_never_read_as_references(self) -> None:
        """A text given at run time may start with a dollar sign."""
        definition = workflow(
            [batch_input("x")], [step("pass", "s", x="$inputs.x")], {"o": "$steps.s.out"}
        )
        assert run(definition, {"x": ["$inputs.x", "$$y"]}) == [{"o": "$inputs.x"}, {"o": "$$y"}]

    def test_aliases_of_types_and_fields(self) -> None:
        """A step may use an old name of its block and of a field."""
        from pydantic import AliasChoices, Field

        renamed = block(
            "t/new@v1",
            lambda image: {"out": image},
            aliases=("Old",),
            fields={"image": (ANY, Field(validation_alias=AliasChoices("image", "images")))},
        )
        definition = workflow(
            [batch_input("x")],
            [
                {"type": "Old", "name": "a", "images": "$inputs.x"},
                step("t/new@v1", "b", image="$steps.a.out"),
            ],
            {"o": "$steps.b.out"},
        )
        assert run(definition, {"x": [5]}, renamed) == [{"o": 5}]

    def test_unknown_keys_are_ignored(self) -> None:
        """Editors may add keys of their own anywhere."""
        definition = copy.deepcopy(SMALL)
        definition["editor"] = {"zoom": 2}
        for part in ("inputs", "steps", "outputs"):
            definition[part][0]["position"] = [1, 2]
        assert find_problems(definition, REGISTRY) == []


class TestCompileDefinition:
    def test_callers_definition_is_copied(self) -> None:
        """Changing the definition after it was compiled changes nothing."""
        keep = block("t/keep@v1", lambda data: {"out": data}, fields={"data": ANY})
        definition = workflow(
            [], [step("t/keep@v1", "k", data={"a": [1, {"b": 2}]})], {"o": "$steps.k.out"}
        )
        with ExecutionEngine.init(definition, registry=toy_registry(keep)) as engine:
            definition["steps"][0]["data"]["a"][1]["b"] = 3
            definition["steps"].clear()
            definition["outputs"][0]["name"] = "changed"
            assert engine.run({}) == [{"o": {"a": [1, {"b": 2}]}}]
            assert len(engine.plan.definition.raw["steps"]) == 1

    def test_callers_definition_is_not_changed(self) -> None:
        """Compilation leaves the definition as it is."""
        before = copy.deepcopy(SMALL)
        compile_definition(SMALL, REGISTRY)
        assert before == SMALL

    def test_thirty_layers_fully_connected(self) -> None:
        """Compilation is linear in the edges: 30 layers of 3 steps, each reading all of the layer
        before.
        """
        steps = [step("first", f"s0_{i}", data=["$inputs.x"]) for i in range(3)]
        for layer in range(1, 30):
            steps += [
                step(
                    "first",
                    f"s{layer}_{i}",
                    data=[f"$steps.s{layer - 1}_{j}.out" for j in range(3)],
                )
                for i in range(3)
            ]
        definition = workflow([batch_input("x")], steps, {"o": "$steps.s29_0.out"})
        times = []
        for _ in range(3):
            started = time.perf_counter()
            compile_definition(definition, REGISTRY)
            times.append(time.perf_counter() - started)
        assert min(times) < 0.1
        assert run(definition, {"x": [7]}) == [{"o": 7}]

    def test_long_chain(self) -> None:
        """A chain of a thousand steps neither recurses nor takes long."""
        steps = [step("add", "s0", a="$inputs.p")]
        steps += [step("add", f"s{i}", a=f"$steps.s{i - 1}.out") for i in range(1, 1000)]
        definition = workflow([parameter("p", 0)], steps, {"o": "$steps.s999.out"})
        assert run(definition) == [{"o": 1000}]


class TestInspectGraph:
    def test_good_parts_of_a_faulty_definition(self) -> None:
        """What can be understood is there: steps, edges and outputs beside the problems."""
        definition = copy.deepcopy(SMALL)
        definition["steps"].append(step("nope", "n"))
        parsed, graph, problems = inspect_graph(definition, REGISTRY)
        assert [item.name for item in parsed.steps] == ["g", "t", "a", "n"]
        assert [graph.nodes[i].step.name for i in graph.order] == ["t", "a", "g", "n"]
        assert graph.predecessors(2) == {1}
        assert [problem.code for problem in problems] == ["unknown_block_type"]

    def test_nothing_to_understand(self) -> None:
        """Even what is no definition gives an empty graph and its problem."""
        parsed, graph, problems = inspect_graph([], REGISTRY)  # type: ignore[arg-type]
        assert (parsed.steps, graph.nodes, len(problems)) == ((), [], 1)


class TestPlanCache:
    def test_hits_and_misses(self) -> None:
        """Equal JSON gives the same plan; the cache counts."""
        cache = PlanCache(REGISTRY)
        first = cache.get(SMALL)
        assert cache.get(copy.deepcopy(SMALL)) is first
        assert (cache.hits, cache.misses) == (1, 1)
        assert cache.get({**SMALL, "version": "1.1"}) is not first
        assert (cache.hits, cache.misses) == (1, 2)

    @pytest.mark.parametrize("number", [float("nan"), float("inf")])
    def test_numbers_that_json_lacks(self, number: float) -> None:
        """NaN and infinities stay what they are, and are not taken for null."""
        cache = PlanCache(REGISTRY)
        definitions = [workflow([parameter("p", value)], [], {}) for value in (None, number)]
        defaults = [cache.get(item).inputs[0].declaration.default for item in definitions]
        assert defaults[0] is None
        assert repr(defaults[1]) == repr(number)

    def test_values_that_json_lacks(self) -> None:
        """What is no JSON data stays what it is."""
        moment = datetime(2024, 1, 2)
        plan = PlanCache(REGISTRY).get(workflow([parameter("p", moment)], [], {}))
        assert plan.inputs[0].declaration.default == moment

    def test_least_recently_used_is_dropped(self) -> None:
        """A full cache drops the plan that was not asked for the longest."""
        cache = PlanCache(REGISTRY, capacity=2)
        definitions = [workflow(version=version) for version in ("1.0", "1.1", "1.2")]
        plans = [cache.get(definition) for definition in definitions[:2]]
        assert cache.get(definitions[0]) is plans[0]
        cache.get(definitions[2])
        assert cache.get(definitions[0]) is plans[0]
        assert cache.get(definitions[1]) is not plans[1]

    def test_changing_a_definition_after_compiling(self) -> None:
        """The caller's object is not the plan's: changing it makes another definition."""
        cache = PlanCache(REGISTRY)
        definition = copy.deepcopy(SMALL)
        plan = cache.get(definition)
        definition["steps"][2]["b"] = 5
        assert cache.get(definition) is not plan
        assert plan.definition.raw == SMALL
        assert cache.get(SMALL) is plan

    def test_engines_share_plans_but_no_blocks(self) -> None:
        """Two engines of one cache have the same plan and block instances of their own."""
        cache = PlanCache(REGISTRY)
        engines = [ExecutionEngine.init(SMALL, plan_cache=cache) for _ in range(2)]
        assert engines[0].plan is engines[1].plan
        assert engines[0]._blocks[0] is not engines[1]._blocks[0]
        assert cache.hits == 1

    def test_faulty_definitions_are_not_kept(self) -> None:
        """A definition with problems raises each time."""
        cache = PlanCache(REGISTRY)
        for _ in range(2):
            with pytest.raises(WorkflowSyntaxError):
                cache.get(workflow([], [step("nope", "n")]))
        assert (cache.hits, cache.misses) == (0, 0)
        with pytest.raises(NotSupportedExecutionEngineError):
            cache.get(workflow(version="2.0"))

    def test_definition_that_is_no_json(self) -> None:
        """A definition with Python objects in it is compiled every time."""
        cache = PlanCache(REGISTRY)
        marker = object()
        definition = workflow([], [step("constant", "c", value=marker)], {"o": "$steps.c.out"})
        assert cache.get(definition) is not cache.get(definition)
        with ExecutionEngine.init(definition, plan_cache=cache) as engine:
            assert engine.run({})[0]["o"] is marker

    def test_clear(self) -> None:
        """A cleared cache compiles again."""
        cache = PlanCache(REGISTRY)
        plan = cache.get(SMALL)
        cache.clear()
        assert cache.get(SMALL) is not plan

    def test_capacity(self) -> None:
        """A cache keeps at least one plan."""
        with pytest.raises(ValueError, match="a plan cache keeps at least 1 plan, got 0"):
            PlanCache(REGISTRY, capacity=0)

    def test_threads(self) -> None:
        """Threads that ask at once all get a plan, and from then on the same one."""
        cache = PlanCache(REGISTRY, capacity=3)
        definitions = [workflow(version=f"1.{i}") for i in range(6)]
        start = threading.Barrier(4)

        def ask(offset: int) -> int:
            start.wait()
            return sum(
                cache.get(definitions[(offset + i) % 6]).definition.version.count(".")
                for i in range(60)
            )

        with ThreadPoolExecutor(4) as pool:
            assert list(pool.map(ask, range(4))) == [60] * 4
        assert cache.hits + cache.misses == 240


class TestParameterChecks:
    def test_one_check_a_field(self) -> None:
        """Only fields with literal forms that are a whole parameter are checked."""
        sized = block(
            "t/sized@v1",
            lambda a, b, c, d: {"out": 0},
            fields={
                "a": Union[int, Selector()],
                "b": Selector(),
                "c": list[Union[int, Selector()]],
                "d": Union[int, Selector()],
            },
        )
        definition = workflow(
            [parameter("p", 1), batch_input("x")],
            [step("t/sized@v1", "s", a="$inputs.p", b="$inputs.p", c=["$inputs.p"], d="$inputs.x")],
        )
        plan = compile_definition(definition, toy_registry(sized))
        assert [(item.step, item.field) for item in plan.substitutions] == [("s", "a")]


def test_kinds_of_literals() -> None:
    """A literal reaches `run` as the manifest validated it."""
    typed: Any = block(
        "t/typed@v1", lambda a, b: {"out": (a, b)}, fields={"a": float, "b": tuple[int, ...]}
    )
    definition = workflow([], [step("t/typed@v1", "s", a=1, b=[1, 2])], {"o": "$steps.s.out"})
    assert run(definition, {}, typed) == [{"o": (1.0, (1, 2))}]
