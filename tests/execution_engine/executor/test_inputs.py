"""What a caller may give a run: batches, nesting, defaults, decoding, checks of parameters."""

from __future__ import annotations

import copy
from typing import Any, Union

import numpy as np
import pytest
from pydantic import PositiveInt

from execution_engine import ExecutionEngine
from execution_engine.block_api import Selector
from execution_engine.errors import RuntimeInputError
from execution_engine.kinds.catalogue import INTEGER_KIND, STRING_KIND
from tests.execution_engine.toy_blocks import (
    batch_input,
    block,
    parameter,
    run,
    step,
    toy_registry,
    workflow,
)

IMAGE = {"type": "WorkflowImage", "name": "image"}
PIXELS = np.zeros((4, 6, 3), np.uint8)
ECHO_X = workflow([batch_input("x")], [], {"x": "$inputs.x"})
ECHO_XZ = workflow([batch_input("x"), batch_input("z")], [], {"x": "$inputs.x", "z": "$inputs.z"})
ECHO_Y = workflow([batch_input("y", 2)], [], {"y": "$inputs.y"})


def _refused(definition: dict[str, Any], inputs: dict[str, Any], *blocks: Any) -> str:
    with pytest.raises(RuntimeInputError) as caught:
        run(definition, inputs, *blocks)
    return str(caught.value)


class TestGiven:
    @pytest.mark.parametrize(
        ("given", "shown"), [(None, "null"), ([], "a list"), ("x", "text 'x'"), (3, "a number 3")]
    )
    def test_no_object(self, given: Any, shown: str) -> None:
        """The inputs of a run are an object; anything else is named."""
        with (
            ExecutionEngine.init(ECHO_X, registry=toy_registry()) as engine,
            pytest.raises(RuntimeInputError) as caught,
        ):
            engine.run(given)
        assert str(caught.value) == (
            f"The inputs of a run are an object of values by name, got {shown}."
        )


class TestBatchSize:
    @pytest.mark.parametrize(
        ("inputs", "rows"),
        [
            ({"x": 1, "z": 2}, [(1, 2)]),
            ({"x": [1], "z": 2}, [(1, 2)]),
            ({"x": 1, "z": [5, 6]}, [(1, 5), (1, 6)]),
            ({"x": [1], "z": [5, 6]}, [(1, 5), (1, 6)]),
            ({"x": [1, 2], "z": [5, 6]}, [(1, 5), (2, 6)]),
            ({"x": (1, 2), "z": 0}, [(1, 0), (2, 0)]),
            ({"x": [], "z": 0}, []),
            ({"x": [], "z": []}, []),
            ({"x": [], "z": [1]}, []),
            ({"x": [None, 1], "z": 0}, [(None, 0), (1, 0)]),
        ],
    )
    def test_good(self, inputs: dict[str, Any], rows: list[tuple[Any, Any]]) -> None:
        """The first list that is not of one element sets the size; single values and lists of one
        are repeated.
        """
        assert run(ECHO_XZ, inputs) == [{"x": x, "z": z} for x, z in rows]

    @pytest.mark.parametrize(
        ("inputs", "message"),
        [
            (
                {"x": [1, 2], "z": [1, 2, 3]},
                "Input 'z' has 3 elements, but this run has a batch of 2.",
            ),
            ({"x": [1, 2], "z": []}, "Input 'z' has 0 elements, but this run has a batch of 2."),
            ({"x": [], "z": [1, 2]}, "Input 'z' has 2 elements, but this run has a batch of 0."),
            ({"x": 1}, "Input 'z' (WorkflowBatchInput) was not given; the run got: x."),
            (
                {"x": 1, "z": None},
                "Input 'z' (WorkflowBatchInput) is null.",
            ),
            ({}, "Input 'x' (WorkflowBatchInput) was not given; the run got: nothing."),
        ],
    )
    def test_bad(self, inputs: dict[str, Any], message: str) -> None:
        """Sizes that disagree and missing values are refused, naming input and sizes."""
        assert _refused(ECHO_XZ, inputs) == message

    def test_empty_list_is_an_empty_response(self) -> None:
        """A batch of nothing runs nothing and answers with no rows, also for single values."""
        calls: list[Any] = []
        watched = block("t/w@v1", lambda x: (calls.append(x), {"out": 1})[1])
        definition = workflow(
            [batch_input("x"), parameter("p", 1)],
            [step("t/w@v1", "w", x="$inputs.x"), step("split", "s", n="$steps.w.out")],
            {"w": "$steps.w.out", "s": "$steps.s.out", "p": "$inputs.p"},
        )
        assert run(definition, {"x": []}, watched) == []
        assert (
            run(workflow([batch_input("x"), parameter("p", 1)], [], {"p": "$inputs.p"}), {"x": []})
            == []
        )
        assert calls == []


