"""Lets the next steps run at most once in every cooldown."""

from __future__ import annotations

from typing import Any, Literal

from pydantic import ConfigDict, Field

from blocks.flow_control.video_time import Moment, moment_of, video_of
from blocks.per_video import PerVideo
from execution_engine.block_api import (
    BlockResult,
    FlowControl,
    OutputDefinition,
    Selector,
    StepSelector,
    WorkflowBlock,
    WorkflowBlockManifest,
    WorkflowImageData,
    WorkflowImageSelector,
)

# Frame times are quotients: three frames at 10 a second must count as 0.3 s.
ROUNDING_SECONDS = 1e-6


class RateLimiterManifest(WorkflowBlockManifest):
    model_config = ConfigDict(
        json_schema_extra={
            "name": "Rate Limiter",
            "version": "v1",
            "short_description": "Run the next steps at most once in every cooldown.",
            "long_description": (
                "Lets the next steps run when at least `cooldown_seconds` have passed since they "
                "last ran, and stops the branch otherwise. With `video_reference_image` the time "
                "is that of the video (frame number over frame rate for files, the frame's "
                "timestamp for live sources), so a file that is read faster than real time is "
                "limited as its viewer would see it. Each video has its own cooldown; a video that "
                "starts again from the beginning starts a new one. Without a frame the clock of "
                "the host counts."
            ),
            "license": "Apache-2.0",
            "block_type": "flow_control",
            "search_keywords": ["throttle", "cooldown", "debounce"],
        }
    )
    type: Literal["roboflow_core/rate_limiter@v1"]
    cooldown_seconds: float = Field(
        default=1.0,
        ge=0.0,
        title="Cooldown",
        description="Seconds that must pass between two runs of the next steps.",
        examples=[1.0],
    )
    depends_on: Selector() = Field(
        title="Depends On",
        description="Value whose step must be done first; each element asks once for leave.",
        examples=["$steps.model.predictions"],
    )
    next_steps: list[StepSelector] = Field(
        title="Next Steps",
        description="Steps that are limited.",
        examples=[["$steps.upload"]],
    )
    video_reference_image: WorkflowImageSelector | None = Field(
        default=None,
        title="Video Reference Image",
        description="Frame that says which video is running and what time it is there.",
        examples=["$inputs.image"],
    )

    @classmethod
    def describe_outputs(cls) -> list[OutputDefinition]:
        return []

    @classmethod
    def get_execution_engine_compatibility(cls) -> str | None:
        return ">=1.3.0,<2.0.0"


class RateLimiterBlockV1(WorkflowBlock):
    returns_futures = False

    def __init__(self) -> None:
        self._last_runs: PerVideo[Moment] = PerVideo()

    @classmethod
    def get_manifest(cls) -> type[WorkflowBlockManifest]:
        return RateLimiterManifest

    def run(
        self,
        cooldown_seconds: float,
        depends_on: Any,
        next_steps: list[str],
        video_reference_image: WorkflowImageData | None,
    ) -> BlockResult:
        """Selects the next steps when the video's last run is at least the cooldown away."""
        frame = video_reference_image
        if frame is None and isinstance(depends_on, WorkflowImageData):
            video = video_of(depends_on)
        else:
            video = video_of(frame)
        now = moment_of(frame)

        def cooled_down(last: Moment | None) -> bool:
            # Both directions count: a video that was rewound has a new run ahead of it.
            distance = None if last is None else now.distance(last)
            return distance is None or distance + ROUNDING_SECONDS >= cooldown_seconds

        if self._last_runs.replace_if(video, now, cooled_down):
            return FlowControl(context=next_steps)
        return FlowControl(context=None)
