"""How a manifest says "this field may hold a reference". Parsing of reference texts lives in
`definition`.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Annotated, Any, Literal

from pydantic import Field, StringConstraints

from execution_engine.kinds.catalogue import (
    IMAGE_KIND,
    VIDEO_METADATA_KIND,
    WILDCARD_KIND,
)
from execution_engine.kinds.kind import Kind

Element = Literal[
    "any_data",
    "step",
    "step_output",
    "workflow_image",
    "workflow_parameter",
    "workflow_video_metadata",
]
PointsToBatch = Literal["dynamic"] | bool

_NAME = r"[A-Za-z_0-9\-]+"
INPUT_PATTERN = rf"^\$inputs\.{_NAME}$"
STEP_OUTPUT_PATTERN = rf"^\$steps\.{_NAME}\.[A-Za-z_*0-9\-]+$"
ANY_DATA_PATTERN = rf"^(\$inputs\.{_NAME}|\$steps\.{_NAME}\.[A-Za-z_*0-9\-]+)$"
STEP_PATTERN = rf"^\$steps\.{_NAME}$"


@dataclass(frozen=True, slots=True)
class SelectorMarker:
    """Marks an annotation as a place for a reference; the digest of a manifest looks for it.

    Attributes:
        element: what may be referred to.
        kinds: names of the accepted kinds.
        points_to_batch: True, False, or "dynamic" when the block's hooks decide.
    """

    element: Element
    kinds: tuple[str, ...] = ()
    points_to_batch: PointsToBatch = "dynamic"


def _reference(
    pattern: str, element: Element, kinds: Sequence[Kind], points_to_batch: PointsToBatch
) -> Any:
    extra: dict[str, Any] = {"reference": True, "selected_element": element}
    if element != "step":
        extra["kind"] = [kind.to_dict() for kind in kinds]
    if points_to_batch is not False:
        extra["selector_points_to_batch"] = points_to_batch
    marker = SelectorMarker(element, tuple(kind.name for kind in kinds), points_to_batch)
    return Annotated[
        str, StringConstraints(pattern=pattern), Field(json_schema_extra=extra), marker
    ]


def Selector(kind: Sequence[Kind] | None = None) -> Any:  # noqa: N802 - the name plug-ins import
    """Annotation of a field that takes a reference to an input or step output of these kinds."""
    return _reference(ANY_DATA_PATTERN, "any_data", kind or [WILDCARD_KIND], "dynamic")


def StepOutputSelector(kind: Sequence[Kind] | None = None) -> Any:  # noqa: N802
    """Annotation of a field that takes a reference to a step output only."""
    return _reference(STEP_OUTPUT_PATTERN, "step_output", kind or [WILDCARD_KIND], True)


def WorkflowParameterSelector(kind: Sequence[Kind] | None = None) -> Any:  # noqa: N802
    """Annotation of a field that takes a reference to a workflow parameter only."""
    return _reference(INPUT_PATTERN, "workflow_parameter", kind or [WILDCARD_KIND], False)


StepSelector = _reference(STEP_PATTERN, "step", (), False)
WorkflowImageSelector = _reference(INPUT_PATTERN, "workflow_image", [IMAGE_KIND], True)
WorkflowVideoMetadataSelector = _reference(
    INPUT_PATTERN, "workflow_video_metadata", [VIDEO_METADATA_KIND], True
)
StepOutputImageSelector = StepOutputSelector(kind=[IMAGE_KIND])