class TestNesting:
    @pytest.mark.parametrize(
        "value", [[[1], [2, 3]], [[1, None], []], [[], []], [[1, 2]], [], [[None], [4]]]
    )
    def test_ragged_lists_come_back(self, value: list[Any]) -> None:
        """Inner lists may be of any length, empty ones too."""
        assert run(ECHO_Y, {"y": value}) == [{"y": item} for item in value]

    def test_list_of_one_is_repeated(self) -> None:
        """A nested list of one element is repeated like a flat one."""
        definition = workflow([batch_input("x"), batch_input("y", 2)], [], {"y": "$inputs.y"})
        assert run(definition, {"x": [1, 2, 3], "y": [[7, 8]]}) == [{"y": [7, 8]}] * 3

    @pytest.mark.parametrize(
        ("value", "message"),
        [
            (5, "Input 'y' is nested 2 levels deep and needs a list, got a number 5."),
            ({"a": 1}, "Input 'y' is nested 2 levels deep and needs a list, got an object."),
            (
                [1, 2],
                "Input 'y' needs a list at 'y.[0]' (1 more level of nesting), got a number 1.",
            ),
            ([[1], None], "Input 'y' needs a list at 'y.[1]' (1 more level of nesting), got null."),
        ],
    )
    def test_too_shallow(self, value: Any, message: str) -> None:
        """A value that is not nested deep enough is refused with its place."""
        assert _refused(ECHO_Y, {"y": value}) == message

    def test_three_levels(self) -> None:
        """The place of a fault is given down to the level where it is."""
        definition = workflow([batch_input("y", 3)], [], {"y": "$inputs.y"})
        assert run(definition, {"y": [[[1], []], [[2, 3]]]}) == [{"y": [[1], []]}, {"y": [[2, 3]]}]
        assert _refused(definition, {"y": [[[1]], 5]}) == (
            "Input 'y' needs a list at 'y.[1]' (2 more levels of nesting), got a number 5."
        )

    def test_leaves_are_not_nested_further(self) -> None:
        """Below the declared depth a list is a value like any other."""
        assert run(ECHO_X, {"x": [[1, 2], [3]]}) == [{"x": [1, 2]}, {"x": [3]}]


