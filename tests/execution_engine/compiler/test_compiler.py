"""Compilation as a whole: plans, what is shown of a faulty definition, speed on large graphs."""

from __future__ import annotations

import copy
import json
import time
from dataclasses import FrozenInstanceError
from typing import Any, Union

import pytest

from execution_engine import ExecutionEngine, compile_definition, find_problems
from execution_engine.block_api import Selector
from execution_engine.compiler.compiler import inspect_graph
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
