"""Lets the next steps run only when a value has changed."""

from __future__ import annotations

from typing import Any, Literal

from pydantic import ConfigDict, Field

from blocks.flow_control.value_equality import same_value
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


class DeltaFilterManifest(WorkflowBlockManifest):
    model_config = ConfigDict(
        json_schema_extra={
            "name": "Delta Filter",
            "version": "v1",
            "short_description": "Run the next steps only when a value changes.",
            "long_description": (
                "Compares a value with the one seen last in the same video and lets the next steps "
                "run when the two differ. The first value of a video counts as a change. Lists, "
                "objects, arrays and images are compared by content."
            ),
            "license": "Apache-2.0",
            "block_type": "flow_control",
            "search_keywords": ["change", "difference", "trigger"],
        }
    )
    type: Literal["roboflow_core/delta_filter@v1"]
    image: WorkflowImageSelector = Field(
        title="Image",
        description="Frame whose video identifier separates the values of different videos.",
        examples=["$inputs.image"],
    )
    value: Selector() = Field(
        title="Value",
        description="Value to watch.",
        examples=["$steps.line_counter.count_in"],
    )
    next_steps: list[StepSelector] = Field(
        title="Next Steps",
        description="Steps that run on a change.",
        examples=[["$steps.write_to_csv"]],
    )

    @classmethod
    def describe_outputs(cls) -> list[OutputDefinition]:
        return []

    @classmethod
    def get_execution_engine_compatibility(cls) -> str | None:
        return ">=1.4.0,<2.0.0"


class DeltaFilterBlockV1(WorkflowBlock):
    returns_futures = False

    def __init__(self) -> None:
        self._last_values: PerVideo[Any] = PerVideo()

    @classmethod
    def get_manifest(cls) -> type[WorkflowBlockManifest]:
        return DeltaFilterManifest

    def run(self, image: WorkflowImageData, value: Any, next_steps: list[str]) -> BlockResult:
        """Selects the next steps when the value differs from the video's last one.

        None at the beginning of a video is no change.
        """
        changed = self._last_values.replace_if(
            image.video_metadata.video_identifier, value, lambda last: not same_value(value, last)
        )
        return FlowControl(context=next_steps if changed else None)
