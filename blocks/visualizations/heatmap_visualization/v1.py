"""Shows where objects have been, added up over the frames of a video."""

from __future__ import annotations

from threading import Lock
from typing import TYPE_CHECKING, Literal

from pydantic import Field

from blocks.parameters import whole_number
from blocks.per_video import PerVideo
from blocks.visualizations.anchors import BoxAnchor, position_of
from blocks.visualizations.drawable import drawable
from blocks.visualizations.heatmap_visualization.movement import MovingTracks
from blocks.visualizations.limits import fraction
from blocks.visualizations.limits import pixels as whole_pixels
from blocks.visualizations.manifest import (
    DetectionsVisualizationManifest,
    WholeNumber,
    WholeNumberFrom0,
    WholeNumberFrom1,
    describe,
    relevant_for,
)
from blocks.visualizations.visualization_block import VisualizationBlock, colour_copy, drawn
from execution_engine.block_api import (
    BlockResult,
    Selector,
    VideoMetadata,
    WorkflowBlockManifest,
    WorkflowImageData,
)
from execution_engine.kinds.catalogue import (
    BOOLEAN_KIND,
    FLOAT_KIND,
    STRING_KIND,
    VIDEO_METADATA_KIND,
)

if TYPE_CHECKING:
    import supervision as sv

MOST_VIDEOS = 16
"""Videos whose heat is kept: it takes 33 MB for a video in 4K."""
LARGEST_HUE = 179


class HeatmapVisualizationManifest(DetectionsVisualizationManifest):
    model_config = describe(
        "Heatmap Visualization",
        "Show where objects have been in a video.",
        (
            "Adds up circles at a place of each detection over the frames of a video and colours "
            "the image by the sum, from `low_hue` to `top_hue`. With `ignore_stationary`, an "
            "object counts again only after it has moved by `motion_threshold`; that needs tracker "
            "ids, and detections without count always."
        ),
        ["density", "traffic", "occupancy", "accumulate"],
    )
    type: Literal["roboflow_core/heatmap_visualization@v1", "HeatmapVisualization"]
    metadata: Selector(kind=[VIDEO_METADATA_KIND]) = Field(
        default=None,
        title="Metadata",
        description="Video that the image belongs to, when the image does not say so itself.",
        examples=["$inputs.video_metadata"],
    )
    position: BoxAnchor | Selector(kind=[STRING_KIND]) = Field(
        default="BOTTOM_CENTER",
        title="Position",
        description="Place of a detection that is heated.",
        examples=["BOTTOM_CENTER", "$inputs.position"],
    )
    opacity: float | Selector(kind=[FLOAT_KIND]) = Field(
        default=0.2,
        title="Opacity",
        description="How much of the image the heat hides, 0 to 1.",
        examples=[0.2, "$inputs.opacity"],
    )
    radius: WholeNumberFrom0 = Field(
        default=40,
        title="Radius",
        description="Radius of the circles, px.",
        examples=[40, "$inputs.radius"],
    )
    kernel_size: WholeNumberFrom1 = Field(
        default=25,
        title="Kernel Size",
        description="Side of the window that smooths the colours, px.",
        examples=[25, "$inputs.kernel_size"],
    )
    top_hue: WholeNumber = Field(
        default=0,
        title="Top Hue",
        description="Hue of the hottest place, 0 to 179 (half degrees): 0 is red.",
        examples=[0, "$inputs.top_hue"],
    )
    low_hue: WholeNumber = Field(
        default=125,
        title="Low Hue",
        description="Hue of the coldest place, 0 to 179 (half degrees): 125 is blue.",
        examples=[125, "$inputs.low_hue"],
    )
    ignore_stationary: bool | Selector(kind=[BOOLEAN_KIND]) = Field(
        default=True,
        title="Ignore Stationary",
        description="Whether tracked objects that stand still are left out.",
        examples=[True, "$inputs.ignore_stationary"],
    )
    motion_threshold: WholeNumberFrom0 = Field(
        default=25,
        title="Motion Threshold",
        description="How far an object must move to count again, px.",
        examples=[25, "$inputs.motion_threshold"],
        json_schema_extra=relevant_for("ignore_stationary", "True"),
    )


class HeatmapVisualizationBlockV1(VisualizationBlock):
    def __init__(self) -> None:
        super().__init__()
        self._heat: PerVideo[tuple[sv.HeatMapAnnotator, MovingTracks]] = PerVideo(MOST_VIDEOS)
        self._lock = Lock()

    @classmethod
    def get_manifest(cls) -> type[WorkflowBlockManifest]:
        return HeatmapVisualizationManifest

    def run(
        self,
        image: WorkflowImageData,
        predictions: sv.Detections,
        copy_image: bool,
        metadata: VideoMetadata | None,
        position: str,
        opacity: float,
        radius: int,
        kernel_size: int,
        top_hue: int,
        low_hue: int,
        ignore_stationary: bool,
        motion_threshold: int,
    ) -> BlockResult:
        """`image`: a BGR copy of the image with the heat of its video up to this frame.

        Heat starts anew when the size of the frames changes.
        """
        anchor = position_of("position", position)
        settings = {
            "position": anchor,
            "opacity": fraction("opacity", opacity),
            "radius": whole_pixels("radius", radius),
            "kernel_size": whole_pixels("kernel_size", kernel_size, minimum=1),
            "top_hue": whole_number("top_hue", top_hue, 0, LARGEST_HUE),
            "low_hue": whole_number("low_hue", low_hue, 0, LARGEST_HUE),
        }
        threshold = whole_pixels("motion_threshold", motion_threshold)
        pixels = colour_copy(image.numpy_image)
        detections = drawable(predictions, pixels.shape[:2], masks=False)
        video = (metadata or image.video_metadata).video_identifier
        with self._lock:
            annotator, tracks = self._heat.get_or_make(video, _new_heat)
            if ignore_stationary and len(detections) and detections.tracker_id is not None:
                places = detections.get_anchors_coordinates(anchor)
                detections = detections.select(
                    tracks.moved(detections.tracker_id, places, threshold)
                )
            for name, value in settings.items():
                setattr(annotator, name, value)
            annotator.annotate(pixels, detections)
        return drawn(image, pixels)


def _new_heat() -> tuple[sv.HeatMapAnnotator, MovingTracks]:
    import supervision as sv

    return sv.HeatMapAnnotator(), MovingTracks()
