"""Inner workflows: steps of one definition in the place of a step of another one."""

from __future__ import annotations

import copy
from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest

from execution_engine.errors import (
    Problem,
    WorkflowCompilerError,
)
from workflows import Session, WeftlensSettings, run_locally
from workflows.inspection import inspect_definition

INNER = "roboflow_core/inner_workflow@v1"


@pytest.fixture(scope="module")
def session() -> Iterator[Session]:
    """The core blocks."""
    with Session(WeftlensSettings()) as made:
        yield made


def definition(
    inputs: list[dict[str, Any]], steps: list[dict[str, Any]], **outputs: str
) -> dict[str, Any]:
    return {
        "version": "1.0",
        "inputs": inputs,
        "steps": steps,
        "outputs": [
            {"type": "JsonField", "name": name, "selector": selector}
            for name, selector in outputs.items()
        ],
    }


def parameter(name: str, default: Any = None, *kinds: str) -> dict[str, Any]:
    made: dict[str, Any] = {"type": "WorkflowParameter", "name": name, "default_value": default}
    return made | ({"kind": list(kinds)} if kinds else {})


def numbers(name: str) -> dict[str, Any]:
    return {"type": "WorkflowBatchInput", "name": name, "kind": ["integer"]}


def inner(name: str, workflow: Any, **bindings: Any) -> dict[str, Any]:
    step = {"type": INNER, "name": name, "workflow_definition": workflow}
    return step | {"parameter_bindings": bindings}


def times(name: str, data: str, by: Any) -> dict[str, Any]:
    return {
        "type": "roboflow_core/property_definition@v1",
        "name": name,
        "data": data,
        "operations": [{"type": "Multiply", "other": by}],
    }


def text(name: str, template: str, **data: Any) -> dict[str, Any]:
    return {
        "type": "roboflow_core/string_template@v1",
        "name": name,
        "template": template,
        "data": data,
    }


def first_of(name: str, *data: str, default: Any) -> dict[str, Any]:
    return {
        "type": "roboflow_core/first_non_empty_or_default@v1",
        "name": name,
        "data": list(data),
        "default": default,
    }


def gate(name: str, value: str, threshold: Any, *targets: str) -> dict[str, Any]:
    return {
        "type": "roboflow_core/continue_if@v1",
        "name": name,
        "condition_statement": {
            "type": "StatementGroup",
            "statements": [
                {
                    "type": "BinaryStatement",
                    "left_operand": {"type": "DynamicOperand", "operand_name": "x"},
                    "comparator": {"type": "(Number) >"},
                    "right_operand": {"type": "StaticOperand", "value": threshold},
                }
            ],
        },
        "evaluation_parameters": {"x": value},
        "next_steps": list(targets),
    }


TENFOLD = definition([numbers("x")], [times("m", "$inputs.x", 10)], y="$steps.m.output")


def problems_of(session: Session, workflow: dict[str, Any]) -> dict[str, Problem]:
    """All problems by their place; showing the same definition finds the same ones."""
    with pytest.raises(WorkflowCompilerError) as caught:
        session.compile(workflow)
    shown = inspect_definition(workflow, session.registry).problems
    assert list(caught.value.errors) == list(shown)
    return {problem.where: problem for problem in shown}


