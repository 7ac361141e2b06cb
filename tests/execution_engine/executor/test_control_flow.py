"""Steps that decide what runs: for the whole run, an element at a time, nested, several
together.
"""

from __future__ import annotations

from typing import Any

import pytest

from execution_engine.block_api import FlowControl
from execution_engine.errors import (
    ControlFlowDefinitionError,
    ExecutionEngineRuntimeError,
    InvalidBlockBehaviourError,
)
from tests.execution_engine.toy_blocks import (
    STEPS,
    batch_input,
    block,
    parameter,
    run,
    step,
    workflow,
)

A = ["$steps.a"]


class TestGateOfTheRun:
    @pytest.mark.parametrize(("p", "expected"), [(True, 1), (False, None)])
    def test_single_value(self, p: bool, expected: Any) -> None:
        """A closed gate leaves the outputs of its target None."""
        rows = run(
            workflow(
                [parameter("p")],
                [step("gate", "g", test="$inputs.p", next_steps=A), step("constant", "a", value=1)],
                {"a": "$steps.a.out"},
            ),
            {"p": p},
        )
        assert rows == [{"a": expected}]

    def test_position_in_the_list_of_steps_does_not_matter(self) -> None:
        """A gate may be written after the step it gates."""
        rows = run(
            workflow(
                [parameter("p")],
                [step("constant", "a", value=1), step("gate", "g", test="$inputs.p", next_steps=A)],
                {"a": "$steps.a.out"},
            ),
            {"p": 0},
        )
        assert rows == [{"a": None}]

    def test_closes_every_element(self) -> None:
        """Closed for the run means closed for every element; all outputs at once are None by
        name.
        """
        rows = run(
            workflow(
                [parameter("p"), batch_input("x")],
                [
                    step("gate", "g", test="$inputs.p", next_steps=["$steps.a", "$steps.s"]),
                    step("add", "a", a="$inputs.x"),
                    step("split", "s", n="$inputs.x"),
                    step("gather", "c", data="$steps.s.out"),
                ],
                {
                    "a": "$steps.a.out",
                    "all": "$steps.a.*",
                    "s": "$steps.s.out",
                    "every": "$steps.s.*",
                    "c": "$steps.c.out",
                },
            ),
            {"p": 0, "x": [1, 2]},
        )
        closed = {"a": None, "all": {"out": None}, "s": [], "every": [], "c": None}
        assert rows == [closed, closed]

    def test_closes_a_generated_batch(self) -> None:
        """A gated step that would start a batch of its own gives an empty list."""
        rows = run(
            workflow(
                [parameter("p")],
                [
                    step("gate", "g", test="$inputs.p", next_steps=A),
                    step("generate", "a"),
                    step("add", "b", a="$steps.a.out"),
                ],
                {"a": "$steps.a.out", "b": "$steps.b.out"},
            ),
            {"p": 0},
        )
        assert rows == [{"a": [], "b": []}]

    def test_is_not_transitive(self) -> None:
        """What follows a skipped step is skipped for want of data, unless it takes empty values."""
        rows = run(
            workflow(
                [parameter("p"), parameter("q", 5)],
                [
                    step("gate", "g", test="$inputs.p", next_steps=A),
                    step("constant", "a", value=1),
                    step("add", "b", a="$steps.a.out"),
                    step("first", "f", data=["$steps.a.out", "$steps.b.out", "$inputs.q"]),
                    step("show", "s", x="$steps.f.out"),
                ],
                {"b": "$steps.b.out", "f": "$steps.f.out", "s": "$steps.s.out"},
            ),
            {"p": 0},
        )
        assert rows == [{"b": None, "f": 5, "s": "5"}]

    @pytest.mark.parametrize(
        ("p", "q", "runs"), [(1, 1, True), (1, 0, False), (0, 1, False), (0, 0, False)]
    )
    def test_two_gates_must_both_be_open(self, p: int, q: int, runs: bool) -> None:
        """A step gated twice runs when both gates let it."""
        rows = run(
            workflow(
                [parameter("p"), parameter("q")],
                [
                    step("gate", "g", test="$inputs.p", next_steps=A),
                    step("gate", "h", test="$inputs.q", next_steps=A),
                    step("constant", "a", value=1),
                ],
                {"a": "$steps.a.out"},
            ),
            {"p": p, "q": q},
        )
        assert rows == [{"a": 1 if runs else None}]

    def test_branch_of_a_gate_that_never_ran_is_closed(self) -> None:
        """A gate behind a closed gate opens nothing."""
        rows = run(
            workflow(
                [parameter("p"), batch_input("x")],
                [
                    step("gate", "g", test="$inputs.p", next_steps=["$steps.h", "$steps.k"]),
                    step("gate", "h", test=True, next_steps=A),
                    step("gate", "k", test="$inputs.x", next_steps=["$steps.b"]),
                    step("constant", "a", value=1),
                    step("add", "b", a="$inputs.x"),
                ],
                {"a": "$steps.a.out", "b": "$steps.b.out"},
            ),
            {"p": 0, "x": [1, 2]},
        )
        assert rows == [{"a": None, "b": None}] * 2

    def test_target_that_takes_empty_values_runs_with_none(self) -> None:
        """A gated step of single values that takes empty ones is called with None in their
        place.
        """
        seen: list[Any] = []
        tolerant = block(
            "t/tolerant@v1",
            lambda x, y: (seen.append((x, y)), {"out": "ran"})[1],
            accepts_empty=True,
        )
        rows = run(
            workflow(
                [parameter("p"), parameter("q", 5)],
                [
                    step("gate", "g", test="$inputs.p", next_steps=A),
                    step("t/tolerant@v1", "a", x="$inputs.q", y=7),
                ],
                {"a": "$steps.a.out"},
            ),
            {"p": 0},
            tolerant,
        )
        assert (seen, rows) == ([(None, 7)], [{"a": "ran"}])

    def test_target_that_reads_nothing_does_not_run(self) -> None:
        """A gated step of literals has nothing that could be empty, so it is skipped even if it
        takes empty values.
        """
        calls: list[Any] = []
        tolerant = block(
            "t/tolerant@v1",
            lambda y: (calls.append(y), [{"out": 1}])[1],
            accepts_empty=True,
            batches=("y",),
        )
        rows = run(
            workflow(
                [parameter("p")],
                [
                    step("gate", "g", test="$inputs.p", next_steps=A),
                    step("t/tolerant@v1", "a", y=7),
                ],
                {"a": "$steps.a.out"},
            ),
            {"p": 0},
            tolerant,
        )
        assert (calls, rows) == ([], [{"a": None}])

    @pytest.mark.parametrize("gate_value", ["$inputs.p", "$inputs.zeros"])
    def test_is_like_a_gate_closed_for_every_element(self, gate_value: str) -> None:
        """A gate closed for the run and one closed for each element leave the same to a step that
        takes empty values.
        """
        seen: list[Any] = []
        tolerant = block(
            "t/tolerant@v1",
            lambda x, q: (seen.append((x, q)), {"out": 1})[1],
            accepts_empty=True,
        )
        run(
            workflow(
                [parameter("p"), parameter("q", 5), batch_input("x"), batch_input("zeros")],
                [
                    step("gate", "g", test=gate_value, next_steps=A),
                    step("t/tolerant@v1", "a", x="$inputs.x", q="$inputs.q"),
                ],
                {"a": "$steps.a.out"},
            ),
            {"p": 0, "x": [1, 2], "zeros": [0, 0]},
            tolerant,
        )
        assert seen == [(None, 5), (None, 5)]


