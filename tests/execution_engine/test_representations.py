"""Runs in a second representation: which class runs a step, and what is converted how often.

The kind is a toy; torch is not involved.
"""

from __future__ import annotations

from typing import Any

import pytest

from execution_engine import BlockRegistry, ExecutionEngine, Plan, PlanCache, Plugin
from execution_engine.block_api import WorkflowBlock
from execution_engine.compiler.compiler import compile_definition
from execution_engine.errors import (
    BlockInterfaceError,
    PluginLoadingError,
    StepExecutionError,
    WorkflowEnvironmentConfigurationError,
)
from execution_engine.kinds.representation import (
    AUTO,
    NUMPY,
    TENSOR,
    Converter,
    Representation,
    Representations,
    resolved,
)
from tests.execution_engine.toy_blocks import LIST, batch_input, block, parameter, step, workflow
from tests.execution_engine.toy_representations import (
    NUMBER_KIND,
    WORDS,
    Toys,
    Words,
    with_sibling,
)

NUMBERS = batch_input("n", kind=["toy_number"])
MIXED = workflow(
    [NUMBERS],
    [
        step("n/double@v1", "a", x="$inputs.n"),
        step("n/half@v1", "b", x="$steps.a.out"),
        step("n/half@v1", "c", x="$steps.a.out"),
        step("n/double@v1", "d", x="$steps.b.out"),
        step("n/double@v1", "e", x="$steps.b.out"),
        step("n/double@v1", "f", x="$inputs.n"),
    ],
    {name: f"$steps.{name}.out" for name in "abcdef"},
)


def engine(
    toys: Toys, definition: dict[str, Any], representation: str, **options: Any
) -> ExecutionEngine:
    return ExecutionEngine.init(
        definition, registry=toys.registry, representation=representation, **options
    )


def representations(plan: Plan) -> dict[str, str]:
    return {one.name: one.representation for one in plan.steps}


class TestPlan:
    def test_numpy_is_the_default(self) -> None:
        """Without a word every step runs its block and nothing is converted."""
        plan = compile_definition(MIXED, Toys().registry)
        assert set(representations(plan).values()) == {NUMPY}
        assert plan.conversions == ()
        assert not any(one.conversions for one in plan.steps)

    def test_siblings_where_there_are_any(self) -> None:
        """Steps whose block has a sibling take it, the others their block."""
        plan = compile_definition(MIXED, Toys().registry, WORDS)
        assert representations(plan) == {
            "a": WORDS, "b": NUMPY, "c": NUMPY, "d": WORDS, "e": WORDS, "f": WORDS,
        }  # fmt: skip

    def test_one_conversion_a_slot_and_direction(self) -> None:
        """Two readers of one value share its conversion; the outputs of numpy steps have theirs."""
        plan = compile_definition(MIXED, Toys().registry, WORDS)
        sources = [conversion.source for conversion in plan.conversions]
        slots = {one.name: one.outputs["out"] for one in plan.steps}
        assert sorted(sources) == sorted([plan.inputs[0].slot, slots["a"], slots["b"], slots["c"]])

    def test_description_names_it(self) -> None:
        """The text and the JSON of a plan say which steps run in another representation."""
        plan = compile_definition(MIXED, Toys().registry, WORDS)
        assert "step a: n/double@v1 (each element, depth 1, words)" in plan.describe()
        first, second = plan.to_dict()["steps"][:2]
        assert first["representation"] == WORDS
        assert "representation" not in second

    def test_cache_tells_representations_apart(self) -> None:
        """One definition has a plan for each representation, each made once."""
        cache = PlanCache(Toys().registry)
        plans = [cache.get(MIXED, name) for name in (NUMPY, WORDS, NUMPY, WORDS)]
        assert plans[0] is plans[2]
        assert plans[1] is plans[3]
        assert plans[0] is not plans[1]
        assert (cache.hits, cache.misses) == (2, 2)


