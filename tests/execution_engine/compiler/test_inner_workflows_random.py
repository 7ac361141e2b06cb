"""Any workflow gives the same when parts of it are put into inner workflows."""

from __future__ import annotations

import random
from collections.abc import Iterator
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.execution_engine.compiler.test_inner_workflows import (
    definition,
    first_of,
    gate,
    inner,
    numbers,
    parameter,
    times,
)
from workflows import Session, WeftlensSettings, run_locally

Step = dict[str, Any]
INPUTS = {"$inputs.v": [1, 2, 3, 4, 5], "$inputs.w": [5, 4, 3, 2, 1], "$inputs.p": 3}


@pytest.fixture(scope="module")
def session() -> Iterator[Session]:
    """The core blocks."""
    with Session(WeftlensSettings(plan_cache_size=1)) as made:
        yield made


def random_steps(chance: random.Random) -> list[Step]:
    """Up to nine steps in an order in which they can run: products, gates, fallbacks."""
    steps: list[Step] = []
    for number in range(chance.randint(2, 9)):
        made = [step["name"] for step in steps if "next_steps" not in step]
        sources = [
            "$inputs.v",
            "$inputs.w",
            "$inputs.p",
            *(f"$steps.{name}.output" for name in made),
        ]
        name, kind = f"s{number}", chance.random()
        if kind < 0.5:
            steps.append(times(name, chance.choice(sources), chance.choice([2, 3, -1])))
        elif kind < 0.75:
            chosen = chance.sample(sources, min(len(sources), chance.randint(1, 3)))
            steps.append(first_of(name, *chosen, default=chance.choice([0, -7])))
        else:
            steps.append(gate(name, chance.choice(sources), chance.randint(-5, 9)))
    for position, step in enumerate(steps):
        if "next_steps" in step:
            later = [f"$steps.{one['name']}" for one in steps[position + 1 :]]
            step["next_steps"] = chance.sample(later, min(len(later), chance.randint(0, 2)))
    return steps


def references(value: Any) -> list[str]:
    """The references in a step; those of an inner workflow are its own."""
    if isinstance(value, str):
        return [value] if value.startswith(("$inputs.", "$steps.")) else []
    items = value if isinstance(value, list) else ()
    if isinstance(value, dict):
        items = [item for key, item in value.items() if key != "workflow_definition"]
    return [found for item in items for found in references(item)]


def replaced(value: Any, names: dict[str, str]) -> Any:
    """The value with some of its references replaced."""
    if isinstance(value, str):
        return names.get(value, value)
    if isinstance(value, dict):
        return {
            key: item if key == "workflow_definition" else replaced(item, names)
            for key, item in value.items()
        }
    return [replaced(item, names) for item in value] if isinstance(value, list) else value


def enclosed(
    steps: list[Step], first: int, last: int, name: str, wanted: set[str]
) -> tuple[list[Step], dict[str, str]]:
    """The steps with those from `first` to `last` in an inner workflow, and what references to them
    have become; all as it was where a gate would be parted from one of its targets.
    """
    inside, outside = steps[first:last], steps[:first] + steps[last:]
    own = {f"$steps.{step['name']}" for step in inside}
    if any(set(step.get("next_steps", ())) & own for step in outside):
        return steps, {}
    if any(set(step.get("next_steps", ())) - own for step in inside):
        return steps, {}
    taken = dict.fromkeys(
        found
        for step in inside
        for found in references(step)
        if found not in own and found.rpartition(".")[0] not in own
    )
    inputs = {found: f"i{number}" for number, found in enumerate(taken)}
    needed = {found for step in outside for found in references(step)} | wanted
    given_out = {
        found: f"{name}_o{number}"
        for number, found in enumerate(
            sorted(found for found in needed if found.rpartition(".")[0] in own)
        )
    }
    child = definition(
        [
            parameter(input_name) if found == "$inputs.p" else numbers(input_name) | {"kind": ["*"]}
            for found, input_name in inputs.items()
        ],
        [replaced(step, {found: f"$inputs.{one}" for found, one in inputs.items()})
         for step in inside],
        **{output: found for found, output in given_out.items()},
    )  # fmt: skip
    step = inner(name, child, **{one: found for found, one in inputs.items()})
    later = {found: f"$steps.{name}.{output}" for found, output in given_out.items()}
    return [*steps[:first], step, *(replaced(one, later) for one in steps[last:])], later


@given(seed=st.integers(0, 2**32))
@settings(max_examples=60, deadline=None, derandomize=True)
def test_parts_in_inner_workflows(seed: int, session: Session) -> None:
    """Rows of the flat workflow and of the one with inner workflows, also inside of each other,
    are equal, with gates and empty elements on the way.
    """
    chance = random.Random(seed)
    steps = random_steps(chance)
    outputs = {
        step["name"]: f"$steps.{step['name']}.output" for step in steps if "next_steps" not in step
    }
    inputs = [numbers("v"), numbers("w"), parameter("p")]
    given_inputs = {name.removeprefix("$inputs."): value for name, value in INPUTS.items()}
    flat = run_locally(definition(inputs, steps, **outputs), given_inputs, session=session)
    nested = steps
    for level in range(3):
        first = chance.randrange(len(nested))
        last = chance.randint(first + 1, len(nested))
        nested, later = enclosed(nested, first, last, f"n{level}", set(outputs.values()))
        outputs = {name: later.get(found, found) for name, found in outputs.items()}
    found = run_locally(definition(inputs, nested, **outputs), given_inputs, session=session)
    assert found == flat
