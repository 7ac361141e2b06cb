"""Every fault a definition can have: class, code, JSON pointer and the whole text of the message."""

from __future__ import annotations

from typing import Any, Literal, Union

import pytest
from pydantic import BaseModel, Field, PositiveInt, field_validator, model_validator

from execution_engine import BlockRegistry, KnownBlock, Plugin, compile_definition, find_problems
from execution_engine.block_api import (
    OutputDefinition,
    Selector,
    StepOutputSelector,
    StepSelector,
    WorkflowParameterSelector,
)
from execution_engine.errors import (
    BlockInterfaceError,
    BlockNotInBuildError,
    ControlFlowDefinitionError,
    DuplicatedNameError,
    ExecutionGraphStructureError,
    InvalidReferenceTargetError,
    NotSupportedExecutionEngineError,
    PluginLoadingError,
    ReferenceTypeError,
    StepInputDimensionalityError,
    StepInputLineageError,
    WorkflowCompilerError,
    WorkflowDefinitionError,
    WorkflowSyntaxError,
)
from execution_engine.kinds.catalogue import (
    IMAGE_KIND,
    INTEGER_KIND,
    LIST_OF_VALUES_KIND,
    STRING_KIND,
)
from tests.execution_engine.toy_blocks import (
    batch_input,
    block,
    parameter,
    step,
    toy_registry,
    workflow,
)

IMAGE = {"type": "WorkflowImage", "name": "image"}
P = parameter("p")
X = batch_input("x")


def _even(value: Any) -> Any:
    if isinstance(value, int) and value % 2:
        raise ValueError("must be even.")
    return value


def _registry() -> BlockRegistry:
    typed = block(
        "toy/typed@v1",
        lambda image, size, mode, numbers, text, box: {"out": 1},
        fields={
            "image": Selector(kind=[IMAGE_KIND]),
            "size": Union[PositiveInt, Selector(kind=[INTEGER_KIND])],
            "mode": (Literal["fast", "slow"], "fast"),
            "numbers": (Union[list[int], Selector(kind=[LIST_OF_VALUES_KIND])], []),
            "text": (Union[str, Selector(kind=[STRING_KIND])], ""),
            "box": (dict[str, int], {}),
        },
        outputs={"out": [INTEGER_KIND]},
    )
    image_only = block(
        "toy/image_only@v1", lambda image: {"out": 1}, fields={"image": Selector(kind=[IMAGE_KIND])}
    )
    single_b = block("toy/single_b@v1", lambda a, b: [{"out": 1}], batches=("a",))
    parameter_only = block(
        "toy/parameter_only@v1",
        lambda a: {"out": 1},
        fields={"a": Union[WorkflowParameterSelector(), str]},
    )
    output_only = block(
        "toy/output_only@v1", lambda a: {"out": 1}, fields={"a": Union[StepOutputSelector(), str]}
    )
    steps_or_text = block(
        "toy/steps_or_text@v1", lambda a: {"out": 1}, fields={"a": Union[StepSelector, str]}
    )
    even = block("toy/even@v1", lambda n: {"out": n}, fields={"n": int})
    manifest = even.get_manifest()
    checked = type(
        "Checked", (manifest,), {"check": field_validator("n")(lambda cls, value: _even(value))}
    )
    even.get_manifest = classmethod(lambda cls: checked)  # type: ignore[method-assign]

    def cannot_tell(self: Any) -> list[OutputDefinition]:
        raise KeyError("no such output")

    secretive = block("toy/secretive@v1", lambda n: {"out": n}, actual_outputs=cannot_tell)
    known = [
        KnownBlock("far/away@v2", ("Away",), "Far Away", "needs the package 'far'"),
        KnownBlock("far/plain@v1"),
    ]
    return toy_registry(
        typed,
        image_only,
        single_b,
        parameter_only,
        output_only,
        steps_or_text,
        even,
        secretive,
        plugins=[Plugin("far", known=lambda: known)],
    )


REGISTRY = _registry()

