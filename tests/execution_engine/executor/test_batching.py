"""How values reach blocks: depth, lineage, broadcasting, grouping, casting of single values, empty
elements.
"""

from __future__ import annotations

from typing import Any

import pytest

from execution_engine.errors import StepInputDimensionalityError, StepInputLineageError
from tests.execution_engine.toy_blocks import (
    ANY,
    LIST,
    OBJECT,
    batch_input,
    block,
    parameter,
    run,
    shown_batches,
    step,
    workflow,
)


class TestElementWise:
    def test_one_call_an_element_in_order(self) -> None:
        """A block without batch fields is called once an element, in order."""
        seen = []
        watched = block("t/watch@v1", lambda x: (seen.append(x), {"out": x})[1])
        rows = run(
            workflow(
                [batch_input("x")], [step("t/watch@v1", "w", x="$inputs.x")], {"o": "$steps.w.out"}
            ),
            {"x": [3, 1, 2]},
            watched,
        )
        assert seen == [3, 1, 2]
        assert rows == [{"o": 3}, {"o": 1}, {"o": 2}]

    def test_single_values_are_given_to_every_call(self) -> None:
        """A parameter, a literal and an output of a step that ran once reach every element."""
        rows = run(
            workflow(
                [batch_input("x"), parameter("p", 10)],
                [
                    step("constant", "c", value=100),
                    step("add", "a", a="$inputs.x", b="$inputs.p"),
                    step("add", "b", a="$steps.a.out", b="$steps.c.out"),
                    step("add", "c2", a="$steps.b.out", b=1000),
                ],
                {"o": "$steps.c2.out"},
            ),
            {"x": [1, 2]},
        )
        assert rows == [{"o": 1111}, {"o": 1112}]

    def test_lists_and_objects_keep_their_container(self) -> None:
        """References inside a list or an object are replaced in place, literals beside them
        stay.
        """
        seen: list[Any] = []
        holder = block(
            "t/hold@v1",
            lambda items, named: (seen.append((items, named)), {"out": None})[1],
            fields={"items": LIST, "named": OBJECT},
        )
        run(
            workflow(
                [batch_input("x"), parameter("p", "p")],
                [
                    step(
                        "t/hold@v1",
                        "h",
                        items=["$inputs.x", 5, "$inputs.p", "$$x"],
                        named={"x": "$inputs.x", "n": None, "p": "$inputs.p"},
                    )
                ],
                {"o": "$steps.h.out"},
            ),
            {"x": [1, 2]},
            holder,
        )
        assert seen == [
            ([1, 5, "p", "$x"], {"x": 1, "n": None, "p": "p"}),
            ([2, 5, "p", "$x"], {"x": 2, "n": None, "p": "p"}),
        ]
        assert seen[0][0] is not seen[1][0]

    def test_step_without_inputs_runs_once(self) -> None:
        """A step of literals is called once however large the batch is."""
        calls = []
        once = block("t/once@v1", lambda value: (calls.append(value), {"out": value})[1])
        rows = run(
            workflow(
                [batch_input("x")],
                [step("t/once@v1", "o", value=7)],
                {"x": "$inputs.x", "o": "$steps.o.out"},
            ),
            {"x": [1, 2, 3]},
            once,
        )
        assert calls == [7]
        assert rows == [{"x": 1, "o": 7}, {"x": 2, "o": 7}, {"x": 3, "o": 7}]


