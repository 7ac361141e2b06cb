"""Definitions that do not fit the schema of the language or of their blocks: place and whole text
of each problem, and the hint beside it.
"""

from __future__ import annotations

from typing import Any

import pytest
from pydantic import BaseModel, Field, model_validator

from execution_engine import BlockRegistry, find_problems
from execution_engine.block_api import (
    OutputDefinition,
    Selector,
)
from execution_engine.errors import (
    WorkflowSyntaxError,
)
from tests.execution_engine.compiler.strict_blocks import IMAGE, REGISTRY, P, X, check_problems
from tests.execution_engine.toy_blocks import (
    block,
    parameter,
    step,
    toy_registry,
    workflow,
)

SYNTAX = [
    (
        "not an object",
        [1],
        [("wrong_type", "", "A workflow definition is a JSON object, got a list.")],
    ),
    (
        "no version",
        {"inputs": [], "steps": [], "outputs": []},
        [("missing_field", "/version", "'version' is missing; it must be text such as \"1.0\".")],
    ),
    (
        "version as number",
        workflow(version=1),
        [("wrong_type", "/version", "'version' is a number 1; it must be text such as \"1.0\".")],
    ),
    (
        "lists missing",
        {"version": "1.0"},
        [
            (
                "missing_field",
                f"/{name}",
                f"'{name}' is missing; it must be a list (which may be empty).",
            )
            for name in ("inputs", "steps", "outputs")
        ],
    ),
    (
        "lists of another type",
        {"version": "1.0", "inputs": {}, "steps": "x", "outputs": None},
        [
            (
                "wrong_type",
                "/inputs",
                "'inputs' is an object; it must be a list (which may be empty).",
            ),
            (
                "wrong_type",
                "/steps",
                "'steps' is text 'x'; it must be a list (which may be empty).",
            ),
            (
                "wrong_type",
                "/outputs",
                "'outputs' is null; it must be a list (which may be empty).",
            ),
        ],
    ),
    (
        "entries of another type",
        {"version": "1.0", "inputs": [1], "steps": ["x"], "outputs": [[]]},
        [
            ("wrong_type", "/inputs/0", "Every entry of 'inputs' is an object, got a number 1."),
            ("wrong_type", "/steps/0", "Every entry of 'steps' is an object, got text 'x'."),
            ("wrong_type", "/outputs/0", "Every entry of 'outputs' is an object, got a list."),
        ],
    ),
    (
        "inputs",
        workflow(
            [
                {"type": "WorkflowImag", "name": "i"},
                {"type": "WorkflowImage"},
                {"type": "WorkflowImage", "name": 3},
                {"type": "WorkflowBatchInput", "name": "c", "dimensionality": "1"},
                {"type": "WorkflowBatchInput", "name": "t", "dimensionality": True},
                {"type": "WorkflowImage", "name": "k", "kind": "image"},
                {"type": "WorkflowImage", "name": "l", "kind": ["image", 3]},
            ]
        ),
        [
            (
                "unknown_input_type",
                "/inputs/0/type",
                "Input 'i' has the unknown type 'WorkflowImag'; known types are WorkflowImage, "
                "InferenceImage, "
                "WorkflowVideoMetadata, WorkflowBatchInput, WorkflowParameter, InferenceParameter.",
            ),
            (
                "missing_field",
                "/inputs/1/name",
                "An input has no 'name'; every entry needs a name that is text.",
            ),
            (
                "wrong_type",
                "/inputs/2/name",
                "An input has the name 3; every entry needs a name that is text.",
            ),
            (
                "wrong_type",
                "/inputs/3/dimensionality",
                "Input 'c': 'dimensionality' must be a whole number, got text '1'.",
            ),
            (
                "wrong_type",
                "/inputs/4/dimensionality",
                "Input 't': 'dimensionality' must be a whole number, got a boolean True.",
            ),
            (
                "wrong_type",
                "/inputs/5/kind",
                "Input 'k': 'kind' must be a list of kind names, got text 'image'.",
            ),
            (
                "wrong_type",
                "/inputs/6/kind",
                "Input 'l': 'kind' must be a list of kind names, got a list.",
            ),
        ],
    ),
    (
        "outputs",
        workflow(
            [P],
            [],
            [
                {"type": "Json", "name": "a", "selector": "$inputs.p"},
                {"type": "JsonField", "selector": "$inputs.p"},
                {"type": "JsonField", "name": "b"},
                {"type": "JsonField", "name": "c", "selector": 4},
                {
                    "type": "JsonField",
                    "name": "d",
                    "selector": "$inputs.p",
                    "coordinates_system": "x",
                },
            ],
        ),
        [
            (
                "unknown_output_type",
                "/outputs/0/type",
                "Output 'a' has the unknown type 'Json'; the only type is JsonField.",
            ),
            (
                "missing_field",
                "/outputs/1/name",
                "An output has no 'name'; every entry needs a name that is text.",
            ),
            (
                "missing_field",
                "/outputs/2/selector",
                "Output 'b': 'selector' is missing; it must be a reference such as "
                '"$steps.name.output".',
            ),
            (
                "wrong_type",
                "/outputs/3/selector",
                "Output 'c': 'selector' is a number 4; it must be a reference such as "
                '"$steps.name.output".',
            ),
            (
                "wrong_value",
                "/outputs/4/coordinates_system",
                "Output 'd': 'coordinates_system' is \"parent\" or \"own\", got text 'x'.",
            ),
        ],
    ),
    (
        "steps",
        workflow([], [{"name": "a"}, {"type": "toy/add@v1"}, step("addd", "x")]),
        [
            (
                "missing_field",
                "/steps/0/type",
                "Step 'a' has no 'type'; it must be the id of a block, such as "
                '"roboflow_core/image_blur@v1".',
            ),
            (
                "missing_field",
                "/steps/1/name",
                "A step has no 'name'; every entry needs a name that is text.",
            ),
            ("unknown_block_type", "/steps/2/type", "Step 'x' has the unknown type 'toy/addd@v1'."),
        ],
    ),
    (
        "fields",
        workflow(
            [IMAGE],
            [
                step("typed", "t", sise=3, image="$inputs.image"),
                step(
                    "typed",
                    "u",
                    image="$inputs.image",
                    size=-1,
                    mode="fats",
                    numbers=["a", 1],
                    text=3,
                    box={"a/b": "c"},
                ),
                step("even", "e", n=3),
                step("even", "f", n="x"),
            ],
        ),
        [
            (
                "missing_field",
                "/steps/0/size",
                "Step 't' lacks the field 'size', which toy/typed@v1 needs.",
            ),
            (
                "wrong_value",
                "/steps/1/size",
                "Step 'u': 'size' must be a number above 0 or a reference ($inputs.name or "
                "$steps.step.output), "
                "got a number -1.",
            ),
            (
                "wrong_value",
                "/steps/1/mode",
                "Step 'u': 'mode' must be one of 'fast' or 'slow', got text 'fats'.",
            ),
            (
                "wrong_value",
                "/steps/1/numbers/0",
                "Step 'u': 'numbers[0]' must be a whole number, got text 'a'.",
            ),
            (
                "wrong_value",
                "/steps/1/text",
                "Step 'u': 'text' must be text or a reference ($inputs.name or "
                "$steps.step.output), got a number 3.",
            ),
            (
                "wrong_value",
                "/steps/1/box/a~1b",
                "Step 'u': 'box.a/b' must be a whole number, got text 'c'.",
            ),
            (
                "wrong_value",
                "/steps/2/n",
                "Step 'e': 'n' must be valid (must be even), got a number 3.",
            ),
            ("wrong_value", "/steps/3/n", "Step 'f': 'n' must be a whole number, got text 'x'."),
        ],
    ),
]