SYNTAX = [
    ("not an object", [1], [("wrong_type", "", "A workflow definition is a JSON object, got a list.")]),
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
            ("missing_field", f"/{name}", f"'{name}' is missing; it must be a list (which may be empty).")
            for name in ("inputs", "steps", "outputs")
        ],
    ),
    (
        "lists of another type",
        {"version": "1.0", "inputs": {}, "steps": "x", "outputs": None},
        [
            ("wrong_type", "/inputs", "'inputs' is an object; it must be a list (which may be empty)."),
            ("wrong_type", "/steps", "'steps' is text 'x'; it must be a list (which may be empty)."),
            ("wrong_type", "/outputs", "'outputs' is null; it must be a list (which may be empty)."),
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
                "Input 'i' has the unknown type 'WorkflowImag'; known types are WorkflowImage, InferenceImage, "
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
                "Output 'b': 'selector' is missing; it must be a reference such as \"$steps.name.output\".",
            ),
            (
                "wrong_type",
                "/outputs/3/selector",
                "Output 'c': 'selector' is a number 4; it must be a reference such as \"$steps.name.output\".",
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
                "Step 'a' has no 'type'; it must be the id of a block, such as \"roboflow_core/image_blur@v1\".",
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
            ("missing_field", "/steps/0/size", "Step 't' lacks the field 'size', which toy/typed@v1 needs."),
            (
                "wrong_value",
                "/steps/1/size",
                "Step 'u': 'size' must be a number above 0 or a reference ($inputs.name or $steps.step.output), "
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
                "Step 'u': 'text' must be text or a reference ($inputs.name or $steps.step.output), got a number 3.",
            ),
            ("wrong_value", "/steps/1/box/a~1b", "Step 'u': 'box.a/b' must be a whole number, got text 'c'."),
            ("wrong_value", "/steps/2/n", "Step 'e': 'n' must be valid (must be even), got a number 3."),
            ("wrong_value", "/steps/3/n", "Step 'f': 'n' must be a whole number, got text 'x'."),
        ],
    ),
]

