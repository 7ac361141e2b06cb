"""Measures how far tracked objects are from a path; the video comes with the image."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Literal

from pydantic import ConfigDict, Field

from blocks.analytics.path_deviation_analytics.family import (
    LONG_DESCRIPTION,
    SEARCH_KEYWORDS,
    PathDeviationBlock,
    PathDeviationManifest,
)
from execution_engine.block_api import (
    BlockResult,
    WorkflowBlockManifest,
    WorkflowImageData,
    WorkflowImageSelector,
)

if TYPE_CHECKING:
    import supervision as sv


class PathDeviationManifestV2(PathDeviationManifest):
    model_config = ConfigDict(
        json_schema_extra={
            "name": "Path Deviation",
            "version": "v2",
            "short_description": "Measure how far tracked objects are from a path.",
            "long_description": LONG_DESCRIPTION,
            "license": "Apache-2.0",
            "block_type": "analytics",
            "search_keywords": [*SEARCH_KEYWORDS],
        }
    )
    type: Literal["roboflow_core/path_deviation_analytics@v2"]
    image: WorkflowImageSelector = Field(
        title="Image",
        description="Frame that the detections were made on; it tells the video.",
        examples=["$inputs.image"],
    )

    @classmethod
    def get_execution_engine_compatibility(cls) -> str | None:
        return ">=1.2.0,<2.0.0"


class PathDeviationAnalyticsBlockV2(PathDeviationBlock):
    @classmethod
    def get_manifest(cls) -> type[WorkflowBlockManifest]:
        return PathDeviationManifestV2

    def run(
        self,
        image: WorkflowImageData,
        detections: sv.Detections,
        triggering_anchor: str,
        reference_path: Any,
    ) -> BlockResult:
        """`path_deviation_detections`: the detections with their distance from the path, px."""
        video = image.video_metadata.video_identifier
        return self.measured(video, detections, triggering_anchor, reference_path)
