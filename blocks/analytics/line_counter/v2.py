"""Counts crossings of a line; the video comes with the image, all corners decide by default."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Literal

from pydantic import ConfigDict, Field

from blocks.analytics.line_counter.family import LineCounterBlock, LineCounterManifest
from blocks.analytics.tracked_anchors import CORNERS, AnchorName
from blocks.kinds.detections.columns import select
from execution_engine.block_api import (
    BlockResult,
    OutputDefinition,
    Selector,
    WorkflowBlockManifest,
    WorkflowImageData,
    WorkflowImageSelector,
)
from execution_engine.kinds.catalogue import (
    INSTANCE_SEGMENTATION_PREDICTION_KIND,
    INTEGER_KIND,
    OBJECT_DETECTION_PREDICTION_KIND,
    STRING_KIND,
)

if TYPE_CHECKING:
    import supervision as sv


class LineCounterManifestV2(LineCounterManifest):
    model_config = ConfigDict(
        json_schema_extra={
            "name": "Line Counter",
            "version": "v2",
            "short_description": "Count tracked objects that cross a line.",
            "long_description": (
                "Counts tracked objects that cross a line, by direction, over all frames of a "
                "video, and gives those that cross in this frame. By default the whole box must "
                "have crossed."
            ),
            "license": "Apache-2.0",
            "block_type": "analytics",
            "search_keywords": ["tracking", "counting", "direction", "traffic"],
        }
    )
    type: Literal["roboflow_core/line_counter@v2"]
    image: WorkflowImageSelector = Field(
        title="Image",
        description="Frame that the detections were made on; it tells the video.",
        examples=["$inputs.image"],
    )
    triggering_anchor: str | Selector(kind=[STRING_KIND]) | AnchorName | None = Field(
        default=None,
        title="Triggering Anchor",
        description="Place of an object that must cross the line; all four corners when not set.",
        examples=["CENTER"],
    )

    @classmethod
    def describe_outputs(cls) -> list[OutputDefinition]:
        rows = [OBJECT_DETECTION_PREDICTION_KIND, INSTANCE_SEGMENTATION_PREDICTION_KIND]
        return [
            OutputDefinition("count_in", [INTEGER_KIND]),
            OutputDefinition("count_out", [INTEGER_KIND]),
            OutputDefinition("detections_in", rows),
            OutputDefinition("detections_out", rows),
        ]


class LineCounterBlockV2(LineCounterBlock):
    @classmethod
    def get_manifest(cls) -> type[WorkflowBlockManifest]:
        return LineCounterManifestV2

    def run(
        self,
        image: WorkflowImageData,
        detections: sv.Detections,
        line_segment: Any,
        triggering_anchor: str | None,
    ) -> BlockResult:
        """`count_in`, `count_out`: crossings since the start of the video; `detections_in`,
        `detections_out`: who crosses in this frame.
        """
        anchors = CORNERS if triggering_anchor is None else (triggering_anchor,)
        video = image.video_metadata.video_identifier
        counter, crossed_in, crossed_out = self.count(video, detections, line_segment, anchors)
        return {
            "count_in": counter.count_in,
            "count_out": counter.count_out,
            "detections_in": select(detections, crossed_in),
            "detections_out": select(detections, crossed_out),
        }
