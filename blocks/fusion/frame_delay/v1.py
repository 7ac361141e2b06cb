"""Gives the value that a step had some frames ago."""

from __future__ import annotations

from collections import deque
from threading import Lock
from typing import Any, Literal

from pydantic import ConfigDict, Field

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
from execution_engine.kinds.catalogue import (
    BOOLEAN_KIND,
    IMAGE_KIND,
    INSTANCE_SEGMENTATION_PREDICTION_KIND,
    INTEGER_KIND,
    KEYPOINT_DETECTION_PREDICTION_KIND,
    LIST_OF_VALUES_KIND,
    OBJECT_DETECTION_PREDICTION_KIND,
    WILDCARD_KIND,
)

MOST_FRAMES = 1024
"""Longest delay; every value of it is kept."""


class FrameDelayManifest(WorkflowBlockManifest):
    model_config = ConfigDict(
        json_schema_extra={
            "name": "Frame Delay",
            "version": "v1",
            "short_description": "Give a value of an earlier frame.",
            "long_description": (
                "Keeps the values of the last frames of each video and gives the one of some "
                "frames ago, to compare now with before. Until there are so many frames it gives a "
                "default."
            ),
            "license": "Apache-2.0",
            "block_type": "fusion",
            "search_keywords": ["delay", "history", "previous", "time travel", "lag"],
        }
    )
    type: Literal[
        "roboflow_core/frame_delay@v1", "FrameDelay", "roboflow_core/time_travel@v1", "TimeTravel"
    ]
    image: Selector(kind=[IMAGE_KIND]) = Field(
        title="Image",
        description="Frame that tells the video.",
        examples=["$inputs.image"],
    )
    data: Selector(
        kind=[
            WILDCARD_KIND,
            IMAGE_KIND,
            LIST_OF_VALUES_KIND,
            OBJECT_DETECTION_PREDICTION_KIND,
            INSTANCE_SEGMENTATION_PREDICTION_KIND,
            KEYPOINT_DETECTION_PREDICTION_KIND,
        ]
    ) = Field(
        title="Data",
        description="Value to keep.",
        examples=["$steps.model.predictions"],
    )
    offset: int | Selector(kind=[INTEGER_KIND]) = Field(
        title="Offset",
        description="How many frames ago, as a number of at most 0: -1 is the frame before.",
        examples=[-1, "$inputs.offset"],
    )
    default_value: bool | int | float | str | None = Field(
        default=None,
        title="Default Value",
        description="What is given while there are not so many frames.",
    )

    @classmethod
    def describe_outputs(cls) -> list[OutputDefinition]:
        return [
            OutputDefinition("output", [WILDCARD_KIND]),
            OutputDefinition("is_available", [BOOLEAN_KIND]),
            OutputDefinition("reference_frame_number", [INTEGER_KIND]),
        ]

    @classmethod
    def get_execution_engine_compatibility(cls) -> str | None:
        return ">=1.3.0,<2.0.0"


class FrameDelayBlockV1(WorkflowBlock):
    returns_futures = False

    def __init__(self) -> None:
        self._values: PerVideo[deque[Any]] = PerVideo()
        self._lock = Lock()

    @classmethod
    def get_manifest(cls) -> type[WorkflowBlockManifest]:
        return FrameDelayManifest

    def run(
        self, image: WorkflowImageData, data: Any, offset: int, default_value: Any
    ) -> BlockResult:
        """`output`: the value of so many frames ago, or the default; `is_available`: whether there
        was one; `reference_frame_number`: number of the frame that was asked from.
        """
        delay = -whole_number("offset", offset, -MOST_FRAMES, 0)
        video = image.video_metadata.video_identifier
        with self._lock:
            values = self._values.get_or_make(video, deque)
            values.appendleft(data)
            while len(values) > delay + 1:
                values.pop()
            available = len(values) > delay
            output = values[delay] if available else default_value
        return {
            "output": output,
            "is_available": available,
            "reference_frame_number": image.video_metadata.frame_number,
        }