class TestBatchMode:
    def test_one_call_with_all_elements(self) -> None:
        """Fields that accept batches arrive as `Batch` with the index of every element."""
        seen: list[Any] = []

        def work(x: Any) -> list[dict[str, Any]]:
            seen.append((list(x), x.indices))
            return [{"out": item} for item in x]

        run(
            workflow(
                [batch_input("x")], [step("t/all@v1", "a", x="$inputs.x")], {"o": "$steps.a.out"}
            ),
            {"x": [5, 6]},
            block("t/all@v1", work, batches=("x",)),
        )
        assert seen == [([5, 6], [(0,), (1,)])]

    def test_nested_elements_arrive_flat_with_their_indices(self) -> None:
        """At depth 2 one call gets the elements of all parents; indices tell them apart."""
        rows = run(
            workflow(
                [batch_input("y", 2)], [step("index", "i", x="$inputs.y")], {"o": "$steps.i.out"}
            ),
            {"y": [["a"], [], ["b", "c"]]},
        )
        assert rows == [{"o": [(0, 0)]}, {"o": []}, {"o": [(2, 0), (2, 1)]}]

    def test_single_values_stay_single_where_both_are_accepted(self) -> None:
        """`get_parameters_accepting_batches_and_scalars` gives a plain value for a parameter and a
        batch for a batch.
        """
        seen = []
        both = block(
            "t/both@v1",
            lambda x, y: (seen.append(shown_batches(y)), [{"out": item} for item in x])[1],
            batches=("x",),
            batches_or_singles=("y",),
        )
        definition = workflow(
            [batch_input("x"), parameter("p", 4)],
            [
                step("t/both@v1", "a", x="$inputs.x", y="$inputs.p"),
                step("t/both@v1", "b", x="$inputs.x", y="$inputs.x"),
            ],
            {"a": "$steps.a.out", "b": "$steps.b.out"},
        )
        run(definition, {"x": [1, 2]}, both)
        assert seen == [4, ("batch", [1, 2])]

    def test_containers_hold_one_batch_a_reference(self) -> None:
        """A list (or object) of batch references arrives as a list (or object) of batches."""
        seen = []
        many = block(
            "t/many@v1",
            lambda items, named: (
                seen.append((shown_batches(items), shown_batches(named))),
                [{"out": 0} for _ in items[0]],
            )[1],
            fields={"items": LIST, "named": OBJECT},
            batches=("items", "named"),
        )
        run(
            workflow(
                [batch_input("x"), batch_input("z")],
                [
                    step(
                        "t/many@v1",
                        "m",
                        items=["$inputs.x", "$inputs.z"],
                        named={"k": "$inputs.z"},
                    )
                ],
                {"o": "$steps.m.out"},
            ),
            {"x": [1, 2], "z": [3, 4]},
            many,
        )
        assert seen == [([("batch", [1, 2]), ("batch", [3, 4])], {"k": ("batch", [3, 4])})]


