"""Single values given to fields that only take batches."""

from __future__ import annotations

from typing import Any

import pytest

from tests.execution_engine.toy_blocks import (
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


class Recorder:
    """A block's code that keeps what each call got."""

    def __init__(self) -> None:
        self.calls: list[dict[str, Any]] = []

    def __call__(self, **arguments: Any) -> None:
        self.calls.append(arguments)


CAST_INPUTS = {"x": [1, 2], "y": [[10, 11], [12]]}


class TestAutoBatchCasting:
    """A field that only takes batches and is given single values gets them as batches."""

    @pytest.mark.parametrize(
        ("field", "expected"),
        [
            ("$inputs.p", ("batch", [7, 7])),
            (5, ("batch", [5, 5])),
            ("$steps.c.out", ("batch", [9, 9])),
            (None, None),
            ("$inputs.nothing", None),
            ("$inputs.x", ("batch", [1, 2])),
        ],
        ids=["parameter", "literal", "single step output", "null", "null parameter", "batch"],
    )
    def test_beside_a_batch(self, field: Any, expected: Any) -> None:
        """Beside a batch a single value is repeated for every element; null stays null."""
        assert self._seen("$inputs.x", field)[0]["b"] == expected

    @pytest.mark.parametrize(
        ("field", "expected"),
        [
            ("$inputs.p", ("batch", [7])),
            (5, ("batch", [5])),
            (None, None),
            ("$inputs.nothing", None),
        ],
    )
    def test_without_any_batch(self, field: Any, expected: Any) -> None:
        """With single values only, the call gets batches of one and its list of one is the
        result.
        """
        calls = self._seen("$inputs.p", field)
        assert calls == [{"a": ("batch", [7]), "b": expected}]

    def test_index_of_a_lone_value(self) -> None:
        """A batch of one made for a single value has the index (0,)."""
        rows = run(workflow([], [step("index", "i", x=3)], {"o": "$steps.i.out"}))
        assert rows == [{"o": (0,)}]

    def test_at_depth_2(self) -> None:
        """The value is repeated for every element of the deepest batch of the step."""
        assert self._seen("$inputs.y", "$inputs.p")[0]["b"] == ("batch", [7, 7, 7])

    @pytest.mark.parametrize(
        ("items", "expected"),
        [
            (["$inputs.x", "$inputs.p"], [("batch", [1, 2]), ("batch", [7, 7])]),
            (["$inputs.x", 5], [("batch", [1, 2]), ("batch", [5, 5])]),
            (["$inputs.x", None], [("batch", [1, 2]), None]),
            (["$inputs.x", "$inputs.nothing"], [("batch", [1, 2]), None]),
            (["$inputs.p", 5, "$steps.c.out"], [("batch", [7]), ("batch", [5]), ("batch", [9])]),
            ([5, None], [("batch", [5]), None]),
            ([], []),
        ],
    )
    def test_inside_lists(self, items: Any, expected: Any) -> None:
        """Every element of a list is cast by itself, whether reference or literal."""
        assert self._seen_in("items", items) == expected

    def test_inside_objects(self) -> None:
        """Every value of an object is cast by itself."""
        seen = self._seen_in("named", {"x": "$inputs.x", "p": "$inputs.p", "l": 5, "n": None})
        assert seen == {
            "x": ("batch", [1, 2]),
            "p": ("batch", [7, 7]),
            "l": ("batch", [5, 5]),
            "n": None,
        }

    def test_empty_step_output_empties_the_step(self) -> None:
        """A single value that a step left empty is an empty element, not a null parameter."""
        calls: list[Any] = []
        watched = block(
            "t/w@v1", lambda a: (calls.append(a), [{"out": 1} for _ in a])[1], batches=("a",)
        )
        rows = run(
            workflow(
                [],
                [step("odd_only", "n", x=2), step("t/w@v1", "w", a="$steps.n.out")],
                {"o": "$steps.w.out"},
            ),
            {},
            watched,
        )
        assert (calls, rows) == ([], [{"o": None}])

    def test_reducing_block(self) -> None:
        """A block that gathers gets a cast value as one batch as long as what it gathers."""
        seen: list[Any] = []
        reduce_two = block(
            "t/reduce@v1",
            lambda data, weights: (
                seen.append((shown_batches(data), shown_batches(weights))),
                {"out": len(data)},
            )[1],
            cast=("data", "weights"),
            output_offset=-1,
        )
        definition = workflow(
            [batch_input("x"), batch_input("y", 2)],
            [
                step("t/reduce@v1", "a", data="$inputs.x", weights=2),
                step("t/reduce@v1", "b", data="$inputs.y", weights=2),
            ],
            {"a": "$steps.a.out", "b": "$steps.b.out"},
        )
        rows = run(definition, CAST_INPUTS, reduce_two)
        assert seen == [
            (("batch", [1, 2]), ("batch", [2, 2])),
            (("batch", [10, 11]), ("batch", [2, 2])),
            (("batch", [12]), ("batch", [2])),
        ]
        assert rows == [{"a": 2, "b": 2}, {"a": 2, "b": 1}]

    @pytest.mark.parametrize(
        ("parent", "children", "expected"),
        [
            (
                "$inputs.x",
                "$inputs.y",
                (("batch", [1, 2]), ("batch", [("batch", [10, 11]), ("batch", [12])])),
            ),
            ("$inputs.x", 5, (("batch", [1, 2]), ("batch", [("batch", [5]), ("batch", [5])]))),
            (5, 6, (("batch", [5]), ("batch", [("batch", [6])]))),
            (5, "$inputs.x", (("batch", [5]), ("batch", [("batch", [1, 2])]))),
            (
                "$inputs.p",
                "$inputs.y",
                (("batch", [7, 7]), ("batch", [("batch", [10, 11]), ("batch", [12])])),
            ),
        ],
    )
    def test_fields_one_level_deeper(self, parent: Any, children: Any, expected: Any) -> None:
        """A field one level below the others gets batches of batches, also when it is cast."""
        seen: list[Any] = []
        nested = block(
            "t/nested@v1",
            lambda parent, children: (
                seen.append((shown_batches(parent), shown_batches(children))),
                [{"out": 0} for _ in parent],
            )[1],
            batches=("parent", "children"),
            offsets={"children": 1},
            reference="parent",
        )
        run(
            workflow(
                [batch_input("x"), batch_input("y", 2), parameter("p", 7)],
                [step("t/nested@v1", "n", parent=parent, children=children)],
                {"o": "$steps.n.out"},
            ),
            CAST_INPUTS,
            nested,
        )
        assert seen == [expected]

    def test_element_wise_block_below(self) -> None:
        """An element-wise block that takes a deeper field gets a cast value as a batch of one a
        call.
        """
        seen: list[Any] = []
        nested = block(
            "t/nested@v1",
            lambda parent, children: (seen.append((parent, shown_batches(children))), {"out": 0})[
                1
            ],
            cast=("children",),
            offsets={"children": 1},
            reference="parent",
        )
        run(
            workflow(
                [batch_input("x")],
                [
                    step("t/nested@v1", "n", parent="$inputs.x", children=5),
                    step("t/nested@v1", "m", parent=1, children=5),
                ],
                {"o": "$steps.n.out"},
            ),
            {"x": [1, 2]},
            nested,
        )
        assert sorted(seen) == [(1, ("batch", [5])), (1, ("batch", [5])), (2, ("batch", [5]))]

    def test_splitting_a_lone_value(self) -> None:
        """A batch block that makes children of one cast value starts a batch of its own."""
        rows = run(
            workflow(
                [batch_input("x")],
                [step("batch_split", "s", n=3), step("gather", "g", data="$steps.s.out")],
                {"x": "$inputs.x", "s": "$steps.s.out", "g": "$steps.g.out"},
            ),
            {"x": [1, 2]},
        )
        assert rows == [
            {"x": 1, "s": [30, 31, 32], "g": [30, 31, 32]},
            {"x": 2, "s": [30, 31, 32], "g": [30, 31, 32]},
        ]

    def test_element_wise_block_keeps_single_values(self) -> None:
        """A block called once an element has nothing to cast: its single values stay plain."""
        seen: list[Any] = []
        plain = block(
            "t/plain@v1", lambda a, b: (seen.append((a, b)), {"out": 0})[1], cast=("a", "b")
        )
        run(
            workflow(
                [batch_input("x")],
                [
                    step("t/plain@v1", "one", a=1, b=2),
                    step("t/plain@v1", "two", a="$inputs.x", b=2),
                ],
                {"o": "$steps.one.out"},
            ),
            {"x": [8]},
            plain,
        )
        assert sorted(seen) == [(1, 2), (8, 2)]

    def _seen(self, a: Any, b: Any) -> list[dict[str, Any]]:
        recorder = Recorder()
        watched = block(
            "t/w@v1",
            lambda a, b=None: (
                recorder(a=shown_batches(a), b=shown_batches(b)),
                [{"out": item} for item in a],
            )[1],
            batches=("a", "b"),
        )
        run(
            workflow(
                [batch_input("x"), batch_input("y", 2), parameter("p", 7), parameter("nothing")],
                [step("constant", "c", value=9), step("t/w@v1", "w", a=a, b=b)],
                {"o": "$steps.w.out"},
            ),
            CAST_INPUTS,
            watched,
        )
        return recorder.calls

    def _seen_in(self, name: str, value: Any) -> Any:
        recorder = Recorder()
        is_list = name == "items"

        def work(items: Any = None, named: Any = None) -> list[dict[str, Any]]:
            held = items if is_list else named
            recorder(held=shown_batches(held))
            batches = held if is_list else held.values()
            size = max((len(item) for item in batches if item is not None), default=1)
            return [{"out": 0}] * size

        run(
            workflow(
                [batch_input("x"), parameter("p", 7), parameter("nothing")],
                [step("constant", "c", value=9), step("t/w@v1", "w", **{name: value})],
                {"o": "$steps.w.out"},
            ),
            {"x": [1, 2]},
            block(
                "t/w@v1",
                work,
                fields={"items": (LIST, []), "named": (OBJECT, {})},
                batches=(name,),
            ),
        )
        return recorder.calls[0]["held"]
