"""Lets the next steps run when a condition holds."""

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
)
from execution_engine.kinds.catalogue import FLOAT_KIND
from execution_engine.kinds.codec import CodecRegistry
from execution_engine.query_language import QueryCompiler, StatementGroup


class ContinueIfManifest(WorkflowBlockManifest):
    model_config = ConfigDict(
        json_schema_extra={
            "name": "Continue If",
            "version": "v1",
            "short_description": "Run the next steps only when a condition holds.",
            "long_description": (
                "Evaluates a condition on named values and lets the next steps run when it holds. "
                "With `stop_delay` they go on running for so many seconds after the condition held "
                "last, which bridges short gaps. When one of the values is a frame of a video, "
                "each video has its own delay, measured in the time of the video; otherwise the "
                "clock of the host counts."
            ),
            "license": "Apache-2.0",
            "block_type": "flow_control",
            "search_keywords": ["if", "gate", "condition", "branch", "stop"],
        }
    )
    type: Literal["roboflow_core/continue_if@v1", "ContinueIf"]
    condition_statement: StatementGroup = Field(
        title="Condition",
        description="Statements on the evaluation parameters.",
        examples=[
            {
                "type": "StatementGroup",
                "statements": [
                    {
                        "type": "BinaryStatement",
                        "left_operand": {"type": "DynamicOperand", "operand_name": "count"},
                        "comparator": {"type": "(Number) >"},
                        "right_operand": {"type": "StaticOperand", "value": 0},
                    }
                ],
            }
        ],
    )
    evaluation_parameters: dict[str, Selector()] = Field(
        default_factory=dict,
        title="Evaluation Parameters",
        description="Values that the statements name.",
        examples=[{"count": "$steps.count.output"}],
    )
    next_steps: list[StepSelector] = Field(
        title="Next Steps",
        description="Steps that run when the condition holds.",
        examples=[["$steps.notify"]],
    )
    stop_delay: Selector(kind=[FLOAT_KIND]) | float = Field(
        default=0,
        title="Stop Delay",
        description="Seconds for which the next steps go on running after the condition held last.",
        examples=[0, 5.0],
    )

    @classmethod
    def describe_outputs(cls) -> list[OutputDefinition]:
        return []

    @classmethod
    def get_execution_engine_compatibility(cls) -> str | None:
        return ">=1.3.0,<2.0.0"


class ContinueIfBlockV1(WorkflowBlock):
    returns_futures = False

    def __init__(self, kind_codecs: CodecRegistry) -> None:
        self._compiler = QueryCompiler(kind_codecs)
        self._last_true: PerVideo[Moment] = PerVideo()

    @classmethod
    def get_init_parameters(cls) -> list[str]:
        return ["kind_codecs"]

    @classmethod
    def get_manifest(cls) -> type[WorkflowBlockManifest]:
        return ContinueIfManifest

    def run(
        self,
        condition_statement: StatementGroup,
        evaluation_parameters: dict[str, Any],
        next_steps: list[str],
        stop_delay: float,
    ) -> BlockResult:
        """Selects the next steps when the condition holds or held less than `stop_delay` s ago."""
        holds = self._compiler.statement(condition_statement)(evaluation_parameters)
        if stop_delay > 0:
            frame = _first_frame(evaluation_parameters)
            video, now = video_of(frame), moment_of(frame)
            if holds:
                self._last_true.set(video, now)
            else:
                last = self._last_true.get(video)
                passed = None if last is None else now.distance(last)
                holds = passed is not None and passed < stop_delay
        return FlowControl(context=next_steps if holds else None)


def _first_frame(values: dict[str, Any]) -> WorkflowImageData | None:
    return next(
        (
            value
            for value in values.values()
            if isinstance(value, WorkflowImageData) and value.has_video_metadata
        ),
        None,
    )