AFTER_SYNTAX: list[Any] = [
    (
        "block known by name",
        BlockNotInBuildError,
        workflow([], [step("far/away@v2", "a"), {"type": "Away", "name": "b"}, step("far/plain@v1", "c")]),
        [
            (
                "block_not_in_build",
                "/steps/0/type",
                "Step 'a' uses the block 'far/away@v2' (Far Away), which is known but not in this build.",
            ),
            (
                "block_not_in_build",
                "/steps/1/type",
                "Step 'b' uses the block 'Away' (Far Away), which is known but not in this build.",
            ),
            (
                "block_not_in_build",
                "/steps/2/type",
                "Step 'c' uses the block 'far/plain@v1', which is known but not in this build.",
            ),
        ],
    ),
    (
        "duplicates",
        DuplicatedNameError,
        workflow(
            [P, P],
            [step("constant", "c", value=1), step("constant", "c", value=1)],
            [{"type": "JsonField", "name": "a", "selector": "$inputs.p"}] * 2,
        ),
        [
            (
                "duplicated_name",
                f"/{name}s/1/name",
                f"Two {name}s are named '{letter}': /{name}s/0 and /{name}s/1.",
            )
            for name, letter in (("input", "p"), ("step", "c"), ("output", "a"))
        ],
    ),
    (
        "missing targets",
        InvalidReferenceTargetError,
        workflow(
            [IMAGE],
            [
                step("typed", "t", image="$inputs.imag", size="$steps.x.out"),
                step("constant", "c", value="$inputs.image.x"),
            ],
            {"o": "$steps.t.zz", "f": "$inputs.q", "g": "$steps.q.x", "h": "$steps.t", "e": "abc"},
        ),
        [
            (
                "malformed_reference",
                "/steps/1/value",
                "Step 'c': '$inputs.image.x' in 'value' is no reference; expected $inputs.name or $steps.step.output.",
            ),
            (
                "unknown_input",
                "/steps/0/image",
                "Step 't': 'image' refers to the input 'imag', which does not exist; declared inputs: image.",
            ),
            (
                "unknown_step",
                "/steps/0/size",
                "Step 't': 'size' refers to the step 'x', which does not exist; declared steps: t, c.",
            ),
            (
                "unknown_output_target",
                "/outputs/0/selector",
                "Output 'o' refers to 'zz' of step 't', which has: out.",
            ),
            ("unknown_output_target", "/outputs/1/selector", "Output 'f' refers to the missing input 'q'."),
            ("unknown_output_target", "/outputs/2/selector", "Output 'g' refers to the missing step 'q'."),
            (
                "unknown_output_target",
                "/outputs/3/selector",
                "Output 'h': '$steps.t' is no reference to data; expected $inputs.name, $steps.step.output or "
                "$steps.step.*.",
            ),
            (
                "unknown_output_target",
                "/outputs/4/selector",
                "Output 'e': 'abc' is no reference to data; expected $inputs.name, $steps.step.output or "
                "$steps.step.*.",
            ),
        ],
    ),
    (
        "kinds",
        ReferenceTypeError,
        workflow(
            [parameter("s", kind=["string"]), IMAGE],
            [
                step("image_only", "i", image="$inputs.s"),
                step("typed", "t", image="$inputs.image", size=1),
                step("image_only", "j", image="$steps.t.out"),
            ],
        ),
        [
            ("kind_mismatch", "/steps/0/image", "Step 'i': 'image' takes image, but $inputs.s gives string."),
            (
                "kind_mismatch",
                "/steps/2/image",
                "Step 'j': 'image' takes image, but $steps.t.out gives integer.",
            ),
        ],
    ),
    (
        "structure",
        ExecutionGraphStructureError,
        workflow(
            [P, X, {"type": "WorkflowBatchInput", "name": "b", "dimensionality": 0}],
            [
                step("add", "a", a="$steps.c.ou", b="$steps.c"),
                step("add", "b", a="$steps.c.*"),
                step("constant", "c", value=1),
                step("gate", "g", test="$inputs.p", next_steps=["$steps.c", "$steps.c"]),
                step("single_b", "s", a="$inputs.x", b="$inputs.x"),
                step("parameter_only", "p", a="$steps.c.out"),
                step("output_only", "o", a="$inputs.p"),
                step("steps_or_text", "t", a="$steps.c.out"),
                step("add", "k", a="$steps.g.out"),
            ],
        ),
        [
            (
                "wrong_dimensionality",
                "/inputs/2/dimensionality",
                "Input 'b': a batch input has a dimensionality of 1 or more, got 0.",
            ),
            (
                "unknown_output",
                "/steps/0/a",
                "Step 'a': 'a' refers to an output 'ou' of step 'c' (toy/constant@v1), which has: out.",
            ),
            (
                "step_reference_not_allowed",
                "/steps/0/b",
                "Step 'a': 'b' needs data, but $steps.c names a step; add the output, such as $steps.c.out.",
            ),
            (
                "unknown_output",
                "/steps/1/a",
                "Step 'b': 'a' refers to all outputs at once '*' of step 'c' (toy/constant@v1), which has: out.",
            ),
            (
                "duplicated_control_target",
                "/steps/3/next_steps/1",
                "Step 'g' names $steps.c as a target more than once; a step can be gated only once by the same "
                "control step.",
            ),
            (
                "reference_not_allowed_here",
                "/steps/5/a",
                "Step 'p': 'a' cannot refer to an output of step 'c'; it takes workflow parameter.",
            ),
            (
                "reference_not_allowed_here",
                "/steps/6/a",
                "Step 'o': 'a' cannot refer to the WorkflowParameter 'p'; it takes step output.",
            ),
            (
                "reference_not_allowed_here",
                "/steps/7/a",
                "Step 't': 'a' cannot refer to an output of step 'c'; it takes step.",
            ),
            (
                "unknown_output",
                "/steps/8/a",
                "Step 'k': 'a' refers to an output 'out' of step 'g' (toy/gate@v1), which has: none (it only "
                "decides what runs).",
            ),
            (
                "batch_into_single_value",
                "/steps/4/b",
                "Step 's': 'b' takes one value for the whole batch, but $inputs.x gives one a batch element.",
            ),
        ],
    ),
    (
        "cycles",
        ExecutionGraphStructureError,
        workflow(
            [],
            [
                step("add", "a", a="$steps.b.out"),
                step("add", "b", a="$steps.c.out"),
                step("add", "c", a="$steps.a.out"),
                step("add", "d", a="$steps.d.out"),
                step("add", "behind", a="$steps.d.out"),
                step("gate", "g", test="$steps.e.out", next_steps=["$steps.e"]),
                step("constant", "e", value=1),
            ],
        ),
        [
            ("cycle", "/steps/0", "Steps depend on each other in a circle: c -> b -> a -> c."),
            ("cycle", "/steps/3", "Steps depend on each other in a circle: d -> d."),
            ("cycle", "/steps/5", "Steps depend on each other in a circle: e -> g -> e."),
        ],
    ),
    (
        "outputs that cannot be told",
        BlockInterfaceError,
        workflow([], [step("secretive", "s", n=1)], {"o": "$steps.s.out"}),
        [
            (
                "outputs_unknown",
                "/steps/0",
                "Step 's' (toy/secretive@v1) cannot tell its outputs: 'no such output'",
            )
        ],
    ),
    (
        "depths",
        StepInputDimensionalityError,
        workflow(
            [X, batch_input("y", 2)],
            [
                step("add", "s", a="$inputs.x", b="$inputs.y"),
                step("gather", "g", data=3),
                step("with_children", "w", parent="$inputs.x", children="$inputs.x"),
            ],
        ),
        [
            (
                "depths_differ",
                "/steps/0/a",
                "Step 's' mixes depths of nesting: 'a' ($inputs.x) has one value for each input element (depth 1); "
                "'b' ($inputs.y) has one value for each part from $inputs.y[2] of each input element (depth 2). "
                "The block needs them at one depth.",
            ),
            (
                "nothing_to_collapse",
                "/steps/1",
                "Step 'g' gathers the elements of a batch, but all its inputs are single values.",
            ),
            (
                "depths_differ",
                "/steps/2/parent",
                "Step 'w' mixes depths of nesting: 'parent' ($inputs.x) has one value for each input element "
                "(depth 1); 'children' ($inputs.x) has one value for each input element (depth 1). 'parent' sets "
                "the depth and 'children' lies 1 deeper.",
            ),
        ],
    ),
    (
        "lineage",
        StepInputLineageError,
        workflow(
            [X, batch_input("y", 2), batch_input("z", 2)],
            [
                step("split", "p", n="$inputs.x"),
                step("split", "q", n="$inputs.x"),
                step("add", "t", a="$steps.p.out", b="$steps.q.out"),
                step("generate", "ge"),
                step("add", "u", a="$steps.ge.out", b="$inputs.x"),
                step("first", "f", data=["$inputs.y", "$inputs.z", 1]),
            ],
        ),
        [
            (
                "unrelated_batches",
                "/steps/2/b",
                "Step 't': $steps.q.out and $steps.p.out come from different batches (each part from $steps.q of "
                "each input element; each part from $steps.p of each input element), so their elements do not "
                "belong together.",
            ),
            (
                "unrelated_batches",
                "/steps/4/b",
                "Step 'u': $inputs.x and $steps.ge.out come from different batches (each input element; each part "
                "from $steps.ge), so their elements do not belong together.",
            ),
            (
                "unrelated_batches",
                "/steps/5/data/1",
                "Step 'f': $inputs.z and $inputs.y come from different batches (each part from $inputs.z[2] of "
                "each input element; each part from $inputs.y[2] of each input element), so their elements do not "
                "belong together.",
            ),
        ],
    ),
    (
        "gate that does not fit",
        ControlFlowDefinitionError,
        workflow(
            [X],
            [
                step("split", "p", n="$inputs.x"),
                step("gate", "g", test="$steps.p.out", next_steps=["$steps.a"]),
                step("add", "a", a="$inputs.x"),
            ],
        ),
        [
            (
                "gate_does_not_fit",
                "/steps/2",
                "Step 'a' works on each input element, but its gate 'g' decides for each part from $steps.p of "
                "each input element; the step could never run.",
            )
        ],
    ),
]
ROWS = [(name, WorkflowSyntaxError, *rest) for name, *rest in SYNTAX] + AFTER_SYNTAX


