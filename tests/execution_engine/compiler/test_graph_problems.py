"""Definitions whose parts do not fit together: names, references, kinds, depth, lineage, gates,
versions.
"""

from __future__ import annotations

from typing import Any

import pytest

from execution_engine import BlockRegistry, Plugin, compile_definition, find_problems
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
from tests.execution_engine.compiler.strict_blocks import IMAGE, REGISTRY, P, X, check_problems
from tests.execution_engine.toy_blocks import (
    batch_input,
    parameter,
    step,
    toy_registry,
    workflow,
)

ROWS: list[Any] = [
    (
        "block known by name",
        BlockNotInBuildError,
        workflow(
            [], [step("far/away@v2", "a"), {"type": "Away", "name": "b"}, step("far/plain@v1", "c")]
        ),
        [
            (
                "block_not_in_build",
                "/steps/0/type",
                "Step 'a' uses the block 'far/away@v2' (Far Away), which is known but not in this "
                "build.",
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
                "Step 'c': '$inputs.image.x' in 'value' is no reference; expected $inputs.name or "
                "$steps.step.output.",
            ),
            (
                "unknown_input",
                "/steps/0/image",
                "Step 't': 'image' refers to the input 'imag', which does not exist; declared "
                "inputs: image.",
            ),
            (
                "unknown_step",
                "/steps/0/size",
                "Step 't': 'size' refers to the step 'x', which does not exist; declared steps: "
                "t, c.",
            ),
            (
                "unknown_output_target",
                "/outputs/0/selector",
                "Output 'o' refers to 'zz' of step 't', which has: out.",
            ),
            (
                "unknown_output_target",
                "/outputs/1/selector",
                "Output 'f' refers to the missing input 'q'.",
            ),
            (
                "unknown_output_target",
                "/outputs/2/selector",
                "Output 'g' refers to the missing step 'q'.",
            ),
            (
                "unknown_output_target",
                "/outputs/3/selector",
                "Output 'h': '$steps.t' is no reference to data; expected $inputs.name, "
                "$steps.step.output or "
                "$steps.step.*.",
            ),
            (
                "unknown_output_target",
                "/outputs/4/selector",
                "Output 'e': 'abc' is no reference to data; expected $inputs.name, "
                "$steps.step.output or "
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
            (
                "kind_mismatch",
                "/steps/0/image",
                "Step 'i': 'image' takes image, but $inputs.s gives string.",
            ),
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
                "Step 'a': 'a' refers to an output 'ou' of step 'c' (toy/constant@v1), which has: "
                "out.",
            ),
            (
                "step_reference_not_allowed",
                "/steps/0/b",
                "Step 'a': 'b' needs data, but $steps.c names a step; add the output, such as "
                "$steps.c.out.",
            ),
            (
                "unknown_output",
                "/steps/1/a",
                "Step 'b': 'a' refers to all outputs at once '*' of step 'c' (toy/constant@v1), "
                "which has: out.",
            ),
            (
                "duplicated_control_target",
                "/steps/3/next_steps/1",
                "Step 'g' names $steps.c as a target more than once; a step can be gated only "
                "once by the same "
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
                "Step 'k': 'a' refers to an output 'out' of step 'g' (toy/gate@v1), which has: "
                "none (it only "
                "decides what runs).",
            ),
            (
                "batch_into_single_value",
                "/steps/4/b",
                "Step 's': 'b' takes one value for the whole batch, but $inputs.x gives one a "
                "batch element.",
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
                "Step 's' mixes depths of nesting: 'a' ($inputs.x) has one value for each input "
                "element (depth 1); "
                "'b' ($inputs.y) has one value for each part from $inputs.y[2] of each input "
                "element (depth 2). "
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
                "Step 'w' mixes depths of nesting: 'parent' ($inputs.x) has one value for each "
                "input element "
                "(depth 1); 'children' ($inputs.x) has one value for each input element (depth "
                "1). 'parent' sets "
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
                "Step 't': $steps.q.out and $steps.p.out come from different batches (each part "
                "from $steps.q of "
                "each input element; each part from $steps.p of each input element), so their "
                "elements do not "
                "belong together.",
            ),
            (
                "unrelated_batches",
                "/steps/4/b",
                "Step 'u': $inputs.x and $steps.ge.out come from different batches (each input "
                "element; each part "
                "from $steps.ge), so their elements do not belong together.",
            ),
            (
                "unrelated_batches",
                "/steps/5/data/1",
                "Step 'f': $inputs.z and $inputs.y come from different batches (each part from "
                "$inputs.z[2] of "
                "each input element; each part from $inputs.y[2] of each input element), so their "
                "elements do not "
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
                "Step 'a' works on each input element, but its gate 'g' decides for each part "
                "from $steps.p of "
                "each input element; the step could never run.",
            )
        ],
    ),
]


