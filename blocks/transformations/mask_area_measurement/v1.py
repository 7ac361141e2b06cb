"""Measures the area of detections in pixels and in real units."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Literal

import numpy as np
from pydantic import ConfigDict, Field

from blocks.kinds.detections.boxes import box_areas
from blocks.kinds.detections.columns import with_columns
from blocks.kinds.detections.masks import instance_masks
from execution_engine.block_api import (
    BlockResult,
    OutputDefinition,
    Selector,
    WorkflowBlock,
    WorkflowBlockManifest,
)
from execution_engine.errors import InvalidFieldValueError
from execution_engine.kinds.catalogue import (
    FLOAT_KIND,
    INSTANCE_SEGMENTATION_PREDICTION_KIND,
    OBJECT_DETECTION_PREDICTION_KIND,
)
from execution_engine.value_text import short_text

if TYPE_CHECKING:
    import supervision as sv

AREA_PX = "area_px"
AREA_CONVERTED = "area_converted"


# Its square is still a number.
LARGEST_UNIT_PX = 1e100


class MaskAreaMeasurementManifest(WorkflowBlockManifest):
    model_config = ConfigDict(
        json_schema_extra={
            "name": "Mask Area Measurement",
            "version": "v1",
            "short_description": "Measure the area of detections.",
            "long_description": (
                "Adds to every detection its area in pixels (`area_px`) and in real units "
                "(`area_converted`). With masks the area is the number of their pixels, without "
                "holes; otherwise it is that of the box. `pixels_per_unit` is a length: the area "
                "is divided by its square."
            ),
            "license": "Apache-2.0",
            "block_type": "transformation",
            "search_keywords": ["size", "surface", "measure", "calibration"],
        }
    )
    type: Literal["roboflow_core/mask_area_measurement@v1"]
    predictions: Selector(
        kind=[OBJECT_DETECTION_PREDICTION_KIND, INSTANCE_SEGMENTATION_PREDICTION_KIND]
    ) = Field(
        title="Predictions",
        description="Detections to measure.",
        examples=["$steps.model.predictions"],
    )
    pixels_per_unit: Annotated[float, Field(gt=0)] | Selector(kind=[FLOAT_KIND]) = Field(
        default=1.0,
        title="Pixels Per Unit",
        description="Pixels of one unit of length; 1 gives areas in pixels.",
        examples=[130.0, "$inputs.pixels_per_unit"],
    )

    @classmethod
    def describe_outputs(cls) -> list[OutputDefinition]:
        return [
            OutputDefinition(
                "predictions",
                [OBJECT_DETECTION_PREDICTION_KIND, INSTANCE_SEGMENTATION_PREDICTION_KIND],
            )
        ]

    @classmethod
    def get_execution_engine_compatibility(cls) -> str | None:
        return ">=1.3.0,<2.0.0"


class MaskAreaMeasurementBlockV1(WorkflowBlock):
    returns_futures = False

    @classmethod
    def get_manifest(cls) -> type[WorkflowBlockManifest]:
        return MaskAreaMeasurementManifest

    def run(self, predictions: sv.Detections, pixels_per_unit: float) -> BlockResult:
        """`predictions`: the detections with the columns `area_px` and `area_converted`."""
        if not 0 < pixels_per_unit <= LARGEST_UNIT_PX:
            raise InvalidFieldValueError(
                f"`pixels_per_unit` must be positive and at most {LARGEST_UNIT_PX:g}, got "
                f"{short_text(pixels_per_unit)}"
            )
        areas = areas_px(predictions)
        converted = areas / pixels_per_unit**2
        return {
            "predictions": with_columns(predictions, {AREA_PX: areas, AREA_CONVERTED: converted})
        }


def areas_px(detections: sv.Detections) -> np.ndarray:
    """(n,) float64 pixels of the masks, or areas of the boxes without masks, px^2."""
    masks = instance_masks(detections)
    if masks is None:
        return box_areas(detections.xyxy)
    return masks.areas.astype(np.float64)
