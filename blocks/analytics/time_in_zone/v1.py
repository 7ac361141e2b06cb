"""Times tracked objects in a zone; the video comes as metadata."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Literal

from pydantic import ConfigDict, Field

from blocks.analytics.time_in_zone.family import TimeInZoneBlock, TimeInZoneManifest, polygon_of
from execution_engine.block_api import (
    BlockResult,
    Selector,
    VideoMetadata,
    WorkflowBlockManifest,
    WorkflowImageData,
)
from execution_engine.kinds.catalogue import IMAGE_KIND, VIDEO_METADATA_KIND

if TYPE_CHECKING:
    import supervision as sv


class TimeInZoneManifestV1(TimeInZoneManifest):
    model_config = ConfigDict(
        json_schema_extra={
            "name": "Time in Zone",
            "version": "v1",
            "short_description": "Measure how long tracked objects are in a zone.",
            "long_description": (
                "Measures for each tracked object how many seconds it has been in a zone of the "
                "picture. Time is that of the video: frame number over frame rate for files."
            ),
            "license": "Apache-2.0",
            "block_type": "analytics",
            "search_keywords": ["dwell", "loitering", "queue", "duration", "tracking"],
        }
    )
    type: Literal["roboflow_core/time_in_zone@v1"]
    image: Selector(kind=[IMAGE_KIND]) = Field(
        title="Image",
        description="Frame that the detections were made on.",
        examples=["$inputs.image"],
    )
    metadata: Selector(kind=[VIDEO_METADATA_KIND]) = Field(
        title="Video Metadata",
        description="Metadata that tell the video and the time.",
        examples=["$inputs.video_metadata"],
    )

    @classmethod
    def get_inert_fields(cls) -> dict[str, str]:
        return {"image": "The zone is given in pixels; video and time come from the metadata."}


class TimeInZoneBlockV1(TimeInZoneBlock):
    @classmethod
    def get_manifest(cls) -> type[WorkflowBlockManifest]:
        return TimeInZoneManifestV1

    def run(
        self,
        image: WorkflowImageData,
        metadata: VideoMetadata,
        detections: sv.Detections,
        zone: Any,
        triggering_anchor: str,
        remove_out_of_zone_detections: bool,
        reset_out_of_zone_detections: bool,
    ) -> BlockResult:
        """`timed_detections`: the detections with their seconds in the zone."""
        return self.timed(
            metadata,
            detections,
            [polygon_of(zone)],
            triggering_anchor,
            remove_out_of_zone_detections,
            reset_out_of_zone_detections,
        )
