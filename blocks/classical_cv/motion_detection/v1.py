"""Motion Detection, version 1. Regions are in `family`, the background in `background_model`."""

from __future__ import annotations

from typing import Any, Literal

import numpy as np
from pydantic import ConfigDict, Field

from blocks.classical_cv.background_model import MOST_VIDEOS, BackgroundModel
from blocks.classical_cv.image_manifest import ImageInputManifest
from blocks.classical_cv.motion_detection.family import Regions, moving_regions
from blocks.kinds.detections.lineage import attach_lineage
from blocks.per_video import PerVideo
from execution_engine.block_api import (
    BlockResult,
    OutputDefinition,
    Selector,
    WorkflowBlock,
    WorkflowBlockManifest,
    WorkflowImageData,
)
from execution_engine.kinds.catalogue import (
    BOOLEAN_KIND,
    INTEGER_KIND,
    LIST_OF_VALUES_KIND,
    OBJECT_DETECTION_PREDICTION_KIND,
    ZONE_KIND,
)

CLASS_NAME = "motion"


class MotionDetectionManifest(ImageInputManifest):
    """Fields of a Motion Detection step."""

    model_config = ConfigDict(
        json_schema_extra={
            "name": "Motion Detection",
            "version": "v1",
            "short_description": "Finds what moves in a video.",
            "long_description": (
                "Learns what the background of each video looks like and finds the regions of each "
                "frame that differ from it. `motion` says whether there are any, `alarm` is true "
                "in the first frame of a motion only, `detections` are boxes around the regions "
                "and `motion_zones` their outlines. Only what lies in `detection_zone` counts "
                "where there is one."
            ),
            "license": "Apache-2.0",
            "block_type": "classical_computer_vision",
            "search_keywords": ["movement", "activity", "alarm", "surveillance", "video", "mog2"],
        }
    )
    type: Literal["roboflow_core/motion_detection@v1"]
    minimum_contour_area: int | Selector(kind=[INTEGER_KIND]) = Field(
        default=200,
        title="Minimum Contour Area",
        description="Smallest region that counts, px^2.",
        examples=[200, "$inputs.minimum_contour_area"],
    )
    morphological_kernel_size: int | Selector(kind=[INTEGER_KIND]) = Field(
        default=3,
        title="Morphological Kernel Size",
        description="Specks smaller than this are left out and gaps smaller than it closed, px.",
        examples=[3, "$inputs.morphological_kernel_size"],
    )
    threshold: int | Selector(kind=[INTEGER_KIND]) = Field(
        default=16,
        title="Threshold",
        description=(
            "How far a pixel must be from the background to differ, in variances; less finds more."
        ),
        examples=[16, "$inputs.threshold"],
    )
    history: int | Selector(kind=[INTEGER_KIND]) = Field(
        default=30,
        title="History",
        description="Frames that count for the background; more make it slower to change.",
        examples=[30, "$inputs.history"],
    )
    detection_zone: list | str | Selector(kind=[LIST_OF_VALUES_KIND, ZONE_KIND]) | None = Field(
        default=None,
        title="Detection Zone",
        description=(
            "Where motion counts: corners [x, y] in px, several such lists, or either as JSON "
            "text; all of the frame without."
        ),
        examples=[[[0, 0], [200, 0], [200, 100], [0, 100]], "$inputs.zone"],
    )
    suppress_first_detections: Selector(kind=[BOOLEAN_KIND]) | bool = Field(
        default=True,
        title="Suppress First Detections",
        description=(
            "Report no motion in the first `history` frames, while the background is learned."
        ),
        examples=[True, "$inputs.suppress_first_detections"],
    )

    @classmethod
    def describe_outputs(cls) -> list[OutputDefinition]:
        """Whether something moves, and where."""
        return [
            OutputDefinition("motion", [BOOLEAN_KIND]),
            OutputDefinition("alarm", [BOOLEAN_KIND]),
            OutputDefinition("detections", [OBJECT_DETECTION_PREDICTION_KIND]),
            OutputDefinition("motion_zones", [LIST_OF_VALUES_KIND]),
        ]


class _Watched(BackgroundModel):
    """The background of one video, and whether something moved in its last frame."""

    def __init__(self) -> None:
        super().__init__()
        self.moved = False


class MotionDetectionBlockV1(WorkflowBlock):
    """Finds what moves in a video; each video has a background of its own."""

    returns_futures = False

    def __init__(self) -> None:
        self._watched: PerVideo[_Watched] = PerVideo(MOST_VIDEOS)

    @classmethod
    def get_manifest(cls) -> type[WorkflowBlockManifest]:
        """The manifest of this version."""
        return MotionDetectionManifest

    def run(
        self,
        image: WorkflowImageData,
        minimum_contour_area: int,
        morphological_kernel_size: int,
        threshold: int,
        history: int,
        detection_zone: Any,
        suppress_first_detections: bool,
    ) -> BlockResult:
        """`motion`; `alarm`: there is motion and there was none in the frame before; `detections`:
        supervision detections in px of `image`, class 0 `motion`, confidence 1, from top to
        bottom; `motion_zones`: an outline a detection, lists of [x, y] px.

        Raises:
            InvalidFieldValueError: a number is out of range, or the zone is no polygon.
        """
        watched = self._watched.get_or_make(image.video_metadata.video_identifier, _Watched)
        with watched.lock:
            foreground = watched.foreground_of(image.numpy_image, threshold, history)
            regions = moving_regions(
                foreground, minimum_contour_area, morphological_kernel_size, detection_zone
            )
            if suppress_first_detections and watched.frames <= history:
                regions = Regions(np.empty((0, 4), np.float32), [])
            motion = len(regions.boxes) > 0
            alarm = motion and not watched.moved
            watched.moved = motion
        return {
            "motion": motion,
            "alarm": alarm,
            "detections": _detections(regions, image),
            "motion_zones": regions.outlines,
        }


def _detections(regions: Regions, image: WorkflowImageData) -> Any:
    import supervision as sv

    count = len(regions.boxes)
    found = sv.Detections(
        xyxy=regions.boxes,
        confidence=np.ones(count, np.float32),
        class_id=np.zeros(count, np.int64),
        data={"class_name": np.full(count, CLASS_NAME)},
    )
    return attach_lineage(found, image, prediction_type="object-detection")