class TestDecoding:
    def test_identifiers_of_elements(self) -> None:
        """A lone image is named after its input, an image in a list also by its position."""
        definition = workflow([IMAGE], [], {"o": "$inputs.image"})

        def names(value: Any) -> list[str]:
            return [row["o"].parent_metadata.parent_id for row in run(definition, {"image": value})]

        assert names(PIXELS) == ["image"]
        assert names([PIXELS]) == ["image.[0]"]
        assert names([PIXELS, PIXELS]) == ["image.[0]", "image.[1]"]
        deep = workflow([batch_input("i", 2, kind=["image"])], [], {"o": "$inputs.i"})
        rows = run(deep, {"i": [[PIXELS], [PIXELS, PIXELS]]})
        found = [[item.parent_metadata.parent_id for item in row["o"]] for row in rows]
        assert found == [["i.[0].[0]"], ["i.[1].[0]", "i.[1].[1]"]]

    def test_lone_value_is_decoded_once(self) -> None:
        """A value that is repeated is one object in every row."""
        definition = workflow(
            [IMAGE, batch_input("x")], [], {"o": "$inputs.image", "x": "$inputs.x"}
        )
        rows = run(definition, {"image": PIXELS, "x": [1, 2]})
        assert rows[0]["o"] is rows[1]["o"]

    @pytest.mark.parametrize(
        ("kinds", "value", "expected"),
        [
            (["integer", "string"], 5, 5),
            (["integer", "string"], "a", "a"),
            (["float", "integer"], 5, 5.0),
            (["string"], None, None),
            (["*"], {"any": "thing"}, {"any": "thing"}),
            (["never_heard_of"], 5, 5),
            (["never_heard_of", "integer"], 5, 5),
            ([{"name": "integer"}], 5, 5),
        ],
    )
    def test_first_kind_that_takes_it(self, kinds: list[Any], value: Any, expected: Any) -> None:
        """Kinds are tried in order; kinds that cannot read are passed over; None stays None."""
        definition = workflow([batch_input("x", kind=kinds)], [], {"x": "$inputs.x"})
        result = run(definition, {"x": [value]})[0]["x"]
        assert (result, type(result)) == (expected, type(expected))

    def test_no_kind_takes_it(self) -> None:
        """The error names the element, and every kind with its reason."""
        definition = workflow(
            [batch_input("x", kind=["integer", "string"])], [], {"x": "$inputs.x"}
        )
        message = _refused(definition, {"x": [1, [2]]})
        assert message.startswith("Input 'x.[1]' does not decode (as integer: ")
        assert "; as string: " in message

    def test_inner_error_is_kept(self) -> None:
        """The first refusal is the inner error."""
        definition = workflow([batch_input("x", kind=["integer"])], [], {"x": "$inputs.x"})
        with pytest.raises(RuntimeInputError) as caught:
            run(definition, {"x": "a"})
        assert caught.value.inner_error is caught.value.__cause__ is not None
        assert caught.value.context == "workflow_execution | workflow_input_assembly"

    def test_frame_rate_of_the_run(self) -> None:
        """`fps` is that of images without video metadata of their own; others keep theirs."""
        definition = workflow([IMAGE], [], {"o": "$inputs.image"})
        frame = {
            "video_identifier": "cam",
            "frame_number": 3,
            "frame_timestamp": "2031-01-01T00:00:00",
            "fps": 10,
        }
        own = {"type": "numpy_object", "value": PIXELS, "video_metadata": frame}
        rows = run(definition, {"image": [PIXELS, own]}, fps=25)
        found = [
            (row["o"].video_metadata.fps, row["o"].video_metadata.video_identifier) for row in rows
        ]
        assert found == [(25, "image.[0]"), (10, "cam")]

    def test_frame_rate_does_not_change_the_callers_image(self) -> None:
        """An image object given by the caller keeps its metadata."""
        definition = workflow([IMAGE], [], {"o": "$inputs.image"})
        image = run(definition, {"image": PIXELS})[0]["o"]
        rated = run(definition, {"image": image}, fps=25)[0]["o"]
        assert (rated.video_metadata.fps, image.video_metadata.fps) == (25, 30)
        assert not image.has_video_metadata