class TestAuto:
    DEFINITION = workflow(
        [NUMBERS],
        [
            step("n/double@v1", "before", x="$inputs.n"),
            step("n/model@v1", "model", x="$steps.before.out", model_id="m/1"),
            step("n/double@v1", "after", x="$steps.model.out"),
            step("n/double@v1", "beside", x="$inputs.n"),
        ],
        {"out": "$steps.after.out", "beside": "$steps.beside.out"},
    )

    def test_models_and_what_they_feed(self) -> None:
        """The sibling runs models and the steps fed by them; other steps stay."""
        plan = compile_definition(self.DEFINITION, Toys(TENSOR).registry, AUTO)
        assert representations(plan) == {
            "before": NUMPY, "model": TENSOR, "after": TENSOR, "beside": NUMPY,
        }  # fmt: skip

    @pytest.mark.parametrize(
        ("asked", "device", "expected"),
        [
            (AUTO, "cpu", NUMPY),
            (AUTO, "cpu:0", NUMPY),
            (AUTO, "cuda", AUTO),
            (AUTO, "cuda:1", AUTO),
            (TENSOR, "cpu", TENSOR),
            (NUMPY, "cuda", NUMPY),
        ],
    )
    def test_device_decides(self, asked: str, device: str, expected: str) -> None:
        """`auto` is numpy exactly where models run on the CPU."""
        assert resolved(asked, device) == expected

    @pytest.mark.parametrize(("device", "expected"), [("cpu", NUMPY), ("cuda:0", TENSOR)])
    def test_manager_tells_the_device(self, device: str, expected: str) -> None:
        """An engine reads the device from the init parameter `model_manager`."""

        class Manager:
            pass

        Manager.device = device  # type: ignore[attr-defined]
        with engine(
            Toys(TENSOR), self.DEFINITION, AUTO, init_parameters={"model_manager": Manager()}
        ) as made:
            assert representations(made.plan)["model"] == expected

    def test_results_are_numpy(self) -> None:
        """What `auto` gives back does not depend on the device."""
        plan = compile_definition(self.DEFINITION, Toys(TENSOR).registry, AUTO)
        (row,) = ExecutionEngine(plan, Toys(TENSOR).registry, {}).run({"n": [5]})
        assert row == {"out": 22, "beside": 10}


class TestRun:
    @pytest.mark.parametrize("steps", [1, 4])
    def test_each_value_is_converted_once(self, steps: int) -> None:
        """A value that several steps need goes through a converter once, on threads too."""
        toys = Toys()
        with engine(toys, MIXED, WORDS, max_concurrent_steps=steps) as made:
            made.run({"n": [3, 4]}, serialize_results=True)
        assert sorted(toys.to_words.given) == [3, 3, 4, 4]  # inputs, and what b made of them
        assert sorted(word.text for word in toys.to_numbers.given) == ["6", "8"]

    def test_same_json(self) -> None:
        """Both representations give the same JSON; each run converts anew."""
        toys = Toys()
        with engine(toys, MIXED, NUMPY) as made:
            expected = made.run({"n": [3, 4]}, serialize_results=True)
        assert toys.to_words.given == []
        with engine(toys, MIXED, WORDS) as made:
            assert made.run({"n": [3, 4]}, serialize_results=True) == expected
            assert made.run({"n": [7]}, serialize_results=True)[0]["d"] == 14

    def test_results_are_in_the_representation(self) -> None:
        """Python results come as asked for, those of steps without sibling included."""
        with engine(Toys(), MIXED, WORDS) as made:
            (row,) = made.run({"n": [3]})
        assert row == {
            "a": Words("6"), "b": Words("3"), "c": Words("3"), "d": Words("6"), "e": Words("6"),
            "f": Words("6"),
        }  # fmt: skip

    def test_closed_gates_convert_nothing(self) -> None:
        """A value that only steps behind a closed gate need is not converted."""
        toys = Toys()
        definition = workflow(
            [NUMBERS, parameter("open", False)],
            [
                step("gate", "g", test="$inputs.open", next_steps=["$steps.a"]),
                step("n/double@v1", "a", x="$inputs.n"),
            ],
            {"a": "$steps.a.out"},
        )
        with engine(toys, definition, WORDS) as made:
            assert made.run({"n": [3]}) == [{"a": None}]
            assert toys.to_words.given == []
            assert made.run({"n": [3], "open": True}) == [{"a": Words("6")}]

    def test_unknown_kinds_are_converted_by_type(self) -> None:
        """A value of the kind `*` is converted when it is one of the representation's own."""
        definition = workflow(
            [NUMBERS],
            [
                step("n/double@v1", "a", x="$inputs.n"),
                step("pass", "p", x="$steps.a.out"),
                step("n/double@v1", "b", x="$steps.p.out"),
                step("pass", "texts", x="text"),
            ],
            {"p": "$steps.p.out", "b": "$steps.b.out", "texts": "$steps.texts.out"},
        )
        with engine(Toys(), definition, WORDS) as made:
            (row,) = made.run({"n": [3]}, serialize_results=True)
        assert row == {"p": 6, "b": 12, "texts": "text"}

    def test_nested_and_empty_elements(self) -> None:
        """Columns of nested batches are converted element by element, empty elements stay empty."""
        definition = workflow(
            [NUMBERS],
            [
                step("split", "s", n="$inputs.n"),
                step("odd_only", "o", x="$steps.s.out"),
                step("n/double@v1", "a", x="$steps.o.out"),
                step("gather", "g", data="$steps.a.out"),
            ],
            {"a": "$steps.a.out", "g": "$steps.g.out"},
        )
        with engine(Toys(), definition, WORDS) as made:
            rows = made.run({"n": [0, 3]}, serialize_results=True)
        assert rows == [{"a": [], "g": None}, {"a": [None, 62, None], "g": [62]}]

    def test_parts_of_lists(self) -> None:
        """A reference inside a list is converted like one that stands alone."""
        summed = with_sibling(
            block("n/total@v1", lambda data: {"out": sum(data)}, outputs={"out": [NUMBER_KIND]},
                  fields={"data": LIST}),
            WORDS,
            lambda data: {"out": Words(str(sum(int(word.text) for word in data)))},
        )  # fmt: skip
        definition = workflow(
            [NUMBERS],
            [
                step("n/half@v1", "h", x="$inputs.n"),
                step("n/total@v1", "t", data=["$inputs.n", "$steps.h.out"]),
            ],
            {"t": "$steps.t.out"},
        )
        with engine(Toys(blocks=(summed,)), definition, WORDS) as made:
            assert made.run({"n": [8]}) == [{"t": Words("12")}]

    def test_failing_converter_names_the_step(self) -> None:
        """An error in a converter is an error of the step that needs the value."""
        toys = Toys()
        toys.to_words.convert = lambda value: 1 // 0  # type: ignore[method-assign]
        with engine(toys, MIXED, WORDS) as made, pytest.raises(StepExecutionError, match="'a'"):
            made.run({"n": [3]})


