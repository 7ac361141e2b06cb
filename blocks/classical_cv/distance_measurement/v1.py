"""Measures the distance of two objects in pixels and centimetres."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Literal

from pydantic import ConfigDict, Field

from blocks.classical_cv.distance_measurement.family import Axis, box_of, gap_px, pixels_per_cm
from blocks.parameters import number
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
    INTEGER_KIND,
    OBJECT_DETECTION_PREDICTION_KIND,
    STRING_KIND,
)

if TYPE_CHECKING:
    import supervision as sv

Positive = Annotated[float, Field(gt=0)]


class DistanceMeasurementManifest(WorkflowBlockManifest):
    model_config = ConfigDict(
        json_schema_extra={
            "name": "Distance Measurement",
            "version": "v1",
            "short_description": "Measure the distance of two objects along an axis.",
            "long_description": (
                "Measures the gap between the boxes of two classes along the horizontal or the "
                "vertical axis, in pixels and in centimetres. Objects that share a part of the "
                "axis have distance 0. The scale comes from an object of known size in the picture "
                "or is given as pixels per centimetre. Of several detections of a class the most "
                "confident one counts; for twice the same class, the two most confident ones."
            ),
            "license": "Apache-2.0",
            "block_type": "classical_computer_vision",
            "search_keywords": ["gap", "spacing", "calibration", "centimeter", "reference"],
        }
    )
    type: Literal["roboflow_core/distance_measurement@v1"]
    predictions: Selector(
        kind=[OBJECT_DETECTION_PREDICTION_KIND, INSTANCE_SEGMENTATION_PREDICTION_KIND]
    ) = Field(
        title="Predictions",
        description="Detections of both objects, and of the reference object.",
        examples=["$steps.model.predictions"],
    )
    object_1_class_name: str = Field(
        title="First Object",
        description="Class of the first object.",
        examples=["car"],
    )
    object_2_class_name: str = Field(
        title="Second Object",
        description="Class of the second object.",
        examples=["person"],
    )
    reference_axis: Literal["horizontal", "vertical"] = Field(
        title="Reference Axis",
        description="Axis along which the distance is measured.",
    )
    calibration_method: Literal["reference object", "pixel to centimeter"] = Field(
        title="Calibration Method",
        description="Where the scale comes from.",
    )
    reference_object_class_name: str | Selector(kind=[STRING_KIND]) = Field(
        default="reference-object",
        title="Reference Object",
        description="Class of the object of known size.",
        examples=["reference-object", "$inputs.reference_object_class_name"],
    )
    reference_width: Positive | Selector(kind=[FLOAT_KIND]) = Field(
        default=2.5,
        title="Reference Width",
        description="Width of the reference object, cm.",
        examples=[2.5, "$inputs.reference_width"],
    )
    reference_height: Positive | Selector(kind=[FLOAT_KIND]) = Field(
        default=2.5,
        title="Reference Height",
        description="Height of the reference object, cm.",
        examples=[2.5, "$inputs.reference_height"],
    )
    pixel_ratio: Positive | Selector(kind=[FLOAT_KIND]) = Field(
        default=100,
        title="Pixel Ratio",
        description="Pixels of one centimetre.",
        examples=[60, "$inputs.pixel_ratio"],
    )

    @classmethod
    def describe_outputs(cls) -> list[OutputDefinition]:
        return [
            OutputDefinition("distance_cm", [INTEGER_KIND]),
            OutputDefinition("distance_pixel", [INTEGER_KIND]),
        ]

    @classmethod
    def get_execution_engine_compatibility(cls) -> str | None:
        return ">=1.0.0,<2.0.0"


class DistanceMeasurementBlockV1(WorkflowBlock):
    returns_futures = False

    @classmethod
    def get_manifest(cls) -> type[WorkflowBlockManifest]:
        return DistanceMeasurementManifest

    def run(
        self,
        predictions: sv.Detections,
        object_1_class_name: str,
        object_2_class_name: str,
        reference_axis: Axis,
        calibration_method: Literal["reference object", "pixel to centimeter"],
        reference_object_class_name: str,
        reference_width: float,
        reference_height: float,
        pixel_ratio: float,
    ) -> BlockResult:
        """`distance_cm`: the gap in cm, with its fraction; `distance_pixel`: in whole px."""
        first = box_of(predictions, object_1_class_name, "object_1_class_name")
        rank = int(object_1_class_name == object_2_class_name)
        second = box_of(predictions, object_2_class_name, "object_2_class_name", rank)
        if calibration_method == "reference object":
            reference = box_of(
                predictions, reference_object_class_name, "reference_object_class_name"
            )
            scale = pixels_per_cm(reference, reference_width, reference_height)
        elif calibration_method == "pixel to centimeter":
            scale = number("pixel_ratio", pixel_ratio)
        else:
            raise InvalidFieldValueError(
                '`calibration_method` must be "reference object" or "pixel to centimeter", got '
                f"{calibration_method!r:.60}"
            )
        if not scale > 0:
            raise InvalidFieldValueError(f"`pixel_ratio` must be positive, got {scale!r:.60}")
        gap = gap_px(first, second, reference_axis)
        return {"distance_cm": gap / scale, "distance_pixel": round(gap)}