@pytest.mark.parametrize(
    ("error", "definition", "problems"), [row[1:] for row in ROWS], ids=[row[0] for row in ROWS]
)
def test_problems(error: Any, definition: Any, problems: list[tuple[str, str, str]]) -> None:
    """Each fault is one problem with its code, place and text; together they are one error."""
    check_problems(definition, error, problems)


class TestVersions:
    def test_a_number_that_python_does_not_read(self) -> None:
        """Thousands of digits are no version, and no traceback."""
        with pytest.raises(WorkflowDefinitionError, match="which is no version number"):
            compile_definition(workflow(version="1." + "0" * 5000), toy_registry())

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
            f"The definition asks for engine version {version} or newer within {version[0]}.x; "
            "this engine is 1.17.0."
        )

    @pytest.mark.parametrize("version", ["abc", "", "1.x"])
    def test_no_version(self, version: str) -> None:
        """Text that is no version is a fault of the definition."""
        with pytest.raises(WorkflowDefinitionError) as caught:
            find_problems(workflow(version=version), REGISTRY)
        assert type(caught.value) is WorkflowDefinitionError
        assert str(caught.value) == (
            f"The definition asks for engine version '{version}', which is no version number; "
            "expected something "
            'like "1.0" or "1.17.0".'
        )


class TestAllAtOnce:
    def test_thousands_of_problems(self) -> None:
        """Every problem is reported, only the first come with a searched hint: the search through
        all names for each would take hours.
        """
        steps = [step("toy/add@v1", f"step{i}", a=f"$steps.stop{i}.out") for i in range(3000)]
        with pytest.raises(InvalidReferenceTargetError) as caught:
            compile_definition(workflow([], steps, {}), toy_registry())
        assert len(caught.value.errors) == 3000
        hints = [problem.hint is not None for problem in caught.value.errors]
        assert hints[:50] == [True] * 50
        assert not any(hints[50:])

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
        """With faults of this and all later phases, this one's class is raised and every fault is
        in it.
        """
        definition = workflow(
            [batch_input("y", 2), batch_input("z", 2)],
            [
                step("constant", "twin", value=1),
                *(faulty for _, faulty in reversed(self.PHASES[first:])),
            ],
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
        assert [problem.code for problem in find_problems(definition, REGISTRY)] == [
            "unknown_block_type"
        ]

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
        assert found == [
            ("a", "toy/nope@v1", None),
            ("b", "toy/add@v1", "a"),
            ("$outputs", None, "o"),
        ]
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
            "message": "Step 'b': 'a' refers to the input 'none', which does not exist; declared "
            "inputs: none.",
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
            [P],
            [step("broken/b@v1", "b", x="$inputs.none"), step("nope", "a")],
            {"o": "$steps.b.none"},
        )
        registry = self._registry()
        with pytest.raises(WorkflowCompilerError) as caught:
            compile_definition(definition, registry)
        assert type(caught.value) is PluginLoadingError
        first, *rest = caught.value.errors
        assert (first.code, first.where, first.block_id) == (
            "block_not_loadable",
            "/steps/0/type",
            "b",
        )
        assert first.message == (
            "Step 'b': Block 'broken/b@v1' (no_such_module_anywhere.B) cannot be loaded: No "
            "module named "
            "'no_such_module_anywhere'. Install it with: pip install 'weftlens[ocr]'."
        )
        assert [problem.code for problem in rest] == [
            "unknown_block_type",
            "unknown_input",
            "unknown_output_target",
        ]
