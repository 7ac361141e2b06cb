"""Makes polygon zones out of masks."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Literal

from pydantic import ConfigDict, Field

from blocks.transformations.dynamic_zone.zones import zones_around
from execution_engine.block_api import (
    Batch,
    BlockResult,
    OutputDefinition,
    Selector,
    WorkflowBlock,
    WorkflowBlockManifest,
)
from execution_engine.errors import InvalidFieldValueError
from execution_engine.kinds.catalogue import (
    BOOLEAN_KIND,
    FLOAT_KIND,
    FLOAT_ZERO_TO_ONE_KIND,
    INSTANCE_SEGMENTATION_PREDICTION_KIND,
    INTEGER_KIND,
    LIST_OF_VALUES_KIND,
)
from execution_engine.value_text import short_text

if TYPE_CHECKING:
    import supervision as sv


MOST_VERTICES = 1000
# Zones far larger than any picture take seconds to draw and leave the range of pixel coordinates.
LARGEST_SCALE = 100


class DynamicZoneManifest(WorkflowBlockManifest):
    model_config = ConfigDict(
        json_schema_extra={
            "name": "Dynamic Zone",
            "version": "v1",
            "short_description": "Make convex polygon zones out of masks.",
            "long_description": (
                "Simplifies the largest part of each mask to a convex polygon with the number of "
                "corners that is asked for, to be used as a zone by later steps. The sides can be "
                "fitted to the outline of the mask, and the polygon can be made larger or smaller. "
                "`simplification_converged` is false when a mask does not have enough corners, or "
                "corners had to be taken away one by one."
            ),
            "license": "Apache-2.0",
            "block_type": "transformation",
            "search_keywords": ["zone", "polygon", "simplify", "convex", "region"],
        }
    )
    type: Literal["roboflow_core/dynamic_zone@v1", "DynamicZone"]
    predictions: Selector(kind=[INSTANCE_SEGMENTATION_PREDICTION_KIND]) = Field(
        title="Predictions",
        description="Detections with masks.",
        examples=["$steps.segmentation.predictions"],
    )
    required_number_of_vertices: Annotated[int, Field(ge=3)] | Selector(
        kind=[INTEGER_KIND]
    ) = Field(
        title="Required Number Of Vertices",
        description="Corners of each zone.",
        examples=[4, "$inputs.vertices"],
    )
    scale_ratio: Annotated[float, Field(gt=0)] | Selector(kind=[FLOAT_KIND]) = Field(
        default=1,
        title="Scale Ratio",
        description="Factor that zones grow by around their middle.",
        examples=[1.05, "$inputs.scale_ratio"],
    )
    apply_least_squares: bool | Selector(kind=[BOOLEAN_KIND]) = Field(
        default=False,
        title="Apply Least Squares",
        description="Fit the sides of a zone to the outline of the mask.",
        examples=[True, "$inputs.apply_least_squares"],
    )
    midpoint_fraction: Annotated[float, Field(ge=0, le=1)] | Selector(
        kind=[FLOAT_ZERO_TO_ONE_KIND]
    ) = Field(
        default=1,
        title="Midpoint Fraction",
        description="Middle part of each side of the outline that is fitted, 0 to 1.",
        examples=[0.9, "$inputs.midpoint_fraction"],
    )

    @classmethod
    def get_parameters_accepting_batches(cls) -> list[str]:
        return ["predictions"]

    @classmethod
    def describe_outputs(cls) -> list[OutputDefinition]:
        return [
            OutputDefinition("zones", [LIST_OF_VALUES_KIND]),
            OutputDefinition("predictions", [INSTANCE_SEGMENTATION_PREDICTION_KIND]),
            OutputDefinition("simplification_converged", [BOOLEAN_KIND]),
        ]

    @classmethod
    def get_execution_engine_compatibility(cls) -> str | None:
        return ">=1.3.0,<2.0.0"


class DynamicZoneBlockV1(WorkflowBlock):
    returns_futures = False

    @classmethod
    def get_manifest(cls) -> type[WorkflowBlockManifest]:
        return DynamicZoneManifest

    def run(
        self,
        predictions: Batch[sv.Detections],
        required_number_of_vertices: int,
        scale_ratio: float,
        apply_least_squares: bool,
        midpoint_fraction: float,
    ) -> BlockResult:
        """`zones`: a polygon a mask, lists of [x, y] px; `predictions`: the detections with zones
        for masks; `simplification_converged`: whether every zone has its corners by itself."""
        if not 3 <= required_number_of_vertices <= MOST_VERTICES:
            raise InvalidFieldValueError(
                f"`required_number_of_vertices` must lie in 3 to {MOST_VERTICES}, got "
                f"{short_text(required_number_of_vertices)}"
            )
        if not 0 < scale_ratio <= LARGEST_SCALE:
            raise InvalidFieldValueError(
                f"`scale_ratio` must be positive and at most {LARGEST_SCALE}, got "
                f"{short_text(scale_ratio)}"
            )
        if not 0 <= midpoint_fraction <= 1:
            raise InvalidFieldValueError(
                f"`midpoint_fraction` must lie in 0 to 1, got {short_text(midpoint_fraction)}"
            )
        results = []
        for detections in predictions:
            found = zones_around(
                detections,
                required_number_of_vertices,
                scale_ratio,
                apply_least_squares,
                midpoint_fraction,
            )
            results.append(
                {
                    "zones": found.zones,
                    "predictions": found.predictions,
                    "simplification_converged": found.converged,
                }
            )
        return results
