"""Keeps the last frames of each video as JPEG."""

from __future__ import annotations

from threading import Lock
from typing import Literal

import cv2
import numpy as np
from pydantic import ConfigDict, Field

from blocks.classical_cv.channels import to_bgr
from blocks.parameters import whole_number
from blocks.per_video import PerVideo
from execution_engine.block_api import (
    BlockResult,
    OutputDefinition,
    Selector,
    WorkflowBlock,
    WorkflowBlockManifest,
    WorkflowImageData,
)
from execution_engine.images.image_data import encode_jpeg
from execution_engine.kinds.catalogue import (
    BOOLEAN_KIND,
    IMAGE_KIND,
    INTEGER_KIND,
    LIST_OF_VALUES_KIND,
)

MOST_VIDEOS = 64
"""Videos whose frames are kept: 64 frames in Full HD take about 30 MB."""
MOST_FRAMES = 64
SHORTEST_SIDE = 64
WIDEST, HIGHEST = 1920, 1080
QUALITY = 75


class ImageStackManifest(WorkflowBlockManifest):
    model_config = ConfigDict(
        json_schema_extra={
            "name": "Image Stack",
            "version": "v1",
            "short_description": "Keep the last frames of a video as JPEG.",
            "long_description": (
                "Remembers the last `stack_size` frames of each video and returns them as JPEG "
                "files, the newest first. Frames larger than the resolution are made smaller and "
                "keep their shape. With `clear` the frames before this one are forgotten. Give it "
                "whole frames: crops are other images each time."
            ),
            "license": "Apache-2.0",
            "block_type": "fusion",
            "search_keywords": ["clip", "history", "window", "frames", "queue", "jpeg"],
        }
    )
    type: Literal["roboflow_core/image_stack@v1"]
    image: Selector(kind=[IMAGE_KIND]) = Field(
        title="Image",
        description="The frame to add.",
        examples=["$inputs.image"],
    )
    stack_size: int | Selector(kind=[INTEGER_KIND]) = Field(
        default=10,
        title="Stack Size",
        description=f"Frames to keep, 1 to {MOST_FRAMES}; the oldest goes first.",
        examples=[10, "$inputs.stack_size"],
    )
    resolution_width: int | Selector(kind=[INTEGER_KIND]) = Field(
        default=WIDEST,
        title="Resolution Width",
        description=f"Widest that a frame is kept, {SHORTEST_SIDE} to {WIDEST} px.",
        examples=[1280, "$inputs.width"],
    )
    resolution_height: int | Selector(kind=[INTEGER_KIND]) = Field(
        default=HIGHEST,
        title="Resolution Height",
        description=f"Highest that a frame is kept, {SHORTEST_SIDE} to {HIGHEST} px.",
        examples=[720, "$inputs.height"],
    )
    clear: bool | Selector(kind=[BOOLEAN_KIND]) = Field(
        default=False,
        title="Clear",
        description="Whether the frames before this one are forgotten.",
        examples=["$steps.scene.changed"],
    )

    @classmethod
    def describe_outputs(cls) -> list[OutputDefinition]:
        return [
            OutputDefinition("frames", [LIST_OF_VALUES_KIND]),
            OutputDefinition("frames_count", [INTEGER_KIND]),
        ]

    @classmethod
    def get_execution_engine_compatibility(cls) -> str | None:
        return ">=1.3.0,<2.0.0"


class ImageStackBlockV1(WorkflowBlock):
    returns_futures = False

    def __init__(self) -> None:
        self._frames: PerVideo[tuple[bytes, ...]] = PerVideo(MOST_VIDEOS)
        self._lock = Lock()

    @classmethod
    def get_manifest(cls) -> type[WorkflowBlockManifest]:
        return ImageStackManifest

    def run(
        self,
        image: WorkflowImageData,
        stack_size: int,
        resolution_width: int,
        resolution_height: int,
        clear: bool,
    ) -> BlockResult:
        """`frames`: a new list of JPEG files, newest first; `frames_count`: its length.

        Raises:
            InvalidFieldValueError: a number is out of its range.
        """
        most = whole_number("stack_size", stack_size, 1, MOST_FRAMES)
        width = whole_number("resolution_width", resolution_width, SHORTEST_SIDE, WIDEST)
        height = whole_number("resolution_height", resolution_height, SHORTEST_SIDE, HIGHEST)
        newest = encode_jpeg(_within(image.numpy_image, width, height), QUALITY)
        video = image.video_metadata.video_identifier
        with self._lock:
            older = () if clear else self._frames.get(video) or ()
            frames = (newest, *older)[:most]
            self._frames.set(video, frames)
        return {"frames": list(frames), "frames_count": len(frames)}


def _within(pixels: np.ndarray, width: int, height: int) -> np.ndarray:
    """The image, made smaller in its own shape where it is larger than the given size."""
    scale = min(width / pixels.shape[1], height / pixels.shape[0])
    coloured = pixels if pixels.ndim == 2 else to_bgr(pixels)
    if scale >= 1:
        return coloured
    size_wh = (max(1, round(pixels.shape[1] * scale)), max(1, round(pixels.shape[0] * scale)))
    return cv2.resize(coloured, size_wh, interpolation=cv2.INTER_AREA)
