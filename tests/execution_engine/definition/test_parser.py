"""The outer shape of a definition. Faults are tested with whole texts beside the compiler."""

from __future__ import annotations

from types import MappingProxyType
from typing import Any

import pytest

from execution_engine.definition.model import INPUT_TYPES, InputDeclaration
from execution_engine.definition.parser import describe, parse_definition
from execution_engine.definition.problems import ProblemList
from tests.execution_engine.toy_blocks import parameter, step, workflow


def parse_inputs(*inputs: dict[str, Any]) -> tuple[InputDeclaration, ...]:
    """Declarations of a definition without problems."""
    problems = ProblemList()
    parsed = parse_definition(workflow(inputs), problems)
    assert len(problems) == 0
    return parsed.inputs


class TestNesting:
    @pytest.mark.parametrize("depth", [201, 900, 100_000])
    def test_too_deep(self, depth: int) -> None:
        """A definition that is nested deeper than any real one is one problem with its place."""
        deep: Any = 1
        for _ in range(depth):
            deep = [deep]
        problems = ProblemList()
        parse_definition(workflow([parameter("a", default_value=deep)]), problems)
        (problem,) = problems.problems
        assert problem.code == "nested_too_deep"
        assert problem.where.startswith("/inputs/0/default_value")
        assert problem.message == (
            "The definition is nested more than 200 levels deep here, or an object holds itself."
        )

    def test_an_object_that_holds_itself(self) -> None:
        """A circle of objects is a problem, not an endless walk."""
        definition = workflow()
        definition["steps"] = [definition, definition]
        problems = ProblemList()
        parse_definition(definition, problems)
        assert [problem.code for problem in problems.problems] == ["nested_too_deep"]

    def test_deep_enough(self) -> None:
        """What real definitions nest passes."""
        deep: Any = 1
        for _ in range(190):
            deep = {"a": deep}
        problems = ProblemList()
        parse_definition(workflow([parameter("a", default_value=deep)]), problems)
        assert len(problems) == 0


class TestInputs:
    @pytest.mark.parametrize(("depth", "fine"), [(32, True), (33, False), (10**9, False)])
    def test_deepest_batch(self, depth: int, fine: bool) -> None:
        """A depth of nesting that would take all time and memory is refused."""
        problems = ProblemList()
        given = {"type": "WorkflowBatchInput", "name": "a", "dimensionality": depth}
        parse_definition(workflow([given]), problems)
        texts = [problem.message for problem in problems.problems]
        expected = (
            f"Input 'a': a batch input has a dimensionality of at most 32, got a number {depth}."
        )
        assert texts == ([] if fine else [expected])

    @pytest.mark.parametrize(
        ("type_name", "kinds", "dimensionality"),
        [
            ("WorkflowImage", ("image",), 1),
            ("InferenceImage", ("image",), 1),
            ("WorkflowVideoMetadata", ("video_metadata",), 1),
            ("WorkflowBatchInput", ("*",), 1),
            ("WorkflowParameter", ("*",), 0),
            ("InferenceParameter", ("*",), 0),
        ],
    )
    def test_types(self, type_name: str, kinds: tuple[str, ...], dimensionality: int) -> None:
        """Every type has its own kind and depth; parameters are single values."""
        (found,) = parse_inputs({"type": type_name, "name": "a"})
        assert (found.kinds, found.dimensionality) == (kinds, dimensionality)
        assert found.is_parameter == (dimensionality == 0)
        assert type_name in INPUT_TYPES

    def test_kinds(self) -> None:
        """Kinds are names or objects with a name; an empty list is the default."""
        found = parse_inputs(
            {"type": "WorkflowImage", "name": "a", "kind": ["image", "*"]},
            {"type": "WorkflowParameter", "name": "b", "kind": [{"name": "integer", "docs": "x"}]},
            {"type": "WorkflowImage", "name": "c", "kind": []},
            {"type": "WorkflowImage", "name": "d", "kind": None},
        )
        assert [item.kinds for item in found] == [
            ("image", "*"),
            ("integer",),
            ("image",),
            ("image",),
        ]

    def test_dimensionality_only_counts_for_batch_inputs(self) -> None:
        """Images and parameters keep their depth whatever is written beside them."""
        found = parse_inputs(
            {"type": "WorkflowBatchInput", "name": "a", "dimensionality": 3},
            {"type": "WorkflowImage", "name": "b", "dimensionality": 3},
            {"type": "WorkflowParameter", "name": "c", "dimensionality": 3},
        )
        assert [item.dimensionality for item in found] == [3, 1, 0]

    def test_defaults_only_count_for_parameters(self) -> None:
        """A default may be anything; batch inputs have none."""
        found = parse_inputs(
            parameter("a", {"x": [1]}),
            {"type": "WorkflowParameter", "name": "b"},
            {"type": "WorkflowImage", "name": "c", "default_value": 5},
        )
        assert [item.default for item in found] == [{"x": [1]}, None, None]

    def test_places(self) -> None:
        """Declarations remember their JSON pointers."""
        found = parse_inputs(parameter("a"), parameter("b"))
        assert [item.where for item in found] == ["/inputs/0", "/inputs/1"]