@pytest.mark.parametrize(
    ("definition", "problems"), [row[1:] for row in SYNTAX], ids=[row[0] for row in SYNTAX]
)
def test_problems(definition: Any, problems: list[tuple[str, str, str]]) -> None:
    """Each fault is one problem with its code, place and text; together they are one error."""
    check_problems(definition, WorkflowSyntaxError, problems)


HINTS = [
    (workflow([{"type": "WorkflowImag", "name": "i"}]), "did you mean 'WorkflowImage'?"),
    (workflow([], [step("addd", "x")]), "nearest known types: toy/add@v1"),
    (
        workflow([], [step("else/add@v1", "x")]),
        "no installed plug-in offers blocks named 'else/...'; install the one that does",
    ),
    (workflow([], [step("far/away@v2", "x")]), "needs the package 'far'"),
    (workflow([P, P]), "give each input a name of its own"),
    (
        workflow([], [step("add", "x", aa=1)]),
        "the step has a field 'aa', did you mean 'a'?",
    ),
    (
        workflow([IMAGE], [step("image_only", "x")]),
        "give a reference to image",
    ),
    (
        workflow([IMAGE], [step("typed", "x", image="$inputs.image", size=1, mode="fats")]),
        "did you mean 'fast'?",
    ),
    (workflow([IMAGE], [step("image_only", "x", image="$inputs.imag")]), "did you mean 'image'?"),
    (
        workflow([], [step("constant", "c", value=1), step("add", "x", a="$steps.c.ou")]),
        "did you mean 'out'?",
    ),
    (workflow([], [step("add", "a", a="$steps.a.out")]), "remove one of these references"),
    (
        workflow([X], [step("single_b", "s", a="$inputs.x", b="$inputs.x")]),
        "use a WorkflowParameter, or a step that makes one value",
    ),
]


