"""The engine against a plain interpreter of the rules, on random workflows of toy blocks."""

from __future__ import annotations

import random
from collections.abc import Mapping
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from execution_engine import BlockRegistry, ExecutionEngine
from execution_engine.block_api import FlowControl
from execution_engine.errors import WorkflowCompilerError
from tests.execution_engine.executor.reference_interpreter import (
    Interpreter,
    Refused,
    ToyBlock,
    ToyStep,
)
from tests.execution_engine.toy_blocks import (
    LIST,
    STEPS,
    batch_input,
    block,
    parameter,
    step,
    toy_registry,
    workflow,
)


def _total(values: Any) -> int:
    if isinstance(values, int):
        return values
    return sum(value for value in values or () if value is not None)


def _first(data: list[Any]) -> Any:
    return next((item for item in data if item is not None), None)


MODEL: Mapping[str, ToyBlock] = {
    "plus": ToyBlock(lambda a, b: a + b),
    "odd": ToyBlock(lambda x: x if x % 2 else None),
    "batch_plus": ToyBlock(lambda a, b: a + b),
    "half_batch": ToyBlock(lambda a, b: a * b),
    "sum_of_list": ToyBlock(lambda data: _total(data)),
    "batch_sum_of_list": ToyBlock(lambda data: _total(data)),
    "split": ToyBlock(lambda n: [2 * n + i for i in range(n % 4)], output=1),
    "batch_split": ToyBlock(lambda n: [2 * n + i for i in range(n % 3)], output=1),
    "total": ToyBlock(lambda data, extra: _total(data) + extra, output=-1),
    "count": ToyBlock(lambda data: len(data or ()), output=-1, accepts_empty=True),
    "first": ToyBlock(_first, accepts_empty=True),
    "family": ToyBlock(
        lambda parent, children: (parent or 0) + _total(children),
        {"children": 1},
        accepts_empty=True,
    ),
    "strict_family": ToyBlock(lambda parent, children: parent + _total(children), {"children": 1}),
    "batch_family": ToyBlock(lambda parent, children: parent + _total(children), {"children": 1}),
    "gate": ToyBlock(lambda test: test % 3 != 0, gates=True),
    "batch_gate": ToyBlock(lambda test: test % 3 == 1, gates=True),
}
WRITTEN_IN_LISTS = ("sum_of_list", "batch_sum_of_list", "first")
NUMBERS = st.integers(0, 5)


def _engine_blocks() -> BlockRegistry:
    """The same blocks for the engine, written as blocks are."""
    offsets = {"offsets": {"parent": 0, "children": 1}, "reference": "parent"}
    return toy_registry(
        block("model/plus@v1", lambda a, b: {"out": a + b}),
        block("model/odd@v1", lambda x: {"out": x if x % 2 else None}),
        block(
            "model/batch_plus@v1",
            lambda a, b: [{"out": x + y} for x, y in zip(a, b, strict=True)],
            batches=("a", "b"),
        ),
        block(
            "model/half_batch@v1",
            lambda a, b: [
                {"out": x * y}
                for x, y in zip(a, [b] * len(a) if isinstance(b, int) else b, strict=True)
            ],
            batches=("a",),
            batches_or_singles=("b",),
        ),
        block("model/sum_of_list@v1", lambda data: {"out": _total(data)}, fields={"data": LIST}),
        block(
            "model/batch_sum_of_list@v1",
            lambda data: [{"out": _total(row)} for row in zip(*data, strict=True)],
            fields={"data": LIST},
            batches=("data",),
        ),
        block(
            "model/split@v1", lambda n: [{"out": 2 * n + i} for i in range(n % 4)], output_offset=1
        ),
        block(
            "model/batch_split@v1",
            lambda n: [[{"out": 2 * item + i} for i in range(item % 3)] for item in n],
            batches=("n",),
            output_offset=1,
        ),
        block(
            "model/total@v1",
            lambda data, extra: {"out": _total(data) + extra},
            cast=("data",),
            output_offset=-1,
        ),
        block(
            "model/count@v1",
            lambda data: {"out": len(data or ())},
            cast=("data",),
            output_offset=-1,
            accepts_empty=True,
        ),
        block(
            "model/first@v1",
            lambda data: {"out": _first(data)},
            fields={"data": LIST},
            accepts_empty=True,
        ),
        block(
            "model/family@v1",
            lambda parent, children: {"out": (parent or 0) + _total(children)},
            accepts_empty=True,
            **offsets,
        ),
        block(
            "model/strict_family@v1",
            lambda parent, children: {"out": parent + _total(children)},
            **offsets,
        ),
        block(
            "model/batch_family@v1",
            lambda parent, children: [
                {"out": one + _total(some)} for one, some in zip(parent, children, strict=True)
            ],
            batches=("parent", "children"),
            **offsets,
        ),
        block(
            "model/gate@v1",
            lambda test, next_steps: FlowControl(next_steps if test % 3 != 0 else None),
            fields={"next_steps": STEPS},
            outputs=(),
        ),
        block(
            "model/batch_gate@v1",
            lambda test, next_steps: [
                FlowControl(next_steps if item % 3 == 1 else None) for item in test
            ],
            fields={"next_steps": STEPS},
            outputs=(),
            batches=("test",),
        ),
    )