class TestNesting:
    def test_split_and_gather(self) -> None:
        """Children are nested under their parent; gathering them gives one list a parent."""
        rows = run(
            workflow(
                [batch_input("x")],
                [
                    step("split", "s", n="$inputs.x"),
                    step("add", "a", a="$steps.s.out", b=100),
                    step("gather", "g", data="$steps.a.out"),
                ],
                {"s": "$steps.s.out", "a": "$steps.a.out", "g": "$steps.g.out"},
            ),
            {"x": [2, 0, 1]},
        )
        assert rows == [
            {"s": [20, 21], "a": [120, 121], "g": [120, 121]},
            {"s": [], "a": [], "g": None},
            {"s": [10], "a": [110], "g": [110]},
        ]

    def test_three_levels(self) -> None:
        """Splitting twice nests twice; gathering goes up one level at a time."""
        rows = run(
            workflow(
                [batch_input("x")],
                [
                    step("split", "a", n="$inputs.x"),
                    step("t/mod@v1", "m", x="$steps.a.out"),
                    step("split", "b", n="$steps.m.out"),
                    step("gather", "c", data="$steps.b.out"),
                    step("gather", "d", data="$steps.c.out"),
                    step("gather", "e", data="$steps.d.out"),
                ],
                {
                    "b": "$steps.b.out",
                    "c": "$steps.c.out",
                    "d": "$steps.d.out",
                    "e": "$steps.e.out",
                },
            ),
            {"x": [2, 3]},
            block("t/mod@v1", lambda x: {"out": x % 3}),
        )
        # 2 -> 20, 21 -> 2, 0 children; 3 -> 30, 31, 32 -> 0, 1, 2 children
        everything = [[[20, 21]], [[10], [20, 21]]]
        assert rows == [
            {"b": [[20, 21], []], "c": [[20, 21], None], "d": [[20, 21]], "e": everything},
            {
                "b": [[], [10], [20, 21]],
                "c": [None, [10], [20, 21]],
                "d": [[10], [20, 21]],
                "e": everything,
            },
        ]

    def test_gather_at_depth_1_gives_one_value(self) -> None:
        """Gathering the workflow's batch gives one value for the run, seen in every row."""
        rows = run(
            workflow(
                [batch_input("x")],
                [step("gather", "g", data="$inputs.x"), step("show", "s", x="$steps.g.out")],
                {"x": "$inputs.x", "g": "$steps.g.out", "s": "$steps.s.out"},
            ),
            {"x": [1, 2]},
        )
        assert rows == [
            {"x": 1, "g": [1, 2], "s": "[1, 2]"},
            {"x": 2, "g": [1, 2], "s": "[1, 2]"},
        ]

    def test_gathered_value_meets_the_elements_again(self) -> None:
        """What was gathered to one value can be used beside the elements."""
        rows = run(
            workflow(
                [batch_input("x")],
                [
                    step("gather", "g", data="$inputs.x"),
                    step("t/share@v1", "s", x="$inputs.x", all="$steps.g.out"),
                ],
                {"s": "$steps.s.out"},
            ),
            {"x": [1, 3]},
            block("t/share@v1", lambda x, all: {"out": x / sum(all)}),
        )
        assert rows == [{"s": 0.25}, {"s": 0.75}]

    def test_children_beside_their_parent(self) -> None:
        """A field one level deeper gets the children of the element, None when there are none."""
        rows = run(
            workflow(
                [batch_input("x")],
                [
                    step("split", "s", n="$inputs.x"),
                    step("with_children", "w", parent="$inputs.x", children="$steps.s.out"),
                ],
                {"w": "$steps.w.out"},
            ),
            {"x": [2, 0]},
        )
        assert rows == [{"w": (2, [20, 21])}, {"w": (0, None)}]

    def test_children_without_batched_parent(self) -> None:
        """With one value as parent the whole batch are its children."""
        rows = run(
            workflow(
                [batch_input("x")],
                [step("with_children", "w", parent=9, children="$inputs.x")],
                {"w": "$steps.w.out"},
            ),
            {"x": [2, 1]},
        )
        assert rows == [{"w": (9, [2, 1])}]

    def test_children_may_be_none_inside_a_batch_call(self) -> None:
        """In a batch call, an element without children is left out unless the block takes empty
        ones.
        """
        calls: list[Any] = []

        def work(parent: Any, children: Any) -> list[dict[str, Any]]:
            calls.append((shown_batches(parent), shown_batches(children)))
            return [{"out": 0} for _ in parent]

        for accepts_empty in (False, True):
            run(
                workflow(
                    [batch_input("x")],
                    [
                        step("split", "s", n="$inputs.x"),
                        step("t/n@v1", "n", parent="$inputs.x", children="$steps.s.out"),
                    ],
                    {"o": "$steps.n.out"},
                ),
                {"x": [1, 0]},
                block(
                    "t/n@v1",
                    work,
                    batches=("parent", "children"),
                    offsets={"children": 1},
                    reference="parent",
                    accepts_empty=accepts_empty,
                ),
            )
        assert calls == [
            (("batch", [1]), ("batch", [("batch", [10])])),
            (("batch", [1, 0]), ("batch", [("batch", [10]), None])),
        ]

    def test_indices_of_children(self) -> None:
        """Groups know the full index of each child, positions left out included."""
        seen: list[Any] = []
        watched = block(
            "t/w@v1",
            lambda data: (seen.append(data.indices), {"out": 0})[1],
            cast=("data",),
            output_offset=-1,
        )
        run(
            workflow(
                [batch_input("y", 2)],
                [step("odd_only", "o", x="$inputs.y"), step("t/w@v1", "w", data="$steps.o.out")],
                {"o": "$steps.w.out"},
            ),
            {"y": [[1, 2, 3], [5]]},
            watched,
        )
        assert seen == [[(0, 0), (0, 2)], [(1, 0)]]

    def test_two_nested_inputs_are_unrelated(self) -> None:
        """The second level of one nested input is not that of another, even when they look
        alike.
        """
        with pytest.raises(StepInputLineageError):
            run(
                workflow(
                    [batch_input("y", 2), batch_input("z", 2)],
                    [step("add", "a", a="$inputs.y", b="$inputs.z")],
                ),
            )

    def test_collapse_of_single_values_is_refused(self) -> None:
        """There is nothing to gather when no input is a batch."""
        with pytest.raises(StepInputDimensionalityError, match="all its inputs are single values"):
            run(workflow([parameter("p")], [step("gather", "g", data="$inputs.p")]))


