"""Enlarges the boxes of detections."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any, ClassVar, Literal

from pydantic import AliasChoices, ConfigDict, Field

from blocks.kinds.prediction_kinds import DETECTIONS_KINDS
from blocks.parameters import FARTHEST_PLACE, number
from blocks.transformations.detection_offset.family import Units, enlarged
from execution_engine.block_api import (
    Batch,
    BlockResult,
    OutputDefinition,
    Selector,
    WorkflowBlock,
    WorkflowBlockManifest,
)
from execution_engine.kinds.catalogue import INTEGER_KIND

if TYPE_CHECKING:
    import supervision as sv


class DetectionOffsetManifest(WorkflowBlockManifest):
    model_config = ConfigDict(
        json_schema_extra={
            "name": "Detection Offset",
            "version": "v1",
            "short_description": "Add a margin around detections.",
            "long_description": (
                "Makes the boxes of detections larger by pixels or by percent of their size, half "
                "of it on each side, as far as the image goes. The results are children of the "
                "detections they come from. Useful to give crops some surroundings."
            ),
            "license": "Apache-2.0",
            "block_type": "transformation",
            "search_keywords": ["padding", "margin", "grow", "expand", "context"],
        }
    )
    type: Literal["roboflow_core/detection_offset@v1", "DetectionOffset"]
    predictions: Selector(kind=[*DETECTIONS_KINDS]) = Field(
        title="Predictions",
        description="Detections with the boxes to enlarge.",
        examples=["$steps.model.predictions"],
    )
    offset_width: int | Selector(kind=[INTEGER_KIND]) = Field(
        title="Offset Width",
        description="What the width grows by, px or percent.",
        examples=[10, "$inputs.offset_x"],
        validation_alias=AliasChoices("offset_width", "offset_x"),
    )
    offset_height: int | Selector(kind=[INTEGER_KIND]) = Field(
        title="Offset Height",
        description="What the height grows by, px or percent.",
        examples=[10, "$inputs.offset_y"],
        validation_alias=AliasChoices("offset_height", "offset_y"),
    )
    units: Literal["Percent (%)", "Pixels"] = Field(
        default="Pixels",
        title="Units",
        description="Unit of both offsets; percent are of the size of each box.",
    )

    @classmethod
    def get_parameters_accepting_batches(cls) -> list[str]:
        return ["predictions"]

    @classmethod
    def describe_outputs(cls) -> list[OutputDefinition]:
        return [OutputDefinition("predictions", [*DETECTIONS_KINDS])]

    @classmethod
    def get_execution_engine_compatibility(cls) -> str | None:
        return ">=1.3.0,<2.0.0"


class DetectionOffsetBlockV1(WorkflowBlock):
    returns_futures = False
    enlarged: ClassVar[Callable[..., Any]] = staticmethod(enlarged)

    @classmethod
    def get_manifest(cls) -> type[WorkflowBlockManifest]:
        return DetectionOffsetManifest

    def run(
        self,
        predictions: Batch[sv.Detections],
        offset_width: int,
        offset_height: int,
        units: Units,
    ) -> BlockResult:
        """`predictions`: the detections with larger boxes and fresh ids."""
        width = number("offset_width", offset_width, -FARTHEST_PLACE, FARTHEST_PLACE)
        height = number("offset_height", offset_height, -FARTHEST_PLACE, FARTHEST_PLACE)
        return [
            {"predictions": self.enlarged(detections, width, height, units)}
            for detections in predictions
        ]
