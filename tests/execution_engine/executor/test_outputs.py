"""The response: rows, nesting, order of keys, coordinates, serialisation."""

from __future__ import annotations

import json
from datetime import datetime
from typing import Any

import pytest

from execution_engine.block_api import OutputDefinition
from execution_engine.errors import ExecutionEngineRuntimeError
from execution_engine.kinds.catalogue import (
    DICTIONARY_KIND,
    INTEGER_KIND,
    STRING_KIND,
    TIMESTAMP_KIND,
)
from tests.execution_engine.toy_blocks import (
    batch_input,
    block,
    parameter,
    run,
    step,
    toy_registry,
    workflow,
)
from tests.execution_engine.toy_kind import MARKS_KIND, Marks, marks_plugin


class TestRows:
    def test_no_outputs(self) -> None:
        """Without declared outputs a run gives one empty object."""
        assert run(workflow([parameter("p")])) == [{}]
        assert run(workflow([batch_input("x")]), {"x": [1, 2]}) == [{}]

    def test_single_values_only(self) -> None:
        """Single values make one row, also when the batch is larger."""
        definition = workflow(
            [parameter("p", 4), batch_input("x")],
            [step("constant", "c", value=1), step("gather", "g", data="$inputs.x")],
            {"p": "$inputs.p", "c": "$steps.c.out", "g": "$steps.g.out"},
        )
        assert run(definition, {"x": [1, 2]}) == [{"p": 4, "c": 1, "g": [1, 2]}]

    def test_single_values_are_in_every_row(self) -> None:
        """Beside a batch, single values are repeated."""
        definition = workflow(
            [parameter("p", 4), batch_input("x")], [], {"p": "$inputs.p", "x": "$inputs.x"}
        )
        assert run(definition, {"x": [1, 2]}) == [{"p": 4, "x": 1}, {"p": 4, "x": 2}]

    def test_order_is_that_of_the_definition(self) -> None:
        """Members of a row come in the order in which the outputs are declared."""
        definition = workflow(
            [parameter("p"), batch_input("x")],
            [step("generate", "g")],
            {"z": "$inputs.x", "g": "$steps.g.out", "a": "$inputs.p", "m": "$inputs.x"},
        )
        assert list(run(definition, {"x": [1]})[0]) == ["z", "g", "a", "m"]

    def test_order_of_keys_of_all_outputs(self) -> None:
        """`.*` gives the outputs in the order in which the block declares them."""
        two = block("t/two@v1", lambda x: {"b": x, "a": -x}, outputs=("b", "a"))
        definition = workflow(
            [batch_input("x")], [step("t/two@v1", "t", x="$inputs.x")], {"all": "$steps.t.*"}
        )
        rows = run(definition, {"x": [1]}, two)
        assert rows == [{"all": {"b": 1, "a": -1}}]
        assert list(rows[0]["all"]) == ["b", "a"]

    def test_all_outputs_of_a_block_without_outputs(self) -> None:
        """`.*` of a step that only decides is an empty object."""
        definition = workflow(
            [batch_input("x"), parameter("p")],
            [
                step("gate", "g", test="$inputs.x", next_steps=["$steps.c"]),
                step("gate", "h", test="$inputs.p", next_steps=["$steps.c"]),
                step("show", "c", x="$inputs.x"),
            ],
            {"g": "$steps.g.*", "h": "$steps.h.*"},
        )
        assert run(definition, {"x": [0, 1]}) == [{"g": {}, "h": {}}, {"g": {}, "h": {}}]

    def test_outputs_that_depend_on_the_step(self) -> None:
        """A block whose outputs depend on its fields answers with those of this very step."""
        named = block(
            "t/named@v1",
            lambda names: {name: name.upper() for name in names},
            fields={"names": list[str]},
            actual_outputs=lambda self: [OutputDefinition(name) for name in self.names],
        )
        definition = workflow(
            [],
            [step("t/named@v1", "n", names=["a", "b"])],
            {"all": "$steps.n.*", "b": "$steps.n.b"},
        )
        assert run(definition, {}, named) == [{"all": {"a": "A", "b": "B"}, "b": "B"}]

    def test_nested_empties(self) -> None:
        """At every depth, what has no elements is an empty list and what has no value is None."""
        definition = workflow(
            [batch_input("y", 3)],
            [step("odd_only", "o", x="$inputs.y")],
            {"o": "$steps.o.out", "all": "$steps.o.*"},
        )
        rows = run(definition, {"y": [[[1, 2], []], [], [[]]]})
        assert rows == [
            {"o": [[1, None], []], "all": [[{"out": 1}, {"out": None}], []]},
            {"o": [], "all": []},
            {"o": [[]], "all": [[]]},
        ]

    def test_same_value_under_two_names(self) -> None:
        """One value may be declared as several outputs."""
        definition = workflow([batch_input("x")], [], {"a": "$inputs.x", "b": "$inputs.x"})
        assert run(definition, {"x": [1]}) == [{"a": 1, "b": 1}]