class TestGateOfEachElement:
    def test_elements_go_their_own_way(self) -> None:
        """An element that is not let through is empty in the gated step only."""
        rows = run(
            workflow(
                [batch_input("x")],
                [
                    step("gate", "g", test="$inputs.x", next_steps=A),
                    step("add", "a", a="$inputs.x", b=10),
                    step("add", "b", a="$inputs.x", b=20),
                    step("first", "f", data=["$steps.a.out"], default="-"),
                ],
                {"a": "$steps.a.out", "b": "$steps.b.out", "f": "$steps.f.out"},
            ),
            {"x": [0, 3]},
        )
        assert rows == [{"a": None, "b": 20, "f": "-"}, {"a": 13, "b": 23, "f": 13}]

    def test_gates_of_elements_intersect(self) -> None:
        """Two gates let through what both let through."""
        rows = run(
            workflow(
                [batch_input("x"), batch_input("z"), parameter("p", True)],
                [
                    step("gate", "g", test="$inputs.x", next_steps=A),
                    step("gate", "h", test="$inputs.z", next_steps=A),
                    step("gate", "k", test="$inputs.p", next_steps=A),
                    step("show", "a", x="$inputs.x"),
                ],
                {"a": "$steps.a.out"},
            ),
            {"x": [0, 1, 1, 0], "z": [0, 1, 0, 1]},
        )
        assert [row["a"] for row in rows] == [None, "1", None, None]

    def test_gate_above_a_nested_step(self) -> None:
        """What hangs under a skipped element is an empty list; gathering it gives None."""
        rows = run(
            workflow(
                [batch_input("x")],
                [
                    step("gate", "g", test="$inputs.x", next_steps=A),
                    step("split", "a", n=2),
                    step("split", "s", n="$inputs.x"),
                    step("gather", "c", data="$steps.s.out"),
                ],
                {"a": "$steps.a.out", "s": "$steps.s.out"},
            ),
            {"x": [0, 1]},
        )
        assert rows == [{"a": [], "s": []}, {"a": [20, 21], "s": [10]}]

    def test_gate_on_parent_for_step_on_children(self) -> None:
        """A gate that decides for parents closes all their children."""
        rows = run(
            workflow(
                [batch_input("x")],
                [
                    step("split", "s", n="$inputs.x"),
                    step("t/even@v1", "e", x="$inputs.x"),
                    step("gate", "g", test="$steps.e.out", next_steps=A),
                    step("add", "a", a="$steps.s.out"),
                ],
                {"a": "$steps.a.out"},
            ),
            {"x": [1, 2]},
            block("t/even@v1", lambda x: {"out": x % 2 == 0}),
        )
        assert rows == [{"a": [None]}, {"a": [21, 22]}]

    def test_nested_gates_keep_positions(self) -> None:
        """A child that is not let through leaves None at its place; gathering drops it."""
        rows = run(
            workflow(
                [batch_input("x")],
                [
                    step("split", "s", n="$inputs.x"),
                    step("t/even@v1", "e", x="$steps.s.out"),
                    step("gate", "g", test="$steps.e.out", next_steps=A),
                    step("add", "a", a="$steps.s.out", b=0),
                    step("gather", "c", data="$steps.a.out"),
                ],
                {"a": "$steps.a.out", "all": "$steps.a.*", "c": "$steps.c.out"},
            ),
            {"x": [2, 0]},
            block("t/even@v1", lambda x: {"out": x % 2 == 0}),
        )
        assert rows == [
            {"a": [20, None], "all": [{"out": 20}, {"out": None}], "c": [20]},
            {"a": [], "all": [], "c": None},
        ]

    def test_gates_at_two_depths(self) -> None:
        """A child runs when it and its parent are let through."""
        rows = run(
            workflow(
                [batch_input("x")],
                [
                    step("split", "s", n="$inputs.x"),
                    step("t/even@v1", "e", x="$steps.s.out"),
                    step("t/even@v1", "pe", x="$inputs.x"),
                    step("gate", "g", test="$steps.e.out", next_steps=A),
                    step("gate", "h", test="$steps.pe.out", next_steps=A),
                    step("add", "a", a="$steps.s.out", b=0),
                ],
                {"a": "$steps.a.out"},
            ),
            {"x": [1, 2, 3]},
            block("t/even@v1", lambda x: {"out": x % 2 == 0}),
        )
        assert [row["a"] for row in rows] == [[None], [20, None], [None, None, None]]

    def test_gate_on_children_of_a_gathering_step(self) -> None:
        """Children that are not let through are not gathered."""
        rows = run(
            workflow(
                [batch_input("x")],
                [
                    step("split", "s", n="$inputs.x"),
                    step("t/even@v1", "e", x="$steps.s.out"),
                    step("gate", "g", test="$steps.e.out", next_steps=A),
                    step("gather", "a", data="$steps.s.out"),
                ],
                {"a": "$steps.a.out"},
            ),
            {"x": [1, 3]},
            block("t/even@v1", lambda x: {"out": x % 2 == 0}),
        )
        assert [row["a"] for row in rows] == [[10], [30, 32]]

    def test_gathering_to_one_value_under_a_gate(self) -> None:
        """A gate of the elements that a step gathers to one value leaves elements out, not the
        step.
        """
        rows = run(
            workflow(
                [batch_input("x")],
                [
                    step("gate", "g", test="$inputs.x", next_steps=A),
                    step("gather", "a", data="$inputs.x"),
                ],
                {"a": "$steps.a.out"},
            ),
            {"x": [0, 3, 0, 4]},
        )
        assert rows == [{"a": [3, 4]}]

    def test_batch_gate(self) -> None:
        """A gate that works on batches gives one decision an element, or one for all."""
        each = block(
            "t/each@v1",
            lambda test, next_steps: [FlowControl(next_steps if item else None) for item in test],
            fields={"next_steps": STEPS},
            outputs=(),
            batches=("test",),
        )
        everyone = block(
            "t/all@v1",
            lambda test, next_steps: FlowControl(next_steps),
            fields={"next_steps": STEPS},
            outputs=(),
            batches=("test",),
        )
        rows = run(
            workflow(
                [batch_input("x"), batch_input("z")],
                [
                    step("t/each@v1", "g", test="$inputs.x", next_steps=A),
                    step("t/all@v1", "h", test="$inputs.z", next_steps=["$steps.b"]),
                    step("show", "a", x="$inputs.x"),
                    step("show", "b", x="$inputs.x"),
                    step("t/each@v1", "k", test=1, next_steps=["$steps.c"]),
                    step("constant", "c", value=9),
                ],
                {"a": "$steps.a.out", "b": "$steps.b.out", "c": "$steps.c.out"},
            ),
            {"x": [0, 1], "z": [1, None]},
            each,
            everyone,
        )
        # The second element of the second gate is empty, so nothing was decided for it.
        assert rows == [{"a": None, "b": "0", "c": 9}, {"a": "1", "b": None, "c": 9}]