class TestDefinition:
    def test_parts(self) -> None:
        """Steps keep their whole object, outputs their system of coordinates; other keys are
        ignored.
        """
        problems = ProblemList()
        written = step("add", "a", a=1, extra=2)
        parsed = parse_definition(
            workflow(
                [],
                [written],
                [
                    {"type": "JsonField", "name": "o", "selector": "$steps.a.out"},
                    {
                        "type": "JsonField",
                        "name": "p",
                        "selector": "$steps.a.out",
                        "coordinates_system": "own",
                    },
                ],
                id="abc",
            ),
            problems,
        )
        assert len(problems) == 0
        assert parsed.version == "1.0"
        assert parsed.steps[0].body == written
        assert [item.coordinates_system for item in parsed.outputs] == ["parent", "own"]
        assert parsed.raw["id"] == "abc"

    def test_any_mapping(self) -> None:
        """A read-only mapping is a JSON object too."""
        problems = ProblemList()
        parsed = parse_definition(
            MappingProxyType(workflow([], [MappingProxyType(step("add", "a"))])), problems
        )
        assert (len(problems), parsed.steps[0].name) == (0, "a")


class TestDescribe:
    @pytest.mark.parametrize(
        ("value", "text"),
        [
            (None, "null"),
            ({"a": 1}, "an object"),
            ([1], "a list"),
            ("abc", "text 'abc'"),
            (True, "a boolean True"),
            (1, "a number 1"),
            (1.5, "a number 1.5"),
            ((1, 2), "tuple (1, 2)"),
            ("x" * 80, "text '" + "x" * 56 + "..."),
        ],
    )
    def test_rows(self, value: Any, text: str) -> None:
        """Type in words, and the value when it is short."""
        assert describe(value) == text


class TestProblemList:
    def test_first_of_several_about_one_place_wins(self) -> None:
        """One class of error is reported once a place and step; another class or step is another
        problem.
        """
        from execution_engine.errors import DuplicatedNameError, WorkflowSyntaxError

        problems = ProblemList()
        problems.add(WorkflowSyntaxError, "one", "first", "/a")
        problems.add(WorkflowSyntaxError, "two", "second", "/a")
        problems.add(WorkflowSyntaxError, "three", "third", "/a", block_id="s")
        problems.add(DuplicatedNameError, "four", "fourth", "/a")
        assert [problem.code for problem in problems.problems] == ["one", "three", "four"]
        assert problems.mentions("/a")
        assert not problems.mentions("/b")

    def test_nothing_to_raise(self) -> None:
        """Without problems nothing is raised."""
        ProblemList().raise_if_any()
