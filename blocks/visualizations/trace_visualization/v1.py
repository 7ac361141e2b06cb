"""Draws where tracked objects have been."""

from __future__ import annotations

from threading import Lock
from typing import TYPE_CHECKING, Literal

import numpy as np
from pydantic import Field

from blocks.parameters import whole_number
from blocks.per_video import PerVideo
from blocks.visualizations.anchors import position_of
from blocks.visualizations.limits import line_thickness
from blocks.visualizations.manifest import (
    AnchorName,
    ColouredDetectionsManifest,
    WholeNumberFrom0,
    WholeNumberFrom1,
    describe,
)
from blocks.visualizations.visualization_block import (
    VisualizationBlock,
    anchored,
    colour_copy,
    drawn,
)
from execution_engine.block_api import BlockResult, WorkflowBlockManifest, WorkflowImageData
from execution_engine.errors import InvalidFieldValueError

if TYPE_CHECKING:
    import supervision as sv

MOST_VIDEOS = 256
LONGEST_TRACE = 10_000


class TraceVisualizationManifest(ColouredDetectionsManifest):
    model_config = describe(
        "Trace Visualization",
        "Draw the paths of tracked objects.",
        (
            "Draws a line through the places where each tracked object was in the last frames of "
            "its video. Needs tracker ids; objects that no track has been confirmed for (id -1) "
            "have no line."
        ),
        ["path", "trail", "tracking", "trajectory"],
    )
    type: Literal["roboflow_core/trace_visualization@v1"]
    position: AnchorName = Field(
        default="CENTER",
        title="Position",
        description="Place of a detection that the line goes through.",
        examples=["CENTER", "$inputs.position"],
    )
    trace_length: WholeNumberFrom1 = Field(
        default=30,
        title="Trace Length",
        description="Number of frames that the line goes back.",
        examples=[30, "$inputs.trace_length"],
    )
    thickness: WholeNumberFrom0 = Field(
        default=1,
        title="Thickness",
        description="Thickness of the line, px.",
        examples=[1, "$inputs.thickness"],
    )


class TraceVisualizationBlockV1(VisualizationBlock):
    def __init__(self) -> None:
        super().__init__()
        self._traces: PerVideo[sv.TraceAnnotator] = PerVideo(MOST_VIDEOS)
        self._lock = Lock()

    @classmethod
    def get_manifest(cls) -> type[WorkflowBlockManifest]:
        return TraceVisualizationManifest

    def run(
        self,
        image: WorkflowImageData,
        predictions: sv.Detections,
        copy_image: bool,
        color_palette: str,
        palette_size: int,
        custom_colors: list[str],
        color_axis: str,
        position: str,
        trace_length: int,
        thickness: int,
    ) -> BlockResult:
        """`image`: a BGR copy of the image with the paths up to this frame.

        Raises:
            ValueError: the detections have no tracker ids.
        """
        colours = self.colours(color_palette, palette_size, custom_colors, color_axis)
        anchor = position_of("position", position)
        length = whole_number("trace_length", trace_length, 1, LONGEST_TRACE)
        width = line_thickness("thickness", thickness)
        pixels = colour_copy(image.numpy_image)
        detections = anchored(predictions, pixels.shape[:2], position)
        indices: np.ndarray | None = None
        if len(detections):
            if detections.tracker_id is None:
                raise InvalidFieldValueError(
                    "Field `predictions` must have tracker ids; put a tracker before this step."
                )
            indices = colours.indices(detections)
        with self._lock:
            video = image.video_metadata.video_identifier
            annotator = self._traces.get_or_make(video, _new_annotator)
            annotator.color = self._prepared.get(type(colours).palette, colours)
            annotator.thickness = width
            annotator.trace.anchor, annotator.trace.max_size = anchor, length
            annotator.annotate(pixels, detections, custom_color_lookup=indices)
        return drawn(image, pixels)


def _new_annotator() -> sv.TraceAnnotator:
    import supervision as sv

    return sv.TraceAnnotator()
