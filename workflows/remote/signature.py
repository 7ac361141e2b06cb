"""`Signature`: what a workflow takes and gives and whether it may run twice, learnt from its plan
or from a server's description. Reads no value.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from execution_engine.definition.model import (
    BATCH_INPUT_TYPE,
    IMAGE_INPUT_TYPES,
    PARAMETER_INPUT_TYPES,
    VIDEO_METADATA_INPUT_TYPE,
)
from execution_engine.plan import SINGLE, OutputPlan, Plan

IMAGE = "image"
ANYTHING = ("*",)
# Groups of blocks that act on the world outside: running them twice does a thing twice.
ACTING_BLOCK_TYPES = frozenset({"sink", "sinks", "notification", "notifications"})
# Sources of blocks whose code came with the definition; nobody knows what it does.
_UNKNOWN_CODE_SOURCES = frozenset({"dynamic_workflows_blocks"})


@dataclass(frozen=True, slots=True)
class InputShape:
    """One input.

    Attributes:
        kinds: its kinds; None when they are not known.
        depth: depth of the nesting of its batch, 0 for one value a run; None when not known.
    """

    kinds: tuple[str, ...] | None = None
    depth: int | None = None

    @property
    def is_image(self) -> bool:
        """Whether images are given for it."""
        return self.kinds is not None and IMAGE in self.kinds


@dataclass(frozen=True, slots=True)
class OutputShape:
    """One output.

    Attributes:
        kinds: its kinds, or kinds by name when it is an object of all outputs of a step.
        depth: how many lists lie around each value; None when that is not known.
    """

    kinds: tuple[str, ...] | Mapping[str, tuple[str, ...]]
    depth: int | None = None


@dataclass(frozen=True, slots=True)
class Signature:
    """What a workflow takes and gives.

    Attributes:
        inputs: by name.
        outputs: by name.
        repeatable: whether running it twice is the same as running it once. False when a step
            writes files, sends messages and the like, and when nobody here knows.
        acting_steps: the steps for which it is not.
        is_batched: whether some output has one value for each element of the batch, so that there
            is a row for each; None when that is not known.
    """

    inputs: Mapping[str, InputShape] = field(default_factory=dict)
    outputs: Mapping[str, OutputShape] = field(default_factory=dict)
    repeatable: bool = False
    acting_steps: tuple[str, ...] = ()
    is_batched: bool | None = None


def signature_of_plan(plan: Plan) -> Signature:
    """All of it, from a workflow that compiled here."""
    acting = tuple(
        step.name
        for step in plan.steps
        if step.spec.block_type in ACTING_BLOCK_TYPES or step.spec.source in _UNKNOWN_CODE_SOURCES
    )
    return Signature(
        inputs={
            item.declaration.name: InputShape(
                # Parameters are never images: text in them is text, not the name of a file.
                () if item.declaration.is_parameter else tuple(item.declaration.kinds),
                item.declaration.dimensionality,
            )
            for item in plan.inputs
        },
        outputs={
            output.name: OutputShape(_kinds(output), _depth(output, plan))
            for output in plan.outputs
        },
        repeatable=not acting,
        acting_steps=acting,
        is_batched=any(output.axis != SINGLE and not output.generated for output in plan.outputs),
    )


def signature_of_description(described: Mapping[str, Any]) -> Signature:
    """What an answer of the interface routes says: names and kinds, but not whether it acts.

    Raises:
        ValueError: it is no such answer.
    """
    inputs, outputs = described.get("inputs"), described.get("outputs")
    if not isinstance(inputs, Mapping) or not isinstance(outputs, Mapping):
        raise ValueError("an interface has `inputs` and `outputs` as objects")
    return Signature(
        inputs={str(name): InputShape(_names(kinds)) for name, kinds in inputs.items()},
        outputs={
            str(name): OutputShape(
                {str(member): _names(own) for member, own in kinds.items()}
                if isinstance(kinds, Mapping)
                else _names(kinds)
            )
            for name, kinds in outputs.items()
        },
    )


def signature_of_definition(definition: Any) -> Signature:
    """The inputs a definition declares, read without its blocks. Kinds of outputs stay unknown."""
    declared = definition.get("inputs") if isinstance(definition, Mapping) else None
    inputs = {}
    for item in declared if isinstance(declared, list) else ():
        if isinstance(item, Mapping) and isinstance(item.get("name"), str):
            kinds = item.get("kind") if item.get("type") == BATCH_INPUT_TYPE else []
            if item.get("type") in IMAGE_INPUT_TYPES:
                kinds = [IMAGE]
            inputs[item["name"]] = InputShape(_names(kinds), _declared_depth(item))
    return Signature(inputs=inputs)


def _declared_depth(item: Mapping[str, Any]) -> int | None:
    if item.get("type") in PARAMETER_INPUT_TYPES:
        return 0
    if item.get("type") in IMAGE_INPUT_TYPES:
        return 1
    depth = item.get("dimensionality", 1)
    is_known = item.get("type") in (BATCH_INPUT_TYPE, VIDEO_METADATA_INPUT_TYPE)
    return depth if is_known and isinstance(depth, int) and depth > 0 else None


def _kinds(output: OutputPlan) -> tuple[str, ...] | dict[str, tuple[str, ...]]:
    if output.is_object:
        return {name: tuple(kinds) for name, _, kinds in output.members}
    return tuple(output.members[0][2])


def _depth(output: OutputPlan, plan: Plan) -> int:
    """Lists around a value in one row: one less than its depth, except on a generated axis, where
    every row holds the whole list."""
    if output.axis == SINGLE:
        return 0
    depth = plan.depth(output.axis)
    return depth if output.generated else depth - 1


def _names(kinds: Any) -> tuple[str, ...]:
    if not isinstance(kinds, (list, tuple)):
        return ANYTHING
    return tuple(
        str(kind.get("name")) if isinstance(kind, Mapping) else str(kind) for kind in kinds
    )