class TestValues:
    def test_steps_take_the_place_of_the_step(self, session: Session) -> None:
        """The plan has the inner steps under their long names, the results are those of them."""
        workflow = definition(
            [numbers("v")],
            [inner("n", TENFOLD, x="$inputs.v"), times("after", "$steps.n.y", 2)],
            y="$steps.n.y",
            z="$steps.after.output",
        )
        assert [step.name for step in session.compile(workflow).steps] == ["n__m", "after"]
        rows = run_locally(workflow, {"v": [1, 2]}, session=session)
        assert rows == [{"y": 10, "z": 20}, {"y": 20, "z": 40}]

    def test_the_definition_is_left_alone(self, session: Session) -> None:
        """Compiling changes nothing in the caller's objects."""
        workflow = definition([numbers("v")], [inner("n", TENFOLD, x="$inputs.v")], y="$steps.n.y")
        before = copy.deepcopy(workflow)
        session.compile(workflow)
        assert workflow == before

    def test_one_workflow_twice_and_in_a_chain(self, session: Session) -> None:
        """Each step has steps and state of its own; outputs of one feed the other, in any order."""
        workflow = definition(
            [numbers("v")],
            [inner("b", TENFOLD, x="$steps.a.y"), inner("a", TENFOLD, x="$inputs.v")],
            a="$steps.a.y",
            b="$steps.b.y",
        )
        [row] = run_locally(workflow, {"v": [3]}, session=session)
        assert row == {"a": 30, "b": 300}

    def test_four_levels(self, session: Session) -> None:
        """Inner workflows may lie in inner workflows; names grow by one part a level."""
        workflow = TENFOLD
        for level in "abcd":
            workflow = definition(
                [numbers("x")], [inner(level, workflow, x="$inputs.x")], y=f"$steps.{level}.y"
            )
        assert [step.name for step in session.compile(workflow).steps] == ["d__c__b__a__m"]
        assert run_locally(workflow, {"x": [7]}, session=session) == [{"y": 70}]

    @pytest.mark.parametrize("name", ["ä", "a b", "a.b", "*", "$x", "a/b", "x.*", "\ud800"])
    def test_names_that_no_reference_may_have(self, session: Session, name: str) -> None:
        """Nobody can refer to such a step; what lies in it works all the same."""
        workflow = definition(
            [numbers("x")],
            [
                times("m", "$inputs.x", 10),
                inner("k", TENFOLD, x="$steps.m.output"),
                gate("g", "$steps.m.output", 10, "$steps.k"),
            ],
        )
        outer = definition(
            [numbers("x")],
            [inner(name, workflow, x="$inputs.x"), times("last", "$inputs.x", 2)],
            y="$steps.last.output",
        )

        plan = session.compile(outer)

        assert run_locally(outer, {"x": [1, 2]}, session=session) == [{"y": 2}, {"y": 4}]
        assert len(plan.steps) == 4

    def test_names_that_are_taken(self, session: Session) -> None:
        """An inner step whose name is taken gets another one; nobody is mixed up."""
        workflow = definition(
            [numbers("v")],
            [inner("n", TENFOLD, x="$inputs.v"), times("n__m", "$inputs.v", 7)],
            y="$steps.n.y",
            own="$steps.n__m.output",
        )
        names = {step.name for step in session.compile(workflow).steps}
        assert names == {"n__m", "n__m__2"}
        assert run_locally(workflow, {"v": [1]}, session=session) == [{"y": 10, "own": 7}]

    @pytest.mark.parametrize(
        ("default", "bound", "value"),
        [
            ("d", {}, "d"),
            ("$5", {}, "$5"),
            ("$inputs.v", {}, "$inputs.v"),
            ("d", {"s": "literal"}, "literal"),
            ("d", {"s": "$$5"}, "$5"),
            ("d", {"s": "$inputs.v"}, 4),
            (None, {"s": 0}, 0),
            (False, {}, False),
        ],
    )
    def test_bound_and_default_values(
        self, session: Session, default: Any, bound: dict[str, Any], value: Any
    ) -> None:
        """A plain binding reaches the step as in a field of it, a default as it stands."""
        child = definition(
            [parameter("s", default)], [text("t", "<{s}>", s="$inputs.s")],
            t="$steps.t.output",
        )  # fmt: skip
        workflow = definition([parameter("v", 4)], [inner("n", child, **bound)], t="$steps.n.t")
        [row] = run_locally(workflow, {}, session=session)
        assert row == {"t": f"<{value}>"}

    def test_values_that_hold_references(self, session: Session) -> None:
        """A binding may be a list with references in it, where the inner step takes one."""
        child = definition(
            [parameter("images")],
            [
                {
                    "type": "roboflow_core/grid_visualization@v1",
                    "name": "g",
                    "images": "$inputs.images",
                    "width": 40,
                    "height": 20,
                }
            ],
            g="$steps.g.image",
        )
        image = {"type": "WorkflowImage", "name": "image"}
        grey = {"type": "roboflow_core/convert_grayscale@v1", "name": "c"}
        workflow = definition(
            [image],
            [
                grey | {"image": "$inputs.image"},
                inner("n", child, images=["$inputs.image", "$steps.c.image"]),
            ],
            g="$steps.n.g",
        )
        flat = definition(
            [image],
            [
                grey | {"image": "$inputs.image"},
                child["steps"][0] | {"images": ["$inputs.image", "$steps.c.image"]},
            ],
            g="$steps.g.image",
        )
        pixels = np.random.default_rng(3).integers(0, 256, (20, 20, 3), dtype=np.uint8)
        results = [run_locally(one, {"image": pixels}, session=session) for one in (workflow, flat)]
        drawn, expected = (rows[0]["g"].numpy_image for rows in results)
        np.testing.assert_array_equal(drawn, expected)
        assert len(np.unique(drawn.reshape(-1, 3), axis=0)) > 100

    def test_texts_that_look_like_references(self, session: Session) -> None:
        """Only fields that take references are rewritten: descriptions, templates and operations
        are not.
        """
        child = definition(
            [parameter("s", 1)],
            [text("t", "see $inputs.s and $steps.t: {s}", s="$inputs.s")],
            t="$steps.t.output",
        )
        workflow = definition([], [inner("n", child)], t="$steps.n.t")
        [row] = run_locally(workflow, {}, session=session)
        assert row == {"t": "see $inputs.s and $steps.t: 1"}

    def test_inputs_that_are_passed_through(self, session: Session) -> None:
        """An output may be an input of the inner workflow: its value is the one that was bound."""
        through = definition([numbers("x")], [], y="$inputs.x")
        workflow = definition(
            [numbers("v")],
            [
                inner("a", through, x="$inputs.v"),
                inner("b", through, x="$steps.a.y"),
                times("t", "$steps.b.y", 3),
            ],
            same="$steps.b.y",
            more="$steps.t.output",
        )
        assert run_locally(workflow, {"v": [2]}, session=session) == [{"same": 2, "more": 6}]

    def test_batches_and_deeper_levels(self, session: Session) -> None:
        """Elements that an inner step makes of an image can be gathered outside of it."""
        child = definition(
            [{"type": "WorkflowImage", "name": "im"}],
            [
                {
                    "type": "roboflow_core/image_slicer@v1",
                    "name": "slices",
                    "image": "$inputs.im",
                    "slice_width": 32,
                    "slice_height": 32,
                    "overlap_ratio_width": 0,
                    "overlap_ratio_height": 0,
                }
            ],
            slices="$steps.slices.slices",
        )
        workflow = definition(
            [{"type": "WorkflowImage", "name": "image"}],
            [
                inner("n", child, im="$inputs.image"),
                {
                    "type": "roboflow_core/dimension_collapse@v1",
                    "name": "all",
                    "data": "$steps.n.slices",
                },
            ],
            all="$steps.all.output",
        )
        images = [np.zeros((64, 64, 3), np.uint8), np.zeros((32, 64, 3), np.uint8)]
        rows = run_locally(workflow, {"image": images}, session=session)
        assert [len(row["all"]) for row in rows] == [4, 2]

    def test_other_outputs_are_ignored(self, session: Session) -> None:
        """What is no data for the workflow around it has no meaning there."""
        child = copy.deepcopy(TENFOLD)
        child["outputs"].append({"type": "CoordinatesSystem", "name": "c"})
        workflow = definition([numbers("v")], [inner("n", child, x="$inputs.v")], y="$steps.n.y")
        assert run_locally(workflow, {"v": [1]}, session=session) == [{"y": 10}]