class TestGeneratedLineage:
    """A step that makes several elements without batch inputs starts a batch of its own."""

    def test_alone(self) -> None:
        """With nothing else there is one row with the whole list."""
        rows = run(workflow([], [step("generate", "g")], {"v": "$steps.g.out"}))
        assert rows == [{"v": [0, 1, 2]}]

    def test_beside_a_batch(self) -> None:
        """The whole list is in every row of another batch."""
        rows = run(
            workflow(
                [batch_input("q")],
                [step("generate", "g"), step("show", "z", x="$inputs.q")],
                {"z": "$steps.z.out", "v": "$steps.g.out"},
            ),
            {"q": ["a", "b"]},
        )
        assert rows == [{"z": "'a'", "v": [0, 1, 2]}, {"z": "'b'", "v": [0, 1, 2]}]

    def test_is_worked_on_element_by_element(self) -> None:
        """Steps behind it run once an element; gathering makes one value again."""
        rows = run(
            workflow(
                [],
                [
                    step("generate", "g", n=2),
                    step("add", "a", a="$steps.g.out", b=5),
                    step("split", "s", n="$steps.g.out"),
                    step("gather", "c", data="$steps.a.out"),
                    step("add", "d", a="$steps.c.out", b=[1]),
                ],
                {
                    "a": "$steps.a.out",
                    "s": "$steps.s.out",
                    "c": "$steps.c.out",
                    "d": "$steps.d.out",
                },
            ),
        )
        assert rows == [{"a": [5, 6], "s": [[], [10]], "c": [5, 6], "d": [5, 6, 1]}]

    def test_does_not_meet_the_workflows_batch(self) -> None:
        """Elements of a generated batch and of the workflow's batch do not belong together."""
        with pytest.raises(StepInputLineageError):
            run(
                workflow(
                    [batch_input("x")],
                    [step("generate", "g"), step("add", "a", a="$steps.g.out", b="$inputs.x")],
                )
            )

    def test_empty(self) -> None:
        """Nothing generated is an empty list."""
        rows = run(workflow([], [step("generate", "g", n=0)], {"v": "$steps.g.out"}))
        assert rows == [{"v": []}]


class TestUnions:
    @pytest.mark.parametrize(
        ("given", "expected"),
        [(["$inputs.x", 2], [1, 2]), ("$inputs.l", [8, 9]), ([3, 4], [3, 4])],
        ids=["list of references", "reference to a list", "literal list"],
    )
    def test_the_form_of_the_value_decides(self, given: Any, expected: Any) -> None:
        """A field that takes a list of references or one reference to a list takes both."""
        union = block("t/union@v1", lambda data: {"out": list(data)}, fields={"data": LIST | ANY})
        rows = run(
            workflow(
                [batch_input("x"), parameter("l", [8, 9])],
                [step("t/union@v1", "u", data=given)],
                {"o": "$steps.u.out"},
            ),
            {"x": [1]},
            union,
        )
        assert rows == [{"o": expected}]