@pytest.mark.parametrize(("definition", "hint"), HINTS)
def test_hints(definition: dict[str, Any], hint: str) -> None:
    """A problem says the way out, and its text ends with it."""
    (problem,) = find_problems(definition, REGISTRY)
    assert problem.hint == hint
    assert str(problem) == f"{problem.where}: {problem.message} ({hint})"


class Point(BaseModel):
    """A nested object of a step."""

    x: int
    y: int = 0


def _limited() -> BlockRegistry:
    limited = block(
        "toy/limited@v1",
        lambda above, below, low, high, few, many, points, flag, pattern: {"out": 1},
        fields={
            "above": (int, Field(1, ge=0)),
            "below": (int, Field(1, le=9)),
            "low": (int, Field(1, gt=0)),
            "high": (int, Field(1, lt=9)),
            "few": (list[int], Field([1], min_length=1)),
            "many": (list[int], Field([1], max_length=2)),
            "points": (list[Point], []),
            "flag": (bool, False),
            "pattern": (str, Field("a", pattern="^a")),
        },
    )

    class Checked(limited.get_manifest()):  # type: ignore[misc]
        @model_validator(mode="after")
        def _check(self) -> Any:
            if self.above > self.below:
                raise ValueError("'above' must not exceed 'below'.")
            return self

    limited.get_manifest = classmethod(lambda cls: Checked)  # type: ignore[method-assign]
    named = block(
        "toy/named@v1",
        lambda n: {"out": n},
        fields={"n": int},
        actual_outputs=lambda self: [OutputDefinition("out")],
    )
    return toy_registry(limited, named)


LIMITED = _limited()
LITERALS = [
    ({"above": -1}, "/above", "'above' must be a number not below 0, got a number -1."),
    ({"below": 10}, "/below", "'below' must be a number not above 9, got a number 10."),
    ({"low": 0}, "/low", "'low' must be a number above 0, got a number 0."),
    ({"high": 9}, "/high", "'high' must be a number below 9, got a number 9."),
    ({"few": []}, "/few", "'few' must be a list of at least 1 entries, got a list."),
    ({"many": [1, 2, 3]}, "/many", "'many' must be a list of at most 2 entries, got a list."),
    ({"points": [{"x": 1}, {"y": 2}]}, "/points/1/x", "'points[1].x' is missing."),
    (
        {"points": [{"x": 1.5}]},
        "/points/0/x",
        "'points[0].x' must be a whole number, got a number 1.5.",
    ),
    ({"flag": "maybe"}, "/flag", "'flag' must be true or false, got text 'maybe'."),
    ({"pattern": "b"}, "/pattern", "'pattern' must be text that matches ^a, got text 'b'."),
    ({"few": None}, "/few", "'few' must be a list, got null."),
    ({"above": 5, "below": 2}, "", "'above' must not exceed 'below'."),
]