class TestControlFlow:
    @pytest.mark.parametrize("kind", ["continue_if", "switch_case", "default"])
    def test_a_target_is_the_whole_workflow(self, session: Session, kind: str) -> None:
        """The gate holds for every inner step, not only for the first; those that take empty values
        see them, as everywhere.
        """
        child = definition(
            [numbers("x")],
            [
                times("m", "$inputs.x", 10),
                times("k", "$inputs.x", 20),
                first_of("f", "$steps.k.output", default=-1),
            ],
            m="$steps.m.output",
            k="$steps.k.output",
            f="$steps.f.output",
        )
        outputs = {name: f"$steps.c.{name}" for name in "mkf"}
        deeper = definition([numbers("x")], [inner("c", child, x="$inputs.x")], **outputs)
        control = {"type": "roboflow_core/switch_case@v1", "name": "g", "value": "$inputs.v"}
        if kind == "continue_if":
            control = gate("g", "$inputs.v", 2, "$steps.n")
        elif kind == "switch_case":
            control |= {"cases": {"3": "$steps.n"}}
        else:
            control |= {"cases": {"1": "$steps.other"}, "default_next_steps": ["$steps.n"]}
        workflow = definition(
            [numbers("v")],
            [control, inner("n", deeper, x="$inputs.v"), times("other", "$inputs.v", 1)],
            **{name: f"$steps.n.{name}" for name in "mkf"},
        )
        rows = run_locally(workflow, {"v": [1, 3]}, session=session)
        assert rows == [{"m": None, "k": None, "f": -1}, {"m": 30, "k": 60, "f": 60}]

    def test_gates_inside_and_outside(self, session: Session) -> None:
        """A step runs where all of its gates let it."""
        child = definition(
            [numbers("x")],
            [gate("g", "$inputs.x", 2, "$steps.m"), times("m", "$inputs.x", 10)],
            y="$steps.m.output",
        )
        workflow = definition(
            [numbers("v"), numbers("w")],
            [gate("out", "$inputs.w", 0, "$steps.n"), inner("n", child, x="$inputs.v")],
            y="$steps.n.y",
        )
        rows = run_locally(workflow, {"v": [1, 3, 1, 3], "w": [0, 0, 1, 1]}, session=session)
        assert [row["y"] for row in rows] == [None, None, None, 30]

    @pytest.mark.parametrize("outer_step", ["a", "t"])
    def test_a_target_outside(self, session: Session, outer_step: str) -> None:
        """A step inside sees no step outside: one fault, not a circle as well."""
        workflow = definition(
            [numbers("x")],
            [times("m", "$inputs.x", 10), gate("g", "$inputs.x", 1, f"$steps.{outer_step}")],
            y="$steps.m.output",
        )
        steps = [inner("a", workflow, x="$inputs.x"), times("t", "$steps.a.y", 2)]

        problems = problems_of(session, definition([numbers("x")], steps, y="$steps.t.output"))

        (where,) = problems
        assert where == "/steps/0/workflow_definition/steps/1/next_steps/0"
        assert problems[where].code == "unknown_step"

    def test_an_output_is_no_target(self, session: Session) -> None:
        """It is refused as it was written, with the name that can be used."""
        steps = [inner("a", TENFOLD, x="$inputs.x"), gate("g", "$inputs.x", 1, "$steps.a.y")]

        problems = problems_of(session, definition([numbers("x")], steps, y="$steps.a.y"))

        [(where, problem)] = problems.items()
        assert where == "/steps/1/next_steps/0"
        assert "'$steps.a.y'" in problem.message
        assert "'$steps.a'" in str(problem.hint)

    def test_a_step_bound_where_data_is_taken(self, session: Session) -> None:
        """The name of an inner workflow is no data: said once."""
        steps = [inner("a", TENFOLD, x="$inputs.x"), inner("b", TENFOLD, x="$steps.a")]
        outer = definition([numbers("x")], steps, y="$steps.b.y")

        with pytest.raises(WorkflowCompilerError) as caught:
            session.compile(outer)

        assert [problem.where for problem in caught.value.errors] == [
            "/steps/1/workflow_definition/steps/0/data"
        ]

    def test_a_step_inside_is_no_target(self, session: Session) -> None:
        """Names that inner steps get are not for references from outside."""
        workflow = definition(
            [numbers("v")],
            [gate("g", "$inputs.v", 2, "$steps.n__m"), inner("n", TENFOLD, x="$inputs.v")],
            y="$steps.n__m.output",
        )
        found = problems_of(session, workflow)
        assert found.keys() == {"/steps/0/next_steps/0", "/outputs/0/selector"}
        assert all(problem.code == "unknown_step" for problem in found.values())

    def test_data_is_wanted(self, session: Session) -> None:
        """Where data is needed, the name of the step alone is refused with the way out."""
        workflow = definition(
            [numbers("v")],
            [inner("n", TENFOLD, x="$inputs.v"), times("t", "$steps.n", 2)],
            t="$steps.t.output",
        )
        [(where, problem)] = problems_of(session, workflow).items()
        assert where == "/steps/1/data"
        assert "$steps.n.<output>" in f"{problem.message} {problem.hint}"