@pytest.mark.parametrize(("error", "definition", "problems"), [row[1:] for row in ROWS], ids=[row[0] for row in ROWS])
class TestEveryFault:
    def test_problems(self, error: Any, definition: Any, problems: list[tuple[str, str, str]]) -> None:
        """Each fault is one problem with its code, its place and its text, and nothing else is reported."""
        found = find_problems(definition, REGISTRY)
        assert [(item.code, item.where, item.message) for item in found] == problems

    def test_raised(self, error: Any, definition: Any, problems: list[Any]) -> None:
        """One error of the fitting class carries every problem; its text lists them."""
        with pytest.raises(WorkflowCompilerError) as caught:
            compile_definition(definition, REGISTRY)
        assert type(caught.value) is error
        assert list(caught.value.errors) == find_problems(definition, REGISTRY)
        text = str(caught.value)
        assert text == caught.value.public_message
        if len(problems) == 1:
            assert text == str(caught.value.errors[0])
        else:
            first, *lines = text.splitlines()
            assert first == f"The workflow definition has {len(problems)} problems:"
            assert lines == [f"  {i}. {item}" for i, item in enumerate(caught.value.errors, 1)]


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
    (workflow([], [step("constant", "c", value=1), step("add", "x", a="$steps.c.ou")]), "did you mean 'out'?"),
    (workflow([], [step("add", "a", a="$steps.a.out")]), "remove one of these references"),
    (workflow([X], [step("single_b", "s", a="$inputs.x", b="$inputs.x")]), "use a WorkflowParameter, or a step that makes one value"),
]  # fmt: skip