class TestAdoptedControl:
    """A step of single values under a gate of elements runs once for each element let through."""

    def _rows(self, target: dict[str, Any], *blocks: Any) -> list[Any]:
        rows = run(
            workflow(
                [batch_input("x"), parameter("p", 3)],
                [step("gate", "g", test="$inputs.x", next_steps=A), target],
                {"a": "$steps.a.out"},
            ),
            {"x": [1, 0, 1]},
            *blocks,
        )
        return [row["a"] for row in rows]

    def test_element_wise(self) -> None:
        """The step has one result an element."""
        calls: list[Any] = []
        counted = block("t/c@v1", lambda x: (calls.append(x), {"out": len(calls)})[1])
        assert self._rows(step("t/c@v1", "a", x="$inputs.p"), counted) == [1, None, 2]

    def test_batch_mode(self) -> None:
        """A batch block gets its single values as batches of the elements let through."""
        assert self._rows(step("index", "a", x="$inputs.p")) == [(0,), None, (2,)]

    def test_accepting_empty_values(self) -> None:
        """Also a block that takes empty values runs only for the elements let through."""
        calls: list[Any] = []
        tolerant = block(
            "t/c@v1",
            lambda x: (calls.append(x), [{"out": 1} for _ in x])[1],
            accepts_empty=True,
            batches=("x",),
        )
        assert self._rows(step("t/c@v1", "a", x=4), tolerant) == [1, None, 1]
        assert [list(batch) for batch in calls] == [[4, 4]]

    def test_splitting(self) -> None:
        """Children hang under the elements let through."""
        assert self._rows(step("split", "a", n="$inputs.p")) == [[30, 31, 32], [], [30, 31, 32]]

    def test_deepest_gate_decides(self) -> None:
        """Under gates of two depths the step runs for the elements of the deeper one."""
        rows = run(
            workflow(
                [batch_input("x"), parameter("p", 3)],
                [
                    step("split", "s", n="$inputs.x"),
                    step("gate", "g", test="$inputs.x", next_steps=A),
                    step("gate", "h", test=True, next_steps=A),
                    step("t/even@v1", "e", x="$steps.s.out"),
                    step("gate", "k", test="$steps.e.out", next_steps=A),
                    step("show", "a", x="$inputs.p"),
                ],
                {"a": "$steps.a.out"},
            ),
            {"x": [2, 0]},
            block("t/even@v1", lambda x: {"out": x % 2 == 0}),
        )
        assert rows == [{"a": ["3", None]}, {"a": []}]

    def test_unrelated_gates_are_refused(self) -> None:
        """Gates that decide for different batches cannot both decide for one step."""
        with pytest.raises(ControlFlowDefinitionError):
            run(
                workflow(
                    [batch_input("x")],
                    [
                        step("split", "s", n="$inputs.x"),
                        step("split", "t", n="$inputs.x"),
                        step("gate", "g", test="$steps.s.out", next_steps=A),
                        step("gate", "h", test="$steps.t.out", next_steps=A),
                        step("constant", "a", value=1),
                    ],
                )
            )

    def test_gate_below_the_data_is_refused(self) -> None:
        """A gate that decides for children cannot decide for a step on their parents."""
        with pytest.raises(ControlFlowDefinitionError):
            run(
                workflow(
                    [batch_input("x")],
                    [
                        step("split", "s", n="$inputs.x"),
                        step("gate", "g", test="$steps.s.out", next_steps=A),
                        step("add", "a", a="$inputs.x"),
                    ],
                )
            )