CHILD = "/steps/0/workflow_definition"


class TestProblems:
    def test_all_at_once_at_their_places(self, session: Session) -> None:
        """Faults of every level stand where they were written, under the names written there."""
        child = definition(
            [numbers("x"), parameter("p")],
            [
                times("m", "$inputs.xx", 10),
                times("k", "$steps.mm.output", 10) | {"operations": [{"type": "No"}]},
                {"type": "roboflow_core/image_blurr@v1", "name": "b", "image": "$inputs.x"},
            ],
            y="$steps.gone.output",
        )
        workflow = definition(
            [numbers("v")],
            [
                inner("n", child, x="$inputs.w", xy=1),
                times("t", "$steps.n.yy", 2),
                times("u", "$steps.n.y", 2),
            ],
            t="$steps.t.output",
            z="$steps.n.*",
        )
        found = {where: problem.code for where, problem in problems_of(session, workflow).items()}
        assert found == {
            "/steps/0/parameter_bindings": "unbound_input",
            "/steps/0/parameter_bindings/x": "unknown_input",
            "/steps/0/parameter_bindings/xy": "unknown_binding",
            f"{CHILD}/steps/0/data": "unknown_input",
            f"{CHILD}/steps/1/data": "unknown_step",
            f"{CHILD}/steps/1/operations/0/type": "wrong_value",
            f"{CHILD}/steps/2/type": "unknown_block_type",
            f"{CHILD}/outputs/0/selector": "unknown_step",
            "/steps/1/data": "unknown_output",
            "/outputs/1/selector": "unknown_output",
        }

    def test_near_names_are_offered(self, session: Session) -> None:
        """The hint names what was probably meant, in the words of the inner workflow."""
        child = definition(
            [numbers("count")], [times("m", "$inputs.cuont", 10)], total="$steps.m.output"
        )
        workflow = definition(
            [numbers("v")],
            [inner("n", child, count="$inputs.v", coutn=1), times("t", "$steps.n.totl", 1)],
        )
        found = problems_of(session, workflow)
        assert found[f"{CHILD}/steps/0/data"].hint == "did you mean 'count'?"
        assert found["/steps/0/parameter_bindings/coutn"].hint == "did you mean 'count'?"
        assert found["/steps/1/data"].hint == "did you mean 'total'?"

    def test_kinds_are_checked_through_it(self, session: Session) -> None:
        """A value that a step cannot take is refused at the step that is given it."""
        child = definition(
            [{"type": "WorkflowImage", "name": "im"}],
            [{"type": "roboflow_core/convert_grayscale@v1", "name": "g", "image": "$inputs.im"}],
            g="$steps.g.image",
        )
        workflow = definition([numbers("v")], [inner("n", child, im="$inputs.v")], g="$steps.n.g")
        [(where, problem)] = problems_of(session, workflow).items()
        assert (where, problem.code) == (f"{CHILD}/steps/0/image", "kind_mismatch")
        assert problem.block_id == "n__g"

    @pytest.mark.parametrize(
        ("step", "text"),
        [
            ({"workflow_definition": None}, "must hold the inner workflow, got none"),
            ({"workflow_definition": None, "workflow_id": "w"}, "got only workflow_id"),
            ({"workflow_id": "w"}, "give the workflow one way"),
            ({"execution_mode": "remote_dispatch"}, "must be 'embedded'"),
            ({"execution_mode": "elsewhere"}, "execution_mode"),
            ({"workflow_definition": []}, "workflow_definition"),
            ({"parameter_bindings": []}, "parameter_bindings"),
        ],
    )
    def test_a_faulty_step_is_the_only_fault(
        self, session: Session, step: dict[str, Any], text: str
    ) -> None:
        """What refers to the outputs of a step that cannot be read is not blamed."""
        workflow = definition(
            [numbers("v")],
            [
                inner("n", TENFOLD, x="$inputs.v") | step,
                times("t", "$steps.n.y", 2),
                gate("g", "$inputs.v", 1, "$steps.n"),
            ],
            y="$steps.n.y",
        )
        [problem] = problems_of(session, workflow).values()
        assert text in problem.message
        assert problem.where.startswith("/steps/0")

    def test_shape_of_the_inner_definition(self, session: Session) -> None:
        """Members that are missing or wrong are reported inside of it."""
        child = {"version": "2.0", "inputs": [{"type": "Nothing", "name": "x"}], "steps": 3}
        workflow = definition([numbers("v")], [inner("n", child, x="$inputs.v")], y="$steps.n.y")
        found = {where: problem.code for where, problem in problems_of(session, workflow).items()}
        assert found == {
            f"{CHILD}/version": "unsupported_version",
            f"{CHILD}/inputs/0/type": "unknown_input_type",
            f"{CHILD}/steps": "wrong_type",
            f"{CHILD}/outputs": "missing_field",
            "/outputs/0/selector": "unknown_output",
        }

    def test_names_given_twice(self, session: Session) -> None:
        """Among the steps inside, and among the inner workflows themselves."""
        child = copy.deepcopy(TENFOLD)
        child["steps"].append(times("m", "$inputs.x", 1))
        workflow = definition(
            [numbers("v")],
            [inner("n", child, x="$inputs.v"), inner("n", TENFOLD, x="$inputs.v")],
            y="$steps.n.y",
        )
        found = problems_of(session, workflow)
        assert found.keys() == {f"{CHILD}/steps/1/name", "/steps/1/name"}

    def test_a_way_round_to_itself(self, session: Session) -> None:
        """Inner workflows that pass on each other's outputs and begin nowhere are a cycle."""
        through = definition([numbers("x")], [], y="$inputs.x")
        workflow = definition(
            [],
            [inner("a", through, x="$steps.b.y"), inner("b", through, x="$steps.a.y")],
            y="$steps.a.y",
        )
        assert {problem.code for problem in problems_of(session, workflow).values()} == {"cycle"}

    def test_a_cycle_of_steps(self, session: Session) -> None:
        """The same where steps lie between."""
        workflow = definition(
            [],
            [inner("a", TENFOLD, x="$steps.b.y"), inner("b", TENFOLD, x="$steps.a.y")],
            y="$steps.a.y",
        )
        found = problems_of(session, workflow).values()
        assert "a__m" in " ".join(problem.message for problem in found)

    def test_malformed_binding(self, session: Session) -> None:
        """A value that only begins like a reference is refused where it is bound."""
        workflow = definition(
            [numbers("v")], [inner("n", TENFOLD, x="$input.v")], y="$steps.n.y"
        )  # fmt: skip
        [(where, problem)] = problems_of(session, workflow).items()
        assert where == "/steps/0/parameter_bindings/x"
        assert problem.code == "malformed_reference"
        assert problem.hint == "did you mean '$inputs.v'?"

    def test_lists_do_not_grow_in_a_chain(self, session: Session) -> None:
        """A list of lists through 30 workflows would have a thousand million entries."""
        through = definition([parameter("x", 5)], [], y="$inputs.x")
        steps = [inner("n0", through, x=["$inputs.v", "$inputs.v"])]
        steps += [
            inner(f"n{i}", through, x=[f"$steps.n{i - 1}.y", f"$steps.n{i - 1}.y"])
            for i in range(1, 30)
        ]
        workflow = definition([parameter("v", 5)], steps)
        found = problems_of(session, workflow)
        assert {problem.code for problem in found.values()} == {"nested_binding"}
        assert "/steps/1/parameter_bindings/x/0" in found

    def test_an_output_that_is_no_data(self, session: Session) -> None:
        """An output of the whole must be computed; a constant is none."""
        through = definition([parameter("x", 5)], [], y="$inputs.x")
        workflow = definition([], [inner("n", through)], y="$steps.n.y")
        [(where, problem)] = problems_of(session, workflow).items()
        assert (where, problem.code) == ("/outputs/0/selector", "constant_output")
        assert "a number 5" in problem.message

    def test_too_deep(self, session: Session) -> None:
        """Five levels are one too many; the message says so once."""
        workflow = TENFOLD
        for level in "abcde":
            workflow = definition(
                [numbers("x")], [inner(level, workflow, x="$inputs.x")], y=f"$steps.{level}.y"
            )
        [problem] = problems_of(session, workflow).values()
        assert problem.code == "too_many_inner_workflows"
        assert "4 deep" in problem.message

    def test_too_many(self, session: Session) -> None:
        """32 are the most, counted over all levels."""

        def whole(count: int) -> dict[str, Any]:
            steps = [inner(f"n{i}", TENFOLD, x="$inputs.v") for i in range(count)]
            return definition([numbers("v")], steps, y="$steps.n0.y")

        assert len(session.compile(whole(32)).steps) == 32
        [problem] = problems_of(session, whole(33)).values()
        assert (problem.code, problem.where) == ("too_many_inner_workflows", "/steps/32")