class TestCoordinates:
    """Predictions are moved to the space of the workflow's input unless an output asks for its
    own.
    """

    def _rows(self, system: str | None, value: Any, kinds: list[Any], **options: Any) -> list[Any]:
        made = block("t/made@v1", lambda: {"out": value}, outputs={"out": kinds})
        output = {"type": "JsonField", "name": "o", "selector": "$steps.m.out"}
        if system is not None:
            output["coordinates_system"] = system
        registry = toy_registry(made, plugins=[marks_plugin()])
        return run(
            workflow([], [step("t/made@v1", "m")], [output]), {}, registry=registry, **options
        )

    @pytest.mark.parametrize(("system", "x"), [(None, 11), ("parent", 11), ("own", 1)])
    def test_system(self, system: str | None, x: int) -> None:
        """`parent` (the default) moves, `own` does not."""
        marks = Marks([(1, 2)], offset=(10, 20))
        row = self._rows(system, marks, [MARKS_KIND])[0]
        assert row["o"].points[0][0] == x
        assert marks.points == [(1, 2)]

    def test_inside_containers(self) -> None:
        """Predictions inside lists, tuples and objects are moved too, whatever surrounds them."""
        marks = Marks([(1, 2)], offset=(10, 20))
        row = self._rows("parent", {"a": [marks, 5], "b": (marks, "x", None)}, [DICTIONARY_KIND])[0]
        assert row["o"] == {"a": [Marks([(11, 22)]), 5], "b": (Marks([(11, 22)]), "x", None)}

    def test_kinds_that_hold_no_predictions_are_left_alone(self) -> None:
        """A value declared as a number is handed on as it is."""
        marks = Marks([(1, 2)], offset=(10, 20))
        assert self._rows("parent", marks, [INTEGER_KIND])[0]["o"] is marks

    def test_single_values_are_moved(self) -> None:
        """A value made once a run is moved like one made for each element."""
        marks = Marks([(1, 2)], offset=(10, 20))
        row = self._rows("parent", marks, [MARKS_KIND], serialize_results=True)[0]
        assert row["o"] == {"points": [[11, 22]]}


class TestSerialisation:
    def _one(self, value: Any, kinds: list[Any], serialize: bool = True) -> Any:
        made = block("t/made@v1", lambda: {"out": value}, outputs={"out": kinds})
        definition = workflow([], [step("t/made@v1", "m")], {"o": "$steps.m.out"})
        registry = toy_registry(made, plugins=[marks_plugin()])
        return run(definition, {}, registry=registry, serialize_results=serialize)[0]["o"]

    def test_first_kind_that_takes_the_value(self) -> None:
        """Kinds are tried in declared order; one that refuses leaves the value to the next."""
        assert self._one(Marks([(1, 2)]), [TIMESTAMP_KIND, MARKS_KIND]) == {"points": [[1, 2]]}

    def test_none_stays_none(self) -> None:
        """None is not given to any serialiser."""
        assert self._one(None, [MARKS_KIND]) is None

    def test_without_serialisation_objects_are_returned(self) -> None:
        """The very objects of the blocks come back."""
        moment = datetime(2031, 1, 2)
        assert self._one(moment, [TIMESTAMP_KIND], serialize=False) is moment

    def test_every_kind_refuses(self) -> None:
        """The error names the type and each kind with its reason."""
        with pytest.raises(ExecutionEngineRuntimeError) as caught:
            self._one(5, [TIMESTAMP_KIND, MARKS_KIND])
        assert str(caught.value) == (
            "A result of type int does not serialise as any of its declared kinds "
            "(timestamp: a datetime was expected, got int; toy_marks: marks were expected, got "
            "int)."
        )

    def test_all_outputs_each_by_its_kind(self) -> None:
        """Each member of `.*` is serialised by its own kinds, nested or not."""
        two = block(
            "t/two@v1",
            lambda n: [
                {"when": datetime(2031, 1, 1 + i), "marks": Marks([(i, i)])} for i in range(n)
            ],
            outputs={"when": [TIMESTAMP_KIND], "marks": [MARKS_KIND]},
            output_offset=1,
        )
        definition = workflow(
            [batch_input("x")], [step("t/two@v1", "t", n="$inputs.x")], {"o": "$steps.t.*"}
        )
        registry = toy_registry(two, plugins=[marks_plugin()])
        rows = run(definition, {"x": [0, 1]}, registry=registry, serialize_results=True)
        assert rows == [
            {"o": []},
            {"o": [{"when": "2031-01-01T00:00:00", "marks": {"points": [[0, 0]]}}]},
        ]
        json.dumps(rows)

    def test_secrets_are_masked(self) -> None:
        """A parameter of kind secret never leaves a serialised response whole."""
        definition = workflow(
            [parameter("s", kind=["secret"]), parameter("t", kind=["secret"])],
            [],
            {"s": "$inputs.s", "t": "$inputs.t"},
        )
        rows = run(definition, {"s": "supersecretvalue", "t": "short"}, serialize_results=True)
        assert rows == [{"s": "su********ue", "t": "********"}]

    def test_kind_of_an_input_decides(self) -> None:
        """An input that is an output is serialised by its declared kinds."""
        definition = workflow([batch_input("w", kind=["timestamp"])], [], {"w": "$inputs.w"})
        rows = run(definition, {"w": ["2031-01-02T03:04:05"]}, serialize_results=True)
        assert rows == [{"w": "2031-01-02T03:04:05"}]
        assert run(definition, {"w": ["2031-01-02T03:04:05"]}) == [
            {"w": datetime(2031, 1, 2, 3, 4, 5)}
        ]

    def test_kind_without_serialiser(self) -> None:
        """A kind without a codec lets plain values through."""
        assert self._one("text", [STRING_KIND]) == "text"
