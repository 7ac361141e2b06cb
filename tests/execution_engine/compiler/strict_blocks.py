"""Toy blocks with fields of every sort, for definitions that do not fit them."""

from __future__ import annotations

from typing import Any, Literal, Union

import pytest
from pydantic import PositiveInt, field_validator

from execution_engine import BlockRegistry, KnownBlock, Plugin, compile_definition, find_problems
from execution_engine.block_api import (
    OutputDefinition,
    Selector,
    StepOutputSelector,
    StepSelector,
    WorkflowParameterSelector,
)
from execution_engine.errors import (
    WorkflowCompilerError,
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
    toy_registry,
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


def check_problems(
    definition: Any, error: type[WorkflowCompilerError], problems: list[tuple[str, str, str]]
) -> None:
    """Asserts that a definition has exactly these problems (code, place, text), and that compiling
    it raises one error of this class that carries and lists them.
    """
    found = find_problems(definition, REGISTRY)
    assert [(item.code, item.where, item.message) for item in found] == problems
    with pytest.raises(WorkflowCompilerError) as caught:
        compile_definition(definition, REGISTRY)
    assert type(caught.value) is error
    assert list(caught.value.errors) == found
    text = str(caught.value)
    assert text == caught.value.public_message
    if len(problems) == 1:
        assert text == str(found[0])
    else:
        first, *lines = text.splitlines()
        assert first == f"The workflow definition has {len(problems)} problems:"
        assert lines == [f"  {number}. {item}" for number, item in enumerate(found, 1)]