@pytest.mark.parametrize(("fields", "where", "message"), LITERALS)
def test_literals_that_do_not_fit(fields: dict[str, Any], where: str, message: str) -> None:
    """Limits, lengths, nested objects and checks of a block of its own are said in words."""
    (problem,) = find_problems(workflow([], [step("limited", "s", **fields)]), LIMITED)
    assert problem.where == f"/steps/0{where}"
    assert problem.message == f"Step 's': {message}"


class TestMore:
    def test_step_whose_outputs_cannot_be_known(self) -> None:
        """Where outputs depend on fields that are wrong, nothing is said of those who read them."""
        definition = workflow(
            [], [step("named", "n", n="x"), step("add", "a", a="$steps.n.anything")]
        )
        assert [problem.where for problem in find_problems(definition, LIMITED)] == ["/steps/0/n"]

    def test_long_list_of_names_is_cut(self) -> None:
        """A message never lists hundreds of names."""
        inputs = [parameter(f"a_rather_long_name_{i}") for i in range(100)]
        (problem,) = find_problems(workflow(inputs, [step("add", "a", a="$inputs.zz")]), REGISTRY)
        assert problem.message.endswith("a_rather_long_name_8, and more.")
        assert len(problem.message) < 300

    def test_text_in_a_list_where_only_the_whole_may_be_a_reference(self) -> None:
        """A text that looks like a reference is one only where the field takes one."""
        taken = block("toy/taken@v1", lambda a: {"out": a}, fields={"a": list[str] | Selector()})
        definition = workflow([], [step("taken", "t", a=["$inputs.none"])], {"o": "$steps.t.out"})
        assert find_problems(definition, toy_registry(taken)) == []

    def test_malformed_reference_in_a_strict_place_is_one_problem(self) -> None:
        """What the manifest refuses already is not reported again as a reference."""
        (problem,) = find_problems(
            workflow([IMAGE], [step("image_only", "i", image="$inputs.image.x")]), REGISTRY
        )
        assert (problem.code, problem.where) == ("wrong_value", "/steps/0/image")

    @pytest.mark.parametrize(
        ("text", "hint"),
        [
            ("$input.image", "did you mean '$inputs.image'?"),
            ("$steps.s", "add the name of one of the step's outputs: '$steps.s.<output>'"),
            ("$inputs.a.b", "a reference reaches no further"),
            ("inputs.image", "did you mean '$inputs.image'?"),
            ("$inputs.a b", "names in references are made of letters, digits, '_' and '-'"),
        ],
    )
    def test_hints_for_what_was_meant_as_a_reference(self, text: str, hint: str) -> None:
        """A text that is nearly a reference gets the way to write it."""
        problems = find_problems(
            workflow(
                [IMAGE], [step("image_only", "i", image=text), step("constant", "s", value=1)]
            ),
            REGISTRY,
        )
        assert problems[0].hint is not None
        assert problems[0].hint.startswith(hint)

    def test_output_of_a_step_where_a_step_is_wanted(self) -> None:
        """A control target is the step alone."""
        (problem,) = find_problems(
            workflow(
                [P],
                [
                    step("gate", "g", test="$inputs.p", next_steps=["$steps.c.out"]),
                    step("constant", "c", value=1),
                ],
            ),
            REGISTRY,
        )
        assert problem.hint == "name the step alone: '$steps.c'"