class TestSwitch:
    @pytest.mark.parametrize(
        ("value", "expected"),
        [
            (1, {"a": 1, "b": None, "c": None}),
            ("x", {"a": None, "b": 2, "c": None}),
            (9, {"a": None, "b": None, "c": 3}),
        ],
    )
    def test_one_branch_a_key(self, value: Any, expected: dict[str, Any]) -> None:
        """Targets in an object are branches of their own; a list beside them is the default."""
        rows = run(
            workflow(
                [parameter("v")],
                [
                    step(
                        "switch",
                        "w",
                        value="$inputs.v",
                        cases={"1": "$steps.a", "x": "$steps.b"},
                        default=["$steps.c"],
                    ),
                    *(step("constant", name, value=i) for i, name in enumerate("abc", 1)),
                ],
                {name: f"$steps.{name}.out" for name in "abc"},
            ),
            {"v": value},
        )
        assert rows == [expected]

    def test_of_each_element(self) -> None:
        """Every element takes its own branch, and the branches meet again."""
        rows = run(
            workflow(
                [batch_input("v")],
                [
                    step(
                        "switch", "w", value="$inputs.v", cases={"1": "$steps.a", "2": "$steps.b"}
                    ),
                    step("add", "a", a="$inputs.v", b=100),
                    step("add", "b", a="$inputs.v", b=200),
                    step("first", "f", data=["$steps.a.out", "$steps.b.out"], default=0),
                ],
                {"f": "$steps.f.out"},
            ),
            {"v": [1, 2, 3]},
        )
        assert [row["f"] for row in rows] == [101, 202, 0]