class TestSiblings:
    def test_clear_error_without_the_library(self) -> None:
        """Asking for a representation whose library is missing says how to install it."""
        toys = Toys(library="no_such_library")
        with pytest.raises(WorkflowEnvironmentConfigurationError) as caught:
            compile_definition(MIXED, toys.registry, WORDS)
        assert str(caught.value).startswith(
            "The representation 'words' needs no_such_library, which is not installed: "
            "pip install 'toys[words]'."
        )
        assert compile_definition(MIXED, toys.registry)

    def test_unknown_representation(self) -> None:
        """A name that no plug-in offers is refused with those there are."""
        with pytest.raises(
            WorkflowEnvironmentConfigurationError, match="one of numpy, words, auto, got 'wrods'"
        ):
            compile_definition(MIXED, Toys().registry, "wrods")

    @pytest.mark.parametrize("name", [NUMPY, AUTO, ""])
    def test_reserved_names(self, name: str) -> None:
        """No plug-in may redefine what every block has."""
        with pytest.raises(ValueError, match="cannot be named"):
            Representations([Representation(name)])

    def test_plugins_add_to_one_name(self) -> None:
        """Converters of several plug-ins for one representation are all used, each once."""
        first, second = Converter(), Converter()
        first.kinds, second.kinds = ("a", "b"), ("b",)
        both = Representations(
            [Representation(TENSOR, (first,)), Representation(TENSOR, (second,))]
        )
        assert both.converters(["a", "b"], NUMPY, TENSOR) == (first, second)
        assert both.converters(["a"], NUMPY, TENSOR) == (first,)
        assert both.converters(["*"], NUMPY, TENSOR) == (first, second)
        assert both.converters(["b"], TENSOR, NUMPY) == ()

    def test_manifest_must_be_the_same_object(self) -> None:
        """A sibling with a manifest class of its own is refused at registration."""
        toy, other = (
            block("n/one@v1", lambda x: {"out": x}),
            block("n/one@v1", lambda x: {"out": x}),
        )
        other.representation = WORDS
        toy.get_siblings = classmethod(lambda cls: [other])  # type: ignore[method-assign]
        with pytest.raises(BlockInterfaceError, match="manifest class of its own"):
            BlockRegistry([Plugin("p", blocks=(toy,))])

    def test_same_representation_is_refused(self) -> None:
        """A sibling works on another representation than its block."""
        toy = with_sibling(block("n/one@v1", lambda x: {"out": x}), NUMPY, lambda x: {"out": x})
        with pytest.raises(BlockInterfaceError, match="works on the same representation, 'numpy'"):
            BlockRegistry([Plugin("p", blocks=(toy,))])

    def test_two_for_one_representation(self) -> None:
        """Two siblings for one representation are refused."""
        toy = with_sibling(block("n/one@v1", lambda x: {"out": x}), WORDS, lambda x: {"out": x})
        siblings = toy.get_siblings() * 2
        toy.get_siblings = classmethod(lambda cls: siblings)  # type: ignore[method-assign]
        with pytest.raises(BlockInterfaceError, match="two siblings"):
            BlockRegistry([Plugin("p", blocks=(toy,))])

    def test_index_may_name_a_missing_sibling(self) -> None:
        """A sibling that an index names and that is not there is an error of the plug-in."""
        import dataclasses

        spec = dataclasses.replace(
            Toys().registry.specs["n/double@v1"], siblings={WORDS: "no.such.module:Class"}
        )
        toys = Toys()
        toys.registry._specs["n/double@v1"] = spec  # what a stale index would give
        toys.registry._siblings.clear()
        with pytest.raises(PluginLoadingError, match=r"no\.such\.module:Class cannot be loaded"):
            compile_definition(MIXED, toys.registry, WORDS)

    def test_block_without_sibling(self) -> None:
        """Where there is no sibling none is given."""
        registry = Toys().registry
        assert registry.load_sibling("n/half@v1", WORDS) is None
        sibling = registry.load_sibling("n/double@v1", WORDS)
        assert sibling is not None
        assert issubclass(sibling, WorkflowBlock)
        assert sibling.representation == WORDS
