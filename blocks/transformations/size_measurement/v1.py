"""Measures objects against one of known size."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Literal

import numpy as np
from pydantic import ConfigDict, Field

from blocks.kinds.detections.columns import select
from blocks.parameters import FARTHEST_PLACE, number
from blocks.transformations.size_measurement.extents import (
    Extent,
    extent_of_polygon,
    extents_of,
)
from execution_engine.block_api import (
    BlockResult,
    OutputDefinition,
    Selector,
    WorkflowBlock,
    WorkflowBlockManifest,
)
from execution_engine.errors import InvalidFieldValueError
from execution_engine.kinds.catalogue import (
    INSTANCE_SEGMENTATION_PREDICTION_KIND,
    LIST_OF_VALUES_KIND,
    OBJECT_DETECTION_PREDICTION_KIND,
    STRING_KIND,
)
from execution_engine.value_text import short_text

if TYPE_CHECKING:
    import supervision as sv


class SizeMeasurementManifest(WorkflowBlockManifest):
    model_config = ConfigDict(
        json_schema_extra={
            "name": "Size Measurement",
            "version": "v1",
            "short_description": "Measure objects against one of known size.",
            "long_description": (
                "Measures width and height of objects in the unit in which the size of a reference "
                "object is given. The reference is the most confident of the reference detections, "
                "or a polygon. Objects with masks are measured along their own sides, others along "
                "their boxes. Objects and reference must lie at the same distance from the camera."
            ),
            "license": "Apache-2.0",
            "block_type": "transformation",
            "search_keywords": ["length", "width", "height", "calibration", "scale", "ruler"],
        }
    )
    type: Literal["roboflow_core/size_measurement@v1"]
    object_predictions: Selector(
        kind=[INSTANCE_SEGMENTATION_PREDICTION_KIND, OBJECT_DETECTION_PREDICTION_KIND]
    ) = Field(
        title="Object Predictions",
        description="Objects to measure.",
        examples=["$steps.model.predictions"],
    )
    reference_predictions: list[Any] | Selector(
        kind=[
            INSTANCE_SEGMENTATION_PREDICTION_KIND,
            OBJECT_DETECTION_PREDICTION_KIND,
            LIST_OF_VALUES_KIND,
        ]
    ) = Field(
        title="Reference Predictions",
        description="Detections of the reference object, or its outline as points [x, y].",
        examples=["$steps.reference.predictions", [[0, 0], [85, 0], [85, 54], [0, 54]]],
    )
    reference_dimensions: str | list[float] | Selector(kind=[STRING_KIND, LIST_OF_VALUES_KIND]) = (
        Field(
            title="Reference Dimensions",
            description="Width and height of the reference object, in any unit.",
            examples=[[4.5, 3.0], "4.5,3.0", "$inputs.reference_dimensions"],
        )
    )

    @classmethod
    def describe_outputs(cls) -> list[OutputDefinition]:
        return [OutputDefinition("dimensions", [LIST_OF_VALUES_KIND])]

    @classmethod
    def get_execution_engine_compatibility(cls) -> str | None:
        return ">=1.3.0,<2.0.0"


class SizeMeasurementBlockV1(WorkflowBlock):
    returns_futures = False

    @classmethod
    def get_manifest(cls) -> type[WorkflowBlockManifest]:
        return SizeMeasurementManifest

    def run(
        self,
        object_predictions: sv.Detections,
        reference_predictions: sv.Detections | list[Any],
        reference_dimensions: str | list[float],
    ) -> BlockResult:
        """`dimensions`: for each object `width`, `height`, `longer` and `shorter` in the unit of
        the reference, None for one without extent; None as a whole when there is no reference.
        """
        width, height = _dimensions(reference_dimensions)
        reference = _reference(reference_predictions)
        if reference is None:
            return {"dimensions": None}
        scale = width / reference[0], height / reference[1]
        return {"dimensions": [_measured(item, scale) for item in extents_of(object_predictions)]}


def _reference(given: sv.Detections | list[Any]) -> Extent | None:
    if isinstance(given, (list, tuple)):
        return extent_of_polygon(given)
    if not len(given):
        return None
    best = 0 if given.confidence is None else int(np.argmax(given.confidence))
    return extents_of(select(given, np.array([best])))[0]


def _measured(extent: Extent | None, scale: tuple[float, float]) -> dict[str, float] | None:
    if extent is None:
        return None
    width, height = extent[0] * scale[0], extent[1] * scale[1]
    return {
        "width": width,
        "height": height,
        "longer": max(width, height),
        "shorter": min(width, height),
    }


def _dimensions(given: Any) -> tuple[float, float]:
    """Width and height in the field `reference_dimensions`: two numbers, or a text of them."""
    parts = given.split(",") if isinstance(given, str) else given
    if not isinstance(parts, (list, tuple)) or len(parts) != 2:
        raise _refusal(given)
    try:
        numbers = [float(part) if isinstance(part, str) else part for part in parts]
    except ValueError:
        raise _refusal(given) from None
    width, height = (number("reference_dimensions", part, 0, FARTHEST_PLACE) for part in numbers)
    if not (width > 0 and height > 0):
        raise _refusal(given)
    return width, height


def _refusal(given: Any) -> InvalidFieldValueError:
    return InvalidFieldValueError(
        "Field `reference_dimensions` must be a positive width and height, as two numbers or as "
        f"text like `4.5,3.0`, got {short_text(given)}."
    )
