"""Counts crossings of a line; the video comes as metadata, one anchor decides."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Literal

from pydantic import ConfigDict, Field

from blocks.analytics.line_counter.family import LineCounterBlock, LineCounterManifest
from blocks.analytics.tracked_anchors import AnchorName
from execution_engine.block_api import (
    BlockResult,
    OutputDefinition,
    Selector,
    VideoMetadata,
    WorkflowBlockManifest,
)
from execution_engine.kinds.catalogue import INTEGER_KIND, STRING_KIND, VIDEO_METADATA_KIND

if TYPE_CHECKING:
    import supervision as sv


class LineCounterManifestV1(LineCounterManifest):
    model_config = ConfigDict(
        json_schema_extra={
            "name": "Line Counter",
            "version": "v1",
            "short_description": "Count tracked objects that cross a line.",
            "long_description": (
                "Counts tracked objects that cross a line, by direction, over all frames of a "
                "video. One place of the box or mask decides on which side an object is."
            ),
            "license": "Apache-2.0",
            "block_type": "analytics",
            "search_keywords": ["tracking", "counting", "direction", "traffic"],
        }
    )
    type: Literal["roboflow_core/line_counter@v1"]
    metadata: Selector(kind=[VIDEO_METADATA_KIND]) = Field(
        title="Video Metadata",
        description="Metadata that tell the video.",
        examples=["$inputs.video_metadata"],
    )
    triggering_anchor: str | Selector(kind=[STRING_KIND]) | AnchorName = Field(
        default="CENTER",
        title="Triggering Anchor",
        description="Place of an object that must cross the line.",
        examples=["CENTER"],
    )

    @classmethod
    def describe_outputs(cls) -> list[OutputDefinition]:
        return [
            OutputDefinition("count_in", [INTEGER_KIND]),
            OutputDefinition("count_out", [INTEGER_KIND]),
        ]


class LineCounterBlockV1(LineCounterBlock):
    @classmethod
    def get_manifest(cls) -> type[WorkflowBlockManifest]:
        return LineCounterManifestV1

    def run(
        self,
        metadata: VideoMetadata,
        detections: sv.Detections,
        line_segment: Any,
        triggering_anchor: str,
    ) -> BlockResult:
        """`count_in`, `count_out`: crossings in each direction since the start of the video."""
        video = metadata.video_identifier
        counter, _, _ = self.count(video, detections, line_segment, (triggering_anchor,))
        return {"count_in": counter.count_in, "count_out": counter.count_out}