@pytest.mark.parametrize(("definition", "hint"), HINTS)
def test_hints(definition: dict[str, Any], hint: str) -> None:
    """A problem says the way out, and its text ends with it."""
    (problem,) = find_problems(definition, REGISTRY)
    assert problem.hint == hint
    assert str(problem) == f"{problem.where}: {problem.message} ({hint})"


class TestVersions:
    @pytest.mark.parametrize("version", ["1.0", "1", "1.0.0", "1.17.0", "1.3"])
    def test_served(self, version: str) -> None:
        """A version asks for a minimum within its major version."""
        compile_definition(workflow(version=version), REGISTRY)

    @pytest.mark.parametrize("version", ["2.0", "1.99", "0.9", "1.17.1"])
    def test_not_supported(self, version: str) -> None:
        """A newer engine or another major version is not there."""
        with pytest.raises(NotSupportedExecutionEngineError) as caught:
            compile_definition(workflow(version=version), REGISTRY)
        assert str(caught.value) == (
            f"The definition asks for engine version {version} or newer within {version[0]}.x; this engine is 1.17.0."
        )

    @pytest.mark.parametrize("version", ["abc", "", "1.x"])
    def test_no_version(self, version: str) -> None:
        """Text that is no version is a fault of the definition."""
        with pytest.raises(WorkflowDefinitionError) as caught:
            find_problems(workflow(version=version), REGISTRY)
        assert type(caught.value) is WorkflowDefinitionError
        assert str(caught.value) == (
            f"The definition asks for engine version '{version}', which is no version number; expected something "
            'like "1.0" or "1.17.0".'
        )


