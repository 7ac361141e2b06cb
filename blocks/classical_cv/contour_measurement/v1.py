"""Contour Measurement, version 1. Measuring and drawing are in `family`."""

from __future__ import annotations

from typing import Literal

import numpy as np
from pydantic import ConfigDict, Field, NonNegativeFloat

from blocks.classical_cv.contour_measurement.family import draw_measures, measure_contours
from blocks.classical_cv.image_manifest import ImageInputManifest
from blocks.parameters import whole_number
from execution_engine.block_api import (
    BlockResult,
    OutputDefinition,
    Selector,
    WorkflowBlock,
    WorkflowBlockManifest,
    WorkflowImageData,
)
from execution_engine.kinds.catalogue import (
    CONTOURS_KIND,
    FLOAT_KIND,
    IMAGE_KIND,
    INTEGER_KIND,
    LIST_OF_VALUES_KIND,
)


class ContourMeasurementManifest(ImageInputManifest):
    """Fields of a Contour Measurement step."""

    model_config = ConfigDict(
        json_schema_extra={
            "name": "Contour Measurement",
            "version": "v1",
            "short_description": "Measures outlines and draws them, numbered, on an image.",
            "long_description": (
                "Takes the outlines that Image Contours finds, leaves out those that enclose too "
                "little, and gives their number, areas, perimeters, centres and boxes, all in the "
                "order of the outlines. The image is usually the photograph the outlines were "
                "found on, before it was thresholded."
            ),
            "license": "Apache-2.0",
            "block_type": "classical_computer_vision",
            "search_keywords": ["area", "perimeter", "count", "outline", "measure"],
        }
    )
    type: Literal["weftlens/contour_measurement@v1"]
    contours: Selector(kind=[CONTOURS_KIND]) = Field(
        description="Outlines to measure.", examples=["$steps.contours.contours"]
    )
    min_area: NonNegativeFloat | Selector(
        kind=[FLOAT_KIND, INTEGER_KIND]
    ) = Field(default=0.0, description="Smallest area that counts, px².", examples=[100])
    line_thickness: int | Selector(
        kind=[INTEGER_KIND]
    ) = Field(default=2, description="Thickness of the drawn outlines, px.", examples=[2])

    @classmethod
    def describe_outputs(cls) -> list[OutputDefinition]:
        """The drawing and one list for each measure."""
        return [
            OutputDefinition("image", [IMAGE_KIND]),
            OutputDefinition("count", [INTEGER_KIND]),
            OutputDefinition("areas", [LIST_OF_VALUES_KIND]),
            OutputDefinition("perimeters", [LIST_OF_VALUES_KIND]),
            OutputDefinition("centers", [LIST_OF_VALUES_KIND]),
            OutputDefinition("boxes", [LIST_OF_VALUES_KIND]),
        ]


class ContourMeasurementBlockV1(WorkflowBlock):
    """Measures and draws outlines."""

    returns_futures = False

    @classmethod
    def get_manifest(cls) -> type[WorkflowBlockManifest]:
        """The manifest of this version."""
        return ContourMeasurementManifest

    def run(
        self,
        image: WorkflowImageData,
        contours: list[np.ndarray],
        min_area: float,
        line_thickness: int,
    ) -> BlockResult:
        """Measures the outlines of one image.

        Raises:
            ValueError: an outline holds no points, or the thickness is below 1.
        """
        thickness = whole_number("line_thickness", line_thickness, 1, 255)
        measures = measure_contours(contours, min_area)
        drawn = draw_measures(image.numpy_image, measures, thickness)
        return {
            "image": WorkflowImageData.copy_and_replace(image, numpy_image=drawn),
            "count": len(measures.areas),
            "areas": measures.areas,
            "perimeters": measures.perimeters,
            "centers": measures.centers,
            "boxes": measures.boxes,
        }