class TestParameters:
    def test_default_and_given(self) -> None:
        """A parameter that is not given takes its default, one given as null is null."""
        definition = workflow(
            [parameter("p", 5), parameter("q")], [], {"p": "$inputs.p", "q": "$inputs.q"}
        )
        assert run(definition) == [{"p": 5, "q": None}]
        assert run(definition, {"p": None, "q": 1}) == [{"p": None, "q": 1}]

    def test_unknown_keys_are_ignored(self) -> None:
        """Values that no input declares do nothing."""
        assert run(ECHO_X, {"x": 1, "y": object()}) == [{"x": 1}]

    def test_is_not_decoded_by_kind(self) -> None:
        """Kinds of a parameter choose the serialiser only."""
        definition = workflow([parameter("p", kind=["integer"])], [], {"p": "$inputs.p"})
        assert run(definition, {"p": "no integer"}) == [{"p": "no integer"}]

    def test_is_checked_against_the_field_it_feeds(self) -> None:
        """A value that the field would not take as a literal is refused before any step runs."""
        calls: list[Any] = []
        sized = block(
            "t/sized@v1",
            lambda size: (calls.append(size), {"out": size})[1],
            fields={"size": Union[PositiveInt, Selector(kind=[INTEGER_KIND])]},
        )
        definition = workflow(
            [parameter("p")], [step("t/sized@v1", "s", size="$inputs.p")], {"o": "$steps.s.out"}
        )
        assert run(definition, {"p": 3}, sized) == [{"o": 3}]
        calls.clear()
        message = _refused(definition, {"p": -1}, sized)
        assert message.startswith(
            "Parameter 'p' is a number -1, which 'size' of step 's' does not take: "
        )
        message = _refused(definition, {}, sized)
        assert message.startswith(
            "Parameter 'p' is null (it was not given and has no default), which 'size' of step "
            "'s' does not take: "
        )
        assert calls == []

    def test_is_handed_over_as_the_field_takes_it(self) -> None:
        """A value the field converts arrives converted, in that step alone."""
        sized = block(
            "t/sized@v1",
            lambda size: {"out": size},
            fields={"size": Union[int, Selector(kind=[INTEGER_KIND])]},
        )
        definition = workflow(
            [parameter("p")],
            [step("t/sized@v1", "s", size="$inputs.p"), step("pass", "q", x="$inputs.p")],
            {"s": "$steps.s.out", "q": "$steps.q.out"},
        )
        assert run(definition, {"p": "12"}, sized) == [{"s": 12, "q": "12"}]

    def test_into_a_field_that_takes_references_only(self) -> None:
        """A field without literal forms takes any parameter: there is nothing to check against."""
        only = block("t/only@v1", lambda x: {"out": x}, fields={"x": Selector(kind=[STRING_KIND])})
        definition = workflow(
            [parameter("p", kind=["string"])],
            [step("t/only@v1", "o", x="$inputs.p")],
            {"o": "$steps.o.out"},
        )
        assert run(definition, {"p": "plain text"}, only) == [{"o": "plain text"}]

    def test_inside_a_list_is_not_checked(self) -> None:
        """Elements of lists and objects are handed over as they are."""
        listed = block(
            "t/listed@v1",
            lambda xs: {"out": xs},
            fields={"xs": list[Union[int, Selector(kind=[INTEGER_KIND])]]},
        )
        definition = workflow(
            [parameter("p")], [step("t/listed@v1", "l", xs=["$inputs.p", 1])], {"o": "$steps.l.out"}
        )
        assert run(definition, {"p": "x"}, listed) == [{"o": ["x", 1]}]


class TestCallersData:
    def test_is_never_changed(self) -> None:
        """Neither the mapping nor the lists nor the nested objects of the caller change."""
        given = {
            "image": [PIXELS, {"type": "numpy_object", "value": PIXELS}],
            "y": [[1], [2, 3]],
            "p": [1, [2]],
            "extra": {"a": 1},
        }
        before = copy.deepcopy(given)
        members = given.copy()
        definition = workflow(
            [IMAGE, batch_input("y", 2), parameter("p")],
            [step("split", "s", n="$inputs.y"), step("pass", "q", x="$inputs.p")],
            {"i": "$inputs.image", "y": "$inputs.y", "s": "$steps.s.out", "q": "$steps.q.out"},
        )
        run(definition, given, serialize_results=True)
        np.testing.assert_equal(given, before)
        assert all(given[name] is value for name, value in members.items())

    def test_mapping_may_be_read_only(self) -> None:
        """Any mapping will do."""
        from types import MappingProxyType

        with ExecutionEngine.init(ECHO_X, registry=toy_registry()) as engine:
            assert engine.run(MappingProxyType({"x": [1]})) == [{"x": 1}]

    def test_pixels_stay_writable_for_the_caller(self) -> None:
        """Blocks see read-only pixels, the caller's array is not locked."""
        pixels = PIXELS.copy()
        run(workflow([IMAGE], [], {"i": "$inputs.image"}), {"image": pixels})
        assert pixels.flags.writeable
