"""`Definition`: a workflow definition as typed parts that remember where they stood. No rule is
checked here.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

IMAGE_INPUT_TYPES = ("WorkflowImage", "InferenceImage")
VIDEO_METADATA_INPUT_TYPE = "WorkflowVideoMetadata"
BATCH_INPUT_TYPE = "WorkflowBatchInput"
PARAMETER_INPUT_TYPES = ("WorkflowParameter", "InferenceParameter")
INPUT_TYPES = (
    *IMAGE_INPUT_TYPES,
    VIDEO_METADATA_INPUT_TYPE,
    BATCH_INPUT_TYPE,
    *PARAMETER_INPUT_TYPES,
)
OUTPUT_TYPE = "JsonField"
INNER_WORKFLOW_TYPE = "roboflow_core/inner_workflow@v1"
"""The step that stands for the steps of another definition."""


@dataclass(frozen=True, slots=True)
class InputDeclaration:
    """One declared input.

    Attributes:
        type: one of `INPUT_TYPES`.
        name: name in `$inputs.<name>`.
        kinds: names of the kinds it may hold, in declared order.
        dimensionality: 0 for parameters, else the depth of nesting of its batch.
        default: value of a parameter that is not given.
        where: JSON pointer to the declaration.
    """

    type: str
    name: str
    kinds: tuple[str, ...]
    dimensionality: int
    default: Any
    where: str

    @property
    def is_parameter(self) -> bool:
        """Whether the input is one value for the whole run."""
        return self.dimensionality == 0


@dataclass(frozen=True, slots=True)
class StepDeclaration:
    """One step as written: its type, its name, its whole JSON object and its place."""

    type: str
    name: str
    body: Mapping[str, Any]
    where: str


@dataclass(frozen=True, slots=True)
class OutputDeclaration:
    """One response field; `coordinates_system` is `parent` (the input image's) or `own`."""

    name: str
    selector: str
    coordinates_system: str
    where: str


@dataclass(frozen=True, slots=True)
class StepGroup:
    """What an inner workflow has become: the names of its steps, and what its outputs are called.

    A control step may name the group to let all of its steps run.
    """

    steps: tuple[str, ...]
    outputs: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Definition:
    """A definition whose outer shape is right.

    Attributes:
        version: requested engine version as written.
        inputs: declared inputs in order.
        steps: steps in order.
        outputs: response fields in order.
        raw: the whole JSON object.
        unusable_inputs: names of inputs whose declaration is faulty, so not among `inputs`.
        groups: the inner workflows whose steps are among `steps`, by the name of their step.
    """

    version: str
    inputs: tuple[InputDeclaration, ...]
    steps: tuple[StepDeclaration, ...]
    outputs: tuple[OutputDeclaration, ...]
    raw: Mapping[str, Any] = field(repr=False)
    unusable_inputs: frozenset[str] = frozenset()
    groups: Mapping[str, StepGroup] = field(default_factory=dict)