class TestFaultyGates:
    def _run(self, result: Any, **hooks: Any) -> None:
        faulty = block(
            "t/faulty@v1",
            lambda test, next_steps: result,
            fields={"next_steps": STEPS},
            outputs=(),
            **hooks,
        )
        run(
            workflow(
                [batch_input("x")],
                [
                    step("t/faulty@v1", "g", test="$inputs.x", next_steps=A),
                    step("show", "a", x="$inputs.x"),
                ],
            ),
            {"x": [1]},
            faulty,
        )

    def test_wrong_type(self) -> None:
        """What is no FlowControl is refused."""
        with pytest.raises(InvalidBlockBehaviourError) as caught:
            self._run({})
        assert str(caught.value) == (
            "Step 'g' (t/faulty@v1) decides what runs and must return FlowControl, got dict."
        )

    def test_none(self) -> None:
        """None is no decision: FlowControl(None) closes every branch."""
        with pytest.raises(InvalidBlockBehaviourError, match="got NoneType"):
            self._run(None)
        self._run(FlowControl(None))

    def test_undeclared_target(self) -> None:
        """Only targets written in the step can be selected."""
        with pytest.raises(ExecutionEngineRuntimeError) as caught:
            self._run(FlowControl(["$steps.a", "$steps.z", "$steps.q"]))
        assert str(caught.value) == (
            "Step 'g' (t/faulty@v1) selected $steps.q, $steps.z, which is not among its declared "
            "targets."
        )

    def test_one_target_as_text(self) -> None:
        """A single target may be given as text; the old `mode` is accepted."""
        self._run(FlowControl("$steps.a", mode="select_step"))
