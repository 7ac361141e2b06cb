"""Gives detections of a drone's camera their place on the ground."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Any, Literal

from pydantic import ConfigDict, Field

from blocks.kinds.detections import keys
from blocks.kinds.detections.boxes import as_boxes, box_points
from blocks.parameters import FARTHEST_PLACE, number
from blocks.transformations.geotag_detection.projection import CameraPose, ground_places
from execution_engine.block_api import (
    BlockResult,
    OutputDefinition,
    Selector,
    WorkflowBlock,
    WorkflowBlockManifest,
    WorkflowImageData,
)
from execution_engine.errors import InvalidFieldValueError
from execution_engine.kinds.catalogue import (
    DICTIONARY_KIND,
    FLOAT_KIND,
    IMAGE_KIND,
    INSTANCE_SEGMENTATION_PREDICTION_KIND,
    LIST_OF_VALUES_KIND,
    OBJECT_DETECTION_PREDICTION_KIND,
)

if TYPE_CHECKING:
    import supervision as sv

HIGHEST = 1_000_000.0
"""Altitude beyond which the ground is not flat by any measure, m."""
UNKNOWN = "unknown"
PLACE_DIGITS = 7
"""About a centimetre."""


class GeoTagDetectionManifest(WorkflowBlockManifest):
    model_config = ConfigDict(
        json_schema_extra={
            "name": "GeoTag Detection",
            "version": "v1",
            "short_description": "Find the latitude and longitude of detections of a drone.",
            "long_description": (
                "Projects the centre of each detection on the ground, from the place, altitude, "
                "field of view and heading of a camera that looks straight down on flat ground. "
                "Gives a list of records and a GeoJSON FeatureCollection of points."
            ),
            "license": "Apache-2.0",
            "block_type": "transformation",
            "search_keywords": ["gps", "map", "drone", "aerial", "geojson", "coordinates"],
        }
    )
    type: Literal["roboflow_core/geotag_detection@v1"]
    image: Selector(kind=[IMAGE_KIND]) = Field(
        title="Image",
        description="Image that the detections were made on.",
        examples=["$inputs.image"],
    )
    predictions: Selector(
        kind=[OBJECT_DETECTION_PREDICTION_KIND, INSTANCE_SEGMENTATION_PREDICTION_KIND]
    ) = Field(
        title="Predictions",
        description="Detections to place.",
        examples=["$steps.model.predictions"],
    )
    latitude: Selector(kind=[FLOAT_KIND]) | Annotated[float, Field(ge=-90, le=90)] = Field(
        title="Latitude",
        description="Latitude of the camera, degrees, north positive.",
        examples=[47.428681, "$inputs.latitude"],
    )
    longitude: Selector(kind=[FLOAT_KIND]) | Annotated[float, Field(ge=-360, le=360)] = Field(
        title="Longitude",
        description="Longitude of the camera, degrees, east positive.",
        examples=[-105.279125, "$inputs.longitude"],
    )
    altitude: Selector(kind=[FLOAT_KIND]) | Annotated[float, Field(le=HIGHEST)] = Field(
        title="Altitude",
        description="Height of the camera above the ground, m.",
        examples=[69.0, "$inputs.altitude"],
    )
    horizontal_fov: Selector(kind=[FLOAT_KIND]) | Annotated[float, Field(gt=0, lt=180)] = Field(
        default=73.7,
        title="Horizontal Field Of View",
        description="Angle that the image is wide, degrees.",
        examples=[73.7, "$inputs.fov"],
    )
    heading: Selector(kind=[FLOAT_KIND]) | float = Field(
        default=0.0,
        title="Heading",
        description="Where the top of the image points, degrees clockwise from north.",
        examples=[90.0, "$inputs.heading"],
    )

    @classmethod
    def describe_outputs(cls) -> list[OutputDefinition]:
        return [
            OutputDefinition("geo_detections", [LIST_OF_VALUES_KIND]),
            OutputDefinition("geojson", [DICTIONARY_KIND]),
        ]

    @classmethod
    def get_execution_engine_compatibility(cls) -> str | None:
        return ">=1.3.0,<2.0.0"


class GeoTagDetectionBlockV1(WorkflowBlock):
    returns_futures = False

    @classmethod
    def get_manifest(cls) -> type[WorkflowBlockManifest]:
        return GeoTagDetectionManifest

    def run(
        self,
        image: WorkflowImageData,
        predictions: sv.Detections,
        latitude: float,
        longitude: float,
        altitude: float,
        horizontal_fov: float,
        heading: float,
    ) -> BlockResult:
        """`geo_detections`: one record a detection with `class`, `confidence`, `lat`, `lon` in
        degrees and `pixel_x`, `pixel_y`, `width`, `height` in px; `geojson`: the same places as a
        FeatureCollection.
        """
        fov = number("horizontal_fov", horizontal_fov, 0, 180)
        if not 0 < fov < 180:
            raise InvalidFieldValueError(
                f"Field `horizontal_fov` must be between 0 and 180 degrees, got {fov}."
            )
        pose = CameraPose(
            number("latitude", latitude, -90, 90),
            number("longitude", longitude, -360, 360),
            number("altitude", altitude, -FARTHEST_PLACE, HIGHEST),
            fov,
            number("heading", heading, -FARTHEST_PLACE, FARTHEST_PLACE),
        )
        records = _records(predictions, image.size, pose)
        features = [_feature(record) for record in records]
        return {
            "geo_detections": records,
            "geojson": {"type": "FeatureCollection", "features": features},
        }


def _records(rows: sv.Detections, size: tuple[int, int], pose: CameraPose) -> list[dict[str, Any]]:
    centres = box_points(rows.xyxy, "CENTER")
    sides = as_boxes(rows.xyxy)[:, 2:] - as_boxes(rows.xyxy)[:, :2]
    names = rows.data.get(keys.CLASS_NAME)
    scores = rows.confidence
    return [
        {
            "class": UNKNOWN if names is None else str(names[row]),
            "confidence": 0.0 if scores is None else round(float(scores[row]), 4),
            "lat": round(latitude, PLACE_DIGITS),
            "lon": round(longitude, PLACE_DIGITS),
            "pixel_x": round(x, 1),
            "pixel_y": round(y, 1),
            "width": round(width, 1),
            "height": round(height, 1),
        }
        for row, ((latitude, longitude), (x, y), (width, height)) in enumerate(
            zip(
                ground_places(centres, size, pose).tolist(),
                centres.tolist(),
                sides.tolist(),
                strict=True,
            )
        )
    ]


def _feature(record: dict[str, Any]) -> dict[str, Any]:
    return {
        "type": "Feature",
        "geometry": {"type": "Point", "coordinates": [record["lon"], record["lat"]]},
        "properties": {"class": record["class"], "confidence": record["confidence"]},
    }