REGISTRY = _engine_blocks()
ARGUMENTS = {
    "plus": ("a", "b"), "odd": ("x",), "batch_plus": ("a", "b"), "half_batch": ("a", "b"),
    "sum_of_list": ("data",), "batch_sum_of_list": ("data",), "split": ("n",),
    "batch_split": ("n",), "total": ("data", "extra"), "count": ("data",), "first": ("data",),
    "family": ("parent", "children"), "strict_family": ("parent", "children"),
    "batch_family": ("parent", "children"), "gate": ("test",), "batch_gate": ("test",),
}  # fmt: skip


def _step(draw: st.DrawFn, name: str, readable: list[str], later: list[str]) -> ToyStep:
    kind = draw(st.sampled_from(sorted(MODEL)))
    sources = st.sampled_from([*readable, *readable[-2:]])
    arguments: dict[str, Any] = {}
    for argument in ARGUMENTS[kind]:
        if kind in WRITTEN_IN_LISTS:
            items = sources if kind == "first" else sources | NUMBERS
            arguments[argument] = draw(st.lists(items, min_size=1, max_size=3))
        elif argument == "extra":
            arguments[argument] = draw(NUMBERS)
        else:
            arguments[argument] = draw(sources | NUMBERS if argument == "b" else sources)
    targets = draw(st.sets(st.sampled_from(later))) if MODEL[kind].gates and later else ()
    return ToyStep(name, kind, arguments, tuple(sorted(targets)))


def _fits(inputs: Mapping[str, tuple[int, Any]], steps: list[ToyStep]) -> bool:
    try:
        Interpreter(MODEL, inputs).check(steps)
    except Refused:
        return False
    return True


@st.composite
def toy_workflows(draw: st.DrawFn) -> tuple[dict[str, tuple[int, Any]], list[ToyStep], list[str]]:
    """Inputs by name (depth and value), steps in an order that works, names of the outputs."""
    size = draw(st.integers(1, 3))
    lists = st.lists(NUMBERS, max_size=3)
    inputs: dict[str, tuple[int, Any]] = {
        "x": (1, draw(st.lists(NUMBERS | st.none(), min_size=size, max_size=size))),
        "deep": (2, draw(st.lists(lists, min_size=size, max_size=size))),
        "p": (0, draw(NUMBERS)),
    }
    count = draw(st.integers(1, 9))
    readable = list(inputs)
    steps: list[ToyStep] = []
    for number in range(count):
        later = [f"s{following}" for following in range(number + 1, count)]
        made = _step(draw, f"s{number}", readable, later)
        for _ in range(draw(st.integers(0, 5))):
            if _fits(inputs, [*steps, made]):
                break
            made = _step(draw, f"s{number}", readable, later)
        steps.append(made)
        if not MODEL[made.block].gates:
            readable.append(made.name)
    return inputs, steps, draw(st.permutations(readable))


def _definition(
    inputs: Mapping[str, tuple[int, Any]], steps: list[ToyStep], outputs: list[str]
) -> dict[str, Any]:
    def reference(name: Any) -> Any:
        if not isinstance(name, str):
            return name
        return f"$inputs.{name}" if name in inputs else f"$steps.{name}.out"

    written = []
    for item in steps:
        fields = {
            argument: [reference(name) for name in names]
            if isinstance(names, list)
            else reference(names)
            for argument, names in item.arguments.items()
        }
        if MODEL[item.block].gates:
            fields["next_steps"] = [f"$steps.{target}" for target in item.targets]
        written.append(step(f"model/{item.block}@v1", item.name, **fields))
    return workflow(
        [
            batch_input(name, depth) if depth else parameter(name)
            for name, (depth, _) in inputs.items()
        ],
        written,
        {name: reference(name) for name in outputs},
    )


def _compare(
    inputs: dict[str, tuple[int, Any]], steps: list[ToyStep], outputs: list[str], seed: int
) -> None:
    interpreter = Interpreter(MODEL, inputs)
    given_values = {name: value for name, (_, value) in inputs.items()}
    definition = _definition(inputs, steps, outputs)
    expected: list[dict[str, Any]] = []
    refused = None
    try:
        expected = interpreter.run(steps, outputs)
    except Refused as refusal:
        refused = str(refusal)
    if refused is not None:
        with pytest.raises(WorkflowCompilerError) as caught:
            ExecutionEngine.init(definition, registry=REGISTRY)
        assert type(caught.value).__name__ == refused
        return
    random.Random(seed).shuffle(definition["steps"])
    for workers in (1, 4):
        with ExecutionEngine.init(
            definition, registry=REGISTRY, max_concurrent_steps=workers
        ) as engine:
            assert engine.run(given_values) == expected
            assert engine.run(given_values) == expected


@settings(max_examples=400, deadline=None, derandomize=True)
@given(toy_workflows(), st.integers(0, 9))
def test_random_workflows(
    generated: tuple[dict[str, tuple[int, Any]], list[ToyStep], list[str]], seed: int
) -> None:
    """A random workflow gives what the rules say, or is refused with the class the rules say."""
    _compare(*generated, seed)
