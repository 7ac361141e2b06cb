"""Background Subtraction, version 1. The model is in `background_model`."""

from __future__ import annotations

from typing import Literal

import cv2
from pydantic import AliasChoices, ConfigDict, Field

from blocks.classical_cv.background_model import MOST_VIDEOS, BackgroundModel
from blocks.classical_cv.image_manifest import ImageInputManifest
from blocks.per_video import PerVideo
from execution_engine.block_api import (
    BlockResult,
    OutputDefinition,
    Selector,
    WorkflowBlock,
    WorkflowBlockManifest,
    WorkflowImageData,
)
from execution_engine.kinds.catalogue import IMAGE_KIND, INTEGER_KIND


class BackgroundSubtractionManifest(ImageInputManifest):
    """Fields of a Background Subtraction step."""

    model_config = ConfigDict(
        json_schema_extra={
            "name": "Background Subtraction",
            "version": "v1",
            "short_description": "Shows what moves in a video as a mask.",
            "long_description": (
                "Learns what the background of each video looks like and makes an image of every "
                "frame: white where the frame differs from the background, black elsewhere. The "
                "first frame of a video is white throughout, as nothing is known of its background "
                "yet. Something that stands still becomes background after a while."
            ),
            "license": "Apache-2.0",
            "block_type": "classical_computer_vision",
            "search_keywords": ["motion", "foreground", "video", "mog2", "mask"],
        }
    )
    type: Literal["roboflow_core/background_subtraction@v1"]
    threshold: Selector(kind=[INTEGER_KIND]) | int = Field(
        default=16,
        title="Threshold",
        description=(
            "How far a pixel must be from the background to differ, in variances; less finds more."
        ),
        examples=[16, "$inputs.threshold"],
        validation_alias=AliasChoices("threshold"),
    )
    history: Selector(kind=[INTEGER_KIND]) | int = Field(
        default=30,
        title="History",
        description="Frames that count for the background; more make it slower to change.",
        examples=[30, "$inputs.history"],
        validation_alias=AliasChoices("history"),
    )

    @classmethod
    def describe_outputs(cls) -> list[OutputDefinition]:
        """The mask."""
        return [OutputDefinition("image", [IMAGE_KIND])]


class BackgroundSubtractionBlockV1(WorkflowBlock):
    """Shows what moves in a video; each video has a background of its own."""

    returns_futures = False

    def __init__(self) -> None:
        self._models: PerVideo[BackgroundModel] = PerVideo(MOST_VIDEOS)

    @classmethod
    def get_manifest(cls) -> type[WorkflowBlockManifest]:
        """The manifest of this version."""
        return BackgroundSubtractionManifest

    def run(self, image: WorkflowImageData, threshold: int, history: int) -> BlockResult:
        """`image`: (h, w, 3) uint8, 255 where something moves and 0 elsewhere.

        Raises:
            InvalidFieldValueError: `threshold` or `history` is out of range.
        """
        video = image.video_metadata.video_identifier
        model = self._models.get_or_make(video, BackgroundModel)
        with model.lock:
            foreground = model.foreground_of(image.numpy_image, threshold, history)
        mask = cv2.cvtColor(foreground, cv2.COLOR_GRAY2BGR)
        return {"image": WorkflowImageData.copy_and_replace(image, numpy_image=mask)}
