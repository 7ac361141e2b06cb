"""Times tracked objects in one zone or several; the video comes with the image."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Literal

from pydantic import ConfigDict, Field

from blocks.analytics.time_in_zone.family import TimeInZoneBlock, TimeInZoneManifest, polygons_of
from execution_engine.block_api import (
    BlockResult,
    WorkflowBlockManifest,
    WorkflowImageData,
    WorkflowImageSelector,
)

if TYPE_CHECKING:
    import supervision as sv


class TimeInZoneManifestV3(TimeInZoneManifest):
    model_config = ConfigDict(
        json_schema_extra={
            "name": "Time in Zone",
            "version": "v3",
            "short_description": "Measure how long tracked objects are in zones.",
            "long_description": (
                "Measures for each tracked object how many seconds it has been in one of several "
                "zones of the picture. Time is that of the video: frame number over frame rate for "
                "files."
            ),
            "license": "Apache-2.0",
            "block_type": "analytics",
            "search_keywords": ["dwell", "loitering", "queue", "duration", "tracking"],
        }
    )
    type: Literal["roboflow_core/time_in_zone@v3"]
    image: WorkflowImageSelector = Field(
        title="Image",
        description="Frame that the detections were made on; it tells the video and the time.",
        examples=["$inputs.image"],
    )


class TimeInZoneBlockV3(TimeInZoneBlock):
    @classmethod
    def get_manifest(cls) -> type[WorkflowBlockManifest]:
        return TimeInZoneManifestV3

    def run(
        self,
        image: WorkflowImageData,
        detections: sv.Detections,
        zone: Any,
        triggering_anchor: str,
        remove_out_of_zone_detections: bool,
        reset_out_of_zone_detections: bool,
    ) -> BlockResult:
        """`timed_detections`: the detections with their seconds in the zone."""
        return self.timed(
            image.video_metadata,
            detections,
            polygons_of(zone),
            triggering_anchor,
            remove_out_of_zone_detections,
            reset_out_of_zone_detections,
        )
