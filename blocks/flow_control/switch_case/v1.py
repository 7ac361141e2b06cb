"""Sends the flow to one step by the text of a value."""

from __future__ import annotations

from typing import Any, Literal

from pydantic import ConfigDict, Field, ValidationInfo, field_validator

from execution_engine.block_api import (
    BlockResult,
    FlowControl,
    OutputDefinition,
    Selector,
    StepSelector,
    WorkflowBlock,
    WorkflowBlockManifest,
)
from execution_engine.errors import InvalidFieldValueError
from execution_engine.value_text import short_text


class SwitchCaseManifest(WorkflowBlockManifest):
    model_config = ConfigDict(
        json_schema_extra={
            "name": "Switch Case",
            "version": "v1",
            "short_description": "Run one of several steps, chosen by a value.",
            "long_description": (
                "Turns a value into text and runs the step that `cases` names for it, or the steps "
                "of `default_next_steps` when no case fits. The text of a whole number is `1`, of "
                "a fraction `1.0`, of a truth value `True` or `False`, of a missing value `None`. "
                "A step may be the target of one case only, and not of a case and the default."
            ),
            "license": "Apache-2.0",
            "block_type": "flow_control",
            "search_keywords": ["branch", "route", "match", "if else"],
        }
    )
    type: Literal["roboflow_core/switch_case@v1", "SwitchCase"]
    value: Selector() | str | int | float | bool = Field(
        title="Value",
        description="Value that chooses the case.",
        examples=["$steps.classification.top", "$inputs.mode"],
    )
    cases: dict[str, StepSelector] = Field(
        default_factory=dict,
        title="Cases",
        description="Step to run for each text of the value.",
        examples=[{"red": "$steps.on_red", "blue": "$steps.on_blue"}],
    )
    case_insensitive: bool = Field(
        default=False,
        title="Case Insensitive",
        description="Whether upper and lower case letters are taken as the same.",
        examples=[False],
    )
    default_next_steps: list[StepSelector] = Field(
        default_factory=list,
        title="Default Next Steps",
        description="Steps to run when no case fits.",
        examples=[["$steps.on_other"]],
    )

    @field_validator("default_next_steps")
    @classmethod
    def _targets_are_distinct(cls, steps: list[str], info: ValidationInfo) -> list[str]:
        for step in steps:
            if steps.count(step) > 1:
                raise InvalidFieldValueError(f"{step} is listed more than once")
            case = next((k for k, v in info.data.get("cases", {}).items() if v == step), None)
            if case is not None:
                raise InvalidFieldValueError(f"{step} is already the target of the case {case!r}")
        return steps

    @field_validator("cases")
    @classmethod
    def _cases_are_distinct(cls, cases: dict[str, str]) -> dict[str, str]:
        owners: dict[str, str] = {}
        for case, step in cases.items():
            if step in owners:
                raise InvalidFieldValueError(
                    f"{step} is the target of the cases {owners[step]!r} and {case!r}; "
                    "each case needs a step of its own"
                )
            owners[step] = case
        return cases

    @field_validator("case_insensitive")
    @classmethod
    def _cases_stay_distinct(cls, case_insensitive: bool, info: ValidationInfo) -> bool:
        if case_insensitive:
            seen: dict[str, str] = {}
            for case in info.data.get("cases", {}):
                other = seen.setdefault(case.casefold(), case)
                if other != case:
                    raise InvalidFieldValueError(
                        f"the cases {other!r} and {case!r} are the same "
                        "when the case of letters does not count"
                    )
        return case_insensitive

    @classmethod
    def describe_outputs(cls) -> list[OutputDefinition]:
        return []

    @classmethod
    def get_execution_engine_compatibility(cls) -> str | None:
        return ">=1.11.0,<2.0.0"


class SwitchCaseBlockV1(WorkflowBlock):
    returns_futures = False

    @classmethod
    def get_manifest(cls) -> type[WorkflowBlockManifest]:
        return SwitchCaseManifest

    def run(
        self,
        value: Any,
        cases: dict[str, str],
        case_insensitive: bool,
        default_next_steps: list[str],
    ) -> BlockResult:
        """Selects the target of the case that equals `str(value)`, else the default steps."""
        try:
            text = str(value)
        except ValueError:  # a number of thousands of digits, which no case writes
            text = short_text(value)
        if case_insensitive:
            text = text.casefold()
            cases = {case.casefold(): step for case, step in cases.items()}
        target = cases.get(text)
        return FlowControl(context=default_next_steps if target is None else [target])
