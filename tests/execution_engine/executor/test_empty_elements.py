"""Elements that are None: left out, handed on, or gathered away."""

from __future__ import annotations

from typing import Any

from tests.execution_engine.toy_blocks import (
    LIST,
    OBJECT,
    batch_input,
    block,
    parameter,
    run,
    step,
    workflow,
)


class TestEmptyElements:
    def test_left_out_before_the_call(self) -> None:
        """An element that is None in any field is not given to the block; its outputs are None."""
        seen: list[Any] = []
        watched = block("t/w@v1", lambda a, b: (seen.append((a, b)), {"out": a + b})[1])
        rows = run(
            workflow(
                [batch_input("x"), batch_input("z")],
                [step("t/w@v1", "w", a="$inputs.x", b="$inputs.z")],
                {"o": "$steps.w.out"},
            ),
            {"x": [1, None, 3], "z": [10, 20, None]},
            watched,
        )
        assert seen == [(1, 10)]
        assert rows == [{"o": 11}, {"o": None}, {"o": None}]

    def test_left_out_of_a_batch_call(self) -> None:
        """A batch call gets the elements that are there, with their own indices."""
        rows = run(
            workflow(
                [batch_input("x")], [step("index", "i", x="$inputs.x")], {"o": "$steps.i.out"}
            ),
            {"x": [None, 7, None, 8]},
        )
        assert rows == [{"o": None}, {"o": (1,)}, {"o": None}, {"o": (3,)}]

    def test_block_is_not_called_without_elements(self) -> None:
        """When nothing is left, neither an element-wise nor a batch block is called."""
        calls: list[str] = []
        each = block("t/each@v1", lambda x: (calls.append("each"), {"out": 1})[1])
        every = block(
            "t/all@v1", lambda x: (calls.append("all"), [{"out": 1}] * len(x))[1], batches=("x",)
        )
        rows = run(
            workflow(
                [batch_input("x")],
                [step("t/each@v1", "e", x="$inputs.x"), step("t/all@v1", "a", x="$inputs.x")],
                {"e": "$steps.e.out", "a": "$steps.a.out"},
            ),
            {"x": [None, None]},
            each,
            every,
        )
        assert calls == []
        assert rows == [{"e": None, "a": None}] * 2

    def test_reach_blocks_that_accept_them(self) -> None:
        """A block that accepts empty values gets None."""
        rows = run(
            workflow(
                [batch_input("x"), batch_input("z")],
                [step("first", "f", data=["$inputs.x", "$inputs.z"], default="-")],
                {"o": "$steps.f.out"},
            ),
            {"x": [1, None, None], "z": [2, 5, None]},
        )
        assert rows == [{"o": 1}, {"o": 5}, {"o": "-"}]

    def test_inside_a_list(self) -> None:
        """One empty reference in a list empties the element."""
        total = block("t/sum@v1", lambda data: {"out": sum(data)}, fields={"data": LIST})
        rows = run(
            workflow(
                [batch_input("x"), batch_input("z")],
                [step("t/sum@v1", "s", data=["$inputs.x", "$inputs.z", 100])],
                {"o": "$steps.s.out"},
            ),
            {"x": [1, None], "z": [2, 5]},
            total,
        )
        assert rows == [{"o": 103}, {"o": None}]

    def test_single_step_output_empties_the_whole_step(self) -> None:
        """A None made by a step that ran once empties every element."""
        rows = run(
            workflow(
                [batch_input("x")],
                [
                    step("odd_only", "n", x=2),
                    step("add", "a", a="$inputs.x", b="$steps.n.out"),
                    step("add", "b", a="$steps.n.out", b=1),
                ],
                {"a": "$steps.a.out", "b": "$steps.b.out"},
            ),
            {"x": [1, 2]},
        )
        assert rows == [{"a": None, "b": None}] * 2

    def test_null_parameters_and_literals_are_no_empty_elements(self) -> None:
        """A parameter that is null and a null literal reach the block."""
        rows = run(
            workflow(
                [batch_input("x"), parameter("p")],
                [
                    step("t/two@v1", "a", x="$inputs.x", y="$inputs.p"),
                    step("t/two@v1", "b", x="$inputs.x", y=None),
                    step("t/two@v1", "c", x="$inputs.p", y=1),
                ],
                {"a": "$steps.a.out", "b": "$steps.b.out", "c": "$steps.c.out"},
            ),
            {"x": [1]},
            block("t/two@v1", lambda x, y: {"out": (x, y)}),
        )
        assert rows == [{"a": (1, None), "b": (1, None), "c": (None, 1)}]

    def test_null_parameters_inside_containers(self) -> None:
        """Null parameters in a list or an object are no empty elements either, with or without a
        batch beside them.
        """
        held = block(
            "t/held@v1",
            lambda items, named: {"out": (items, named)},
            fields={"items": LIST, "named": OBJECT},
        )
        rows = run(
            workflow(
                [batch_input("x"), parameter("p")],
                [
                    step("t/held@v1", "a", items=["$inputs.p"], named={"k": "$inputs.p"}),
                    step("t/held@v1", "b", items=["$inputs.p", "$inputs.x"], named={}),
                ],
                {"a": "$steps.a.out", "b": "$steps.b.out"},
            ),
            {"x": [1]},
            held,
        )
        assert rows == [{"a": ([None], {"k": None}), "b": ([None, 1], {})}]

    def test_gathering_drops_them(self) -> None:
        """Empty children are not gathered; a parent with none left is empty."""
        rows = run(
            workflow(
                [batch_input("y", 2)],
                [
                    step("odd_only", "o", x="$inputs.y"),
                    step("gather", "g", data="$steps.o.out"),
                    step("gather", "h", data="$steps.g.out"),
                ],
                {"g": "$steps.g.out", "h": "$steps.h.out"},
            ),
            {"y": [[1, 2, 3], [2, 4], []]},
        )
        assert [row["g"] for row in rows] == [[1, 3], None, None]
        assert [row["h"] for row in rows] == [[[1, 3]]] * 3

    def test_gathering_nothing_at_depth_1(self) -> None:
        """A gathered value of no elements is None."""
        rows = run(
            workflow(
                [batch_input("x")], [step("gather", "g", data="$inputs.x")], {"g": "$steps.g.out"}
            ),
            {"x": [None]},
        )
        assert rows == [{"g": None}]

    def test_values_with_their_own_equality(self) -> None:
        """Looking for empty elements never compares values (arrays answer `==` with arrays)."""

        class Odd:
            def __eq__(self, other: object) -> bool:
                raise AssertionError("compared")

            __hash__ = None  # type: ignore[assignment]

        rows = run(
            workflow([batch_input("x")], [step("pass", "p", x="$inputs.x")], {"o": "$steps.p.out"}),
            {"x": [Odd(), None]},
        )
        assert [type(row["o"]) for row in rows] == [Odd, type(None)]