class TestAllAtOnce:
    """One compilation reports the faults of every phase, and the class is that of the earliest."""

    PHASES = (
        (WorkflowSyntaxError, step("nope", "a")),
        (DuplicatedNameError, step("constant", "twin", value=1)),
        (InvalidReferenceTargetError, step("add", "b", a="$inputs.none")),
        (ExecutionGraphStructureError, step("add", "c", a="$steps.twin.none")),
        (StepInputDimensionalityError, step("gather", "d", data=1)),
        (StepInputLineageError, step("add", "e", a="$inputs.y", b="$inputs.z")),
    )

    @pytest.mark.parametrize("first", range(len(PHASES)))
    def test_earliest_phase_is_raised(self, first: int) -> None:
        """With faults of this and all later phases, this one's class is raised and every fault is in it."""
        definition = workflow(
            [batch_input("y", 2), batch_input("z", 2)],
            [step("constant", "twin", value=1), *(faulty for _, faulty in reversed(self.PHASES[first:]))],
        )
        with pytest.raises(WorkflowCompilerError) as caught:
            compile_definition(definition, REGISTRY)
        assert type(caught.value) is self.PHASES[first][0]
        assert len(caught.value.errors) == len(self.PHASES) - first

    def test_steps_behind_a_faulty_one_are_not_reported(self) -> None:
        """What depends on a fault is no fault of its own."""
        definition = workflow(
            [],
            [
                step("nope", "a"),
                step("add", "b", a="$steps.a.out"),
                step("gather", "c", data="$steps.b.out"),
            ],
            {"o": "$steps.a.anything", "p": "$steps.c.out"},
        )
        assert [problem.code for problem in find_problems(definition, REGISTRY)] == ["unknown_block_type"]

    def test_faults_beside_a_faulty_step_are_reported(self) -> None:
        """References of a step with a wrong literal are still followed."""
        definition = workflow(
            [IMAGE], [step("typed", "t", image="$inputs.none", size=0)], {"o": "$steps.t.none"}
        )
        codes = [problem.code for problem in find_problems(definition, REGISTRY)]
        assert codes == ["wrong_value", "unknown_input", "unknown_output_target"]

    def test_blocks_errors(self) -> None:
        """Problems of steps and outputs are there in the shape that clients know."""
        with pytest.raises(WorkflowSyntaxError) as caught:
            compile_definition(
                workflow(
                    [P],
                    [step("nope", "a"), step("add", "b", a="$inputs.none")],
                    {"o": "$steps.none.x"},
                    version=1,
                ),
                REGISTRY,
            )
        found = [
            (entry.block_id, entry.block_type, entry.property_name)
            for entry in caught.value.blocks_errors
        ]
        assert found == [("a", "toy/nope@v1", None), ("b", "toy/add@v1", "a"), ("$outputs", None, "o")]
        first, second, _ = caught.value.blocks_errors
        assert first.block_details == "Step 'a' has the unknown type 'toy/nope@v1'."
        assert first.property_details is None
        assert second.block_details is None
        assert second.property_details == caught.value.errors[2].message

    def test_problem_as_json(self) -> None:
        """A problem is plain data for servers and editors."""
        (problem,) = find_problems(workflow([], [step("add", "b", a="$inputs.none")]), REGISTRY)
        assert problem.to_dict() == {
            "code": "unknown_input",
            "message": "Step 'b': 'a' refers to the input 'none', which does not exist; declared inputs: none.",
            "where": "/steps/0/a",
            "hint": None,
            "block_id": "b",
            "block_type": "toy/add@v1",
            "property_name": "a",
        }


class TestBlockThatCannotBeLoaded:
    def _registry(self) -> BlockRegistry:
        from execution_engine.block_api.spec import BlockSpec, FieldSpec, OutputSpec, ReferenceSpec

        spec = BlockSpec(
            "broken/b@v1",
            source="broken",
            module="no_such_module_anywhere",
            class_name="B",
            fields={"x": FieldSpec("x", ("x",), True, (ReferenceSpec("any_data", ("*",)),))},
            outputs=(OutputSpec("out"),),
            extra="ocr",
        )
        return toy_registry(plugins=[Plugin("broken", index=lambda: {spec.type_id: spec})])

    def test_is_a_problem_like_others(self) -> None:
        """The step is named, with what to install; other faults are reported beside it."""
        definition = workflow(
            [P], [step("broken/b@v1", "b", x="$inputs.none"), step("nope", "a")], {"o": "$steps.b.none"}
        )
        registry = self._registry()
        with pytest.raises(WorkflowCompilerError) as caught:
            compile_definition(definition, registry)
        assert type(caught.value) is PluginLoadingError
        first, *rest = caught.value.errors
        assert (first.code, first.where, first.block_id) == ("block_not_loadable", "/steps/0/type", "b")
        assert first.message == (
            "Step 'b': Block 'broken/b@v1' (no_such_module_anywhere.B) cannot be loaded: No module named "
            "'no_such_module_anywhere'. Install it with: pip install 'weftlens[ocr]'."
        )
        assert [problem.code for problem in rest] == [
            "unknown_block_type",
            "unknown_input",
            "unknown_output_target",
        ]


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
    ({"points": [{"x": 1.5}]}, "/points/0/x", "'points[0].x' must be a whole number, got a number 1.5."),
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
            workflow([IMAGE], [step("image_only", "i", image=text), step("constant", "s", value=1)]), REGISTRY
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
