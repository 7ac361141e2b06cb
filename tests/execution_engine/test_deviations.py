"""Where Roboflow Workflows is wrong or silent, and what is done here instead. One test a point."""

from __future__ import annotations

import copy
import json
from typing import Any

import numpy as np

from execution_engine.block_api import Selector
from execution_engine.kinds.catalogue import STRING_KIND
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

IMAGE = {"type": "WorkflowImage", "name": "image"}


def test_dollar_sign_can_be_escaped() -> None:
    """There no text of a field that takes references can begin with `$`; here `$$` stands for
    it.
    """
    definition = workflow([], [step("pass", "p", x="$$5")], {"o": "$steps.p.out"})
    assert run(definition) == [{"o": "$5"}]


def test_empty_batch_is_answered() -> None:
    """There an empty list is refused; here it is a batch of nothing."""
    definition = workflow(
        [batch_input("x")], [step("pass", "p", x="$inputs.x")], {"o": "$steps.p.out"}
    )
    assert run(definition, {"x": []}) == []


def test_single_predictions_are_moved_to_the_input_image() -> None:
    """There only batched predictions are moved to the space of the input image; here single ones
    too.
    """
    made = block(
        "t/m@v1", lambda: {"out": Marks([(1, 2)], offset=(10, 20))}, outputs={"out": [MARKS_KIND]}
    )
    registry = toy_registry(made, plugins=[marks_plugin()])
    rows = run(workflow([], [step("t/m@v1", "m")], {"o": "$steps.m.out"}), registry=registry)
    assert rows[0]["o"].points == [(11, 22)]


def test_parameter_feeds_a_field_of_references_only() -> None:
    """There such a field refuses every plain value of a parameter; here there is nothing to check
    it against.
    """
    only = block("t/o@v1", lambda x: {"out": x}, fields={"x": Selector(kind=[STRING_KIND])})
    definition = workflow(
        [parameter("p")], [step("t/o@v1", "o", x="$inputs.p")], {"o": "$steps.o.out"}
    )
    assert run(definition, {"p": "text"}, only) == [{"o": "text"}]


def test_run_leaves_the_callers_dictionary_alone() -> None:
    """There decoded values are written back into what the caller passed; here nothing is."""
    given: dict[str, Any] = {"image": np.zeros((2, 2, 3), np.uint8), "x": [[1], [2, 3]]}
    before = copy.copy(given)
    run(workflow([IMAGE, batch_input("x", 2)], [], {"i": "$inputs.image"}), given)
    assert given.keys() == before.keys()
    assert all(given[name] is value for name, value in before.items())


def test_nested_input_as_output() -> None:
    """There a nested batch input that is an output comes back wrong; here as the nested lists that
    were given.
    """
    definition = workflow([batch_input("x", 2)], [], {"x": "$inputs.x"})
    assert run(definition, {"x": [[1, 2], [3]]}) == [{"x": [1, 2]}, {"x": [3]}]
    assert run(definition, {"x": [[None]]}) == [{"x": [None]}]


def test_serialised_results_are_json() -> None:
    """There the time of a frame stays a Python object in serialised results; here it is ISO-8601
    text.
    """
    rows = run(
        workflow([IMAGE], [], {"i": "$inputs.image"}),
        {"image": np.zeros((2, 2, 3), np.uint8)},
        serialize_results=True,
    )
    stamp = json.loads(json.dumps(rows))[0]["i"]["video_metadata"]["frame_timestamp"]
    assert isinstance(stamp, str)
    assert "T" in stamp


def test_outputs_keep_the_order_of_the_definition() -> None:
    """There single values come before batches and generated lists; here outputs are in the order
    they are written.
    """
    definition = workflow(
        [batch_input("x"), parameter("p")],
        [step("generate", "g")],
        {"g": "$steps.g.out", "x": "$inputs.x", "p": "$inputs.p"},
    )
    assert list(run(definition, {"x": [1]})[0]) == ["g", "x", "p"]


def test_kind_mismatch_names_step_and_field() -> None:
    """There a kind mismatch names no block; here it does, like every other problem."""
    import pytest

    from execution_engine.errors import ReferenceTypeError

    only = block("t/o@v1", lambda x: {"out": x}, fields={"x": Selector(kind=[STRING_KIND])})
    definition = workflow([IMAGE], [step("t/o@v1", "o", x="$inputs.image")])
    with pytest.raises(ReferenceTypeError) as caught:
        run(definition, {}, only)
    (entry,) = caught.value.blocks_errors
    assert (entry.block_id, entry.property_name) == ("o", "x")
